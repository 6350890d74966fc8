"""The plan as a schedule: a line for each group of alike volumes, and what reading by hand would take."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal

from rewarm.contracts.plans import Way
from rewarm.contracts.values import ByHand, VolumePlan
from rewarm.domain.model import MIB
from rewarm.domain.plan.facts import VolumeFacts
from rewarm.domain.plan.warm_up import by_hand_seconds
from rewarm.domain.time.measured import Phase
from rewarm.domain.units import ceil_seconds, usd_text
from rewarm.domain.words import schedule as words
from rewarm.domain.words.schedule import ScheduleLine

MOST_LINES = 12
"""More groups are merged by strategy, so that a plan of 10,000 volumes can be read."""

_WAITS = (Phase.COPY, Phase.QUEUE)
_PREPARES = (Phase.PREPARE, Phase.CREATE, Phase.ATTACH, Phase.BOOT, Phase.MEASURE, Phase.DELIVER)
Group = list[VolumePlan]


def lines(plans: Sequence[VolumePlan], deadline_seconds: float | None) -> list[ScheduleLine]:
    """The lines of the schedule, in the order in which they begin."""
    groups = _grouped(plans, _alike)
    alike = len(groups) <= MOST_LINES
    found = [_line(group, alike=alike) for group in (groups if alike else _grouped(plans, _by_strategy))]
    end = max([deadline_seconds or 0.0, *(float(line.ready_p90_seconds) for line in found)])
    ordered = sorted(found, key=lambda line: (line.start_seconds, line.ready_p90_seconds, line.first_index))
    return [replace(line, bar=_bar(line, end)) for line in ordered]


def _bar(line: ScheduleLine, end: float) -> str:
    waits = sum(line.phases[phase][0] for phase in _WAITS if phase in line.phases)
    loads_at = waits + sum(line.phases[phase][0] for phase in _PREPARES if phase in line.phases)
    return words.bar(waits, loads_at, line.ready_p50_seconds, line.ready_p90_seconds, end)


def by_hand(volumes: Sequence[VolumeFacts]) -> list[ByHand]:
    """Reading all volumes at once by hand; without programs that cannot read each of them."""
    sizes: dict[str | None, list[float]] = {}
    for facts in volumes:
        sizes.setdefault(facts.reads_through, []).append(facts.whole_bytes / MIB)
    each = [by_hand_seconds(facts, _others(sizes[facts.reads_through], facts)) for facts in volumes]
    return [
        ByHand(
            program=program,
            command=command,
            ready_seconds=ceil_seconds(max(seconds[program] for seconds in each)),
            effort=effort,
        )
        for program, (command, effort) in words.BY_HAND.items()
        if all(program in seconds for seconds in each)
    ]


def _others(sizes: Sequence[float], facts: VolumeFacts) -> tuple[float, ...]:
    """Sizes of the other volumes on its instance or EBS card; none without an instance's id."""
    if facts.instance_id is None:
        return ()
    others = sorted(sizes)
    others.remove(facts.whole_bytes / MIB)
    return tuple(others)


def ways() -> list[Way]:
    """Every way to full speed."""
    return [Way(name=name, effort=effort, right_when=right) for name, (effort, right) in words.WAYS.items()]


def _grouped(plans: Sequence[VolumePlan], key: Callable[[VolumePlan], object]) -> list[Group]:
    groups: dict[object, Group] = {}
    for plan in plans:
        groups.setdefault(key(plan), []).append(plan)
    return list(groups.values())


def _alike(plan: VolumePlan) -> object:
    """A key that is the same for alike volumes; prices that look the same count as equal."""
    made = plan.plan
    volume = plan.volume
    return (
        volume.snapshot_id, volume.instance_id or volume.availability_zone, volume.data_bytes, made.strategy,
        made.initialization_rate_mib_s, made.boost, _start(made.phases), made.ready_p50_seconds,
        made.ready_p90_seconds, usd_text(made.cost_usd),
    )  # fmt: skip


def _by_strategy(plan: VolumePlan) -> object:
    return plan.plan.strategy, plan.plan.start_at is not None, plan.plan.deadline_missed


def _line(group: Group, *, alike: bool) -> ScheduleLine:
    """If the volumes differ, the worst figure of all, and the phases of the last volume that is ready."""
    last = max(group, key=lambda plan: plan.plan.ready_p90_seconds)
    rates = [plan.plan.initialization_rate_mib_s or 0 for plan in group]
    return ScheduleLine(
        volumes=len(group),
        first_index=min(plan.volume.index for plan in group),
        alike=alike or len(group) == 1,
        snapshot_id=_only(plan.volume.snapshot_id for plan in group),
        target=_only(plan.volume.instance_id or plan.volume.availability_zone for plan in group),
        data_bytes=max(plan.volume.data_bytes for plan in group),
        strategy=last.plan.strategy,
        initialization_rate_mib_s=max(rates) or None,
        boost=last.plan.boost,
        start_seconds=min(_start(plan.plan.phases) for plan in group),
        usable_seconds=max(plan.plan.usable_seconds for plan in group),
        ready_p50_seconds=max(plan.plan.ready_p50_seconds for plan in group),
        ready_p90_seconds=last.plan.ready_p90_seconds,
        deadline_missed=any(plan.plan.deadline_missed for plan in group),
        each_cost_usd=max(plan.plan.cost_usd for plan in group),
        together_cost_usd=sum((plan.plan.cost_usd for plan in group), Decimal(0)),
        phases=last.plan.phases,
    )


def _only(names: Iterable[str]) -> str | None:
    found = set(names)
    return found.pop() if len(found) == 1 else None


def _start(phases: Mapping[Phase, tuple[float, float]]) -> int:
    """Expected seconds until CreateVolume, or until the preparation before it."""
    if Phase.QUEUE not in phases:
        return 0
    return ceil_seconds(sum(phases[phase][0] for phase in _WAITS if phase in phases))
