"""What a rewind of the source volume would take: POST /plans always says it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from types import MappingProxyType

from rewarm.contracts.plans import RewindPlan, RewindWay
from rewarm.contracts.request import RestoreRequest
from rewarm.contracts.values import Plan, PlannedVolumes, PlanSummary, VolumeAssignment, VolumePlan
from rewarm.domain.blocks.rewind import RewindEstimate, choose, rewind
from rewarm.domain.blocks.rewind_facts import MOST_REWOUND, WAYS, RewindManner, attached_to
from rewarm.domain.errors import (
    TEMPORARY,
    NoStrategyFitsError,
    RestoreError,
    TargetNotUsableError,
    VolumeNotFoundError,
)
from rewarm.domain.model import BLOCK_BYTES, PriceBook, Strategy
from rewarm.domain.parts import Part
from rewarm.domain.time.measured import Phase
from rewarm.domain.units import ceil_seconds, count_text, duration_text, price_text, usd_text
from rewarm.domain.value import Value
from rewarm.steps.plan import schedule
from rewarm.steps.plan.planning import keeping
from rewarm.steps.plan.rewind_cases import (
    Patience,
    RewindCase,
    RewindFactsPorts,
    rewind_case,
    uncertain,
    way_back,
    why_this_way,
)

MOST_REQUESTS, MOST_REQUESTS_WHERE_ASKED = 16, 80
"""Calls of ListChangedBlocks for all volumes, half a second each (measured by others). A caller waits for a
plan; the state `Choose Strategy` times out after a minute.
"""
REWIND_PRICES = ("getBlocksUsdPerThousand", "packsUsdPerGibMonth", "snapshotUsdPerGibMonth")
"""Prices that only a rewind's cost depends on."""
PARTS_OF_PHASES = MappingProxyType(
    {
        Phase.DELIVER: ("deliver",),
        Phase.EVIDENCE: ("evidence",),
        Phase.WRITE: ("copy", "read", "keep", "write", "read-back"),
        Phase.VERIFY: ("compare",),
    }
)


class _Found(Value):
    """What is known of a volume, and its estimates; empty if a rewind is not possible."""

    plan: RewindPlan
    case: RewindCase | None = None
    estimates: tuple[RewindEstimate, ...] = ()
    book: PriceBook | None = None


def rewinds_of(
    request: RestoreRequest,
    volumes: Sequence[VolumeAssignment],
    book: PriceBook,
    ports: RewindFactsPorts,
    *,
    now: datetime,
    has_time: Callable[[], bool] = lambda: True,
) -> list[RewindPlan | None]:
    """A rewind for each volume; None if it has no source volume, and beyond MOST_REWOUND.

    If the request asks for a rewind, raises ThrottledError and ServiceUnavailableError, to be retried.
    """
    asked = request.target.mode == "rewind"
    requests = (MOST_REQUESTS_WHERE_ASKED if asked else MOST_REQUESTS) // max(
        1, min(len(volumes), MOST_REWOUND)
    )
    patience = Patience(requests, now, has_time, asked)
    found: dict[int, _Found] = {}
    for place, volume in enumerate(volumes[:MOST_REWOUND]):
        volume_id = volume.rewinds or volume.source_volume_id
        if volume.copy_of is None and volume_id is not None:
            known = _found(request, volume, volume_id, book, ports, patience)
            if known is not None:
                found[place] = known
    possible = {place: known for place, known in found.items() if known.estimates}
    mix = choose([known.estimates for known in possible.values()], request.objective.max_cost_usd)
    chosen = dict(zip(possible, mix, strict=True))
    places = range(len(volumes))
    return [_with_chosen(found[place], chosen.get(place)) if place in found else None for place in places]


def plan_rewinds(
    request: RestoreRequest,
    volumes: Sequence[VolumeAssignment],
    book: PriceBook,
    ports: RewindFactsPorts,
    *,
    deadline_at: datetime | None,
    now: datetime,
) -> PlannedVolumes:
    """The plans of a rewind, which makes no volume: each source volume goes back, with all blocks listed.

    Raises TargetNotUsableError, NoStrategyFitsError.
    """
    found = rewinds_of(request, volumes, book, ports, now=now)
    check_asked(found, request.target.instance_id)
    left = None if deadline_at is None else max(0.0, (deadline_at - now).total_seconds())
    plans = [
        VolumePlan(volume=volume, plan=_as_plan(rewound, book, left), keeping=keeping(volume, book))
        for volume, rewound in zip(volumes, found, strict=True)
        if rewound is not None
    ]
    total = sum((plan.plan.cost_usd for plan in plans), Decimal(0))
    slowest = max(plan.plan.ready_p90_seconds for plan in plans)
    late = 0 if left is None else max(0, ceil_seconds(slowest - left))
    if request.objective.strict:
        _check_limits(total, slowest, late, request.objective.max_cost_usd)
    notes = [note for plan in found if plan is not None for note in (plan.evidence, *plan.notes) if note]
    summary = PlanSummary(
        total_cost_usd=total,
        ready_p90_at=now + timedelta(seconds=slowest),
        deadline_missed=bool(late),
        deadline_seconds=None if left is None else ceil_seconds(left),
        late_seconds=late,
        schedule=schedule.lines(plans, left),
        why=plans[0].plan.why if len(plans) == 1 else f"{len(plans)} volumes go back to their snapshots.",
        price_book_as_of=book.as_of,
        price_book_stale=any(
            book.figures[name].is_stale(now) for name in REWIND_PRICES if name in book.figures
        ),
        price_source=book.source,
        notes=notes,
    )
    return PlannedVolumes(plans=plans, summary=summary)


def _check_limits(usd: Decimal, slowest: int, late: int, max_usd: Decimal | None) -> None:
    """Raises NoStrategyFitsError with what is missing, and by how much."""
    lacks = {}
    if max_usd is not None and usd > max_usd:
        lacks["objective.maxCostUsd"] = f"the budget is {price_text(usd - max_usd)} too small"
    if late:
        lacks["objective.readyWithinMinutes"] = f"the deadline is {duration_text(late)} too early"
    if lacks:
        raise NoStrategyFitsError(
            f"a rewind takes {duration_text(slowest)} (P90) and costs {usd_text(usd)}: "
            f"{', and '.join(lacks.values())}",
            field=[*lacks][-1],
        )


def _as_plan(found: RewindPlan, book: PriceBook, left: float | None) -> Plan:
    p90 = found.seconds_p90 or 0
    return Plan(
        strategy=Strategy.REWIND,
        usable_seconds=found.seconds_p50 or 0,
        ready_p50_seconds=found.seconds_p50 or 0,
        ready_p90_seconds=p90,
        cost_usd=found.cost_usd or Decimal(0),
        cost_parts=found.cost_parts,
        phases=_phases(found),
        block_usd_per_thousand=book.get_blocks_usd_per_thousand,
        why=f"{found.volume_id} goes back itself: {count_text(found.blocks or 0, 'block')} are written, "
        f"{found.most_blocks or 0:,} at most. {found.why}",
        deadline_missed=left is not None and p90 > left,
        evidence=found.ways[0].evidence,
        compare=found.ways[0].compare,
    )


def _phases(found: RewindPlan) -> dict[Phase, tuple[float, float]]:
    """The phases as the report of a restore has them."""
    parts = {
        phase: [found.phases[name] for name in names if name in found.phases]
        for phase, names in PARTS_OF_PHASES.items()
    }
    return {
        phase: (sum(p50 for p50, _ in times), sum(p90 for _, p90 in times))
        for phase, times in parts.items()
        if times
    }


def check_asked(rewinds: Sequence[RewindPlan | None], instance_id: str | None) -> None:
    """Raises TargetNotUsableError if the request asks for a rewind that is not possible on this instance."""
    for found in rewinds:
        if found is None:
            raise TargetNotUsableError(
                "found rewind, and the snapshot's volume is gone; allowed are attach and replace",
                field="target.mode",
            )
        if found.instance_id not in {None, instance_id}:
            raise TargetNotUsableError(
                f"found {instance_id}; {found.volume_id} goes back on {found.instance_id}, which has it",
                field="target.instanceId",
            )
        if not found.possible:
            raise TargetNotUsableError(f"found rewind; {found.reason}", field="target.mode")


def _found(
    request: RestoreRequest,
    assigned: VolumeAssignment,
    volume_id: str,
    book: PriceBook,
    ports: RewindFactsPorts,
    patience: Patience,
) -> _Found | None:
    """Looks into a rewind. If the request does not ask for one, an error of AWS only makes it impossible."""
    try:
        volume = ports.volumes.get(volume_id)
    except VolumeNotFoundError:
        return None
    plan = RewindPlan(volume_id=volume_id, instance_id=attached_to(volume), possible=False)
    left_out = ports.parts.lacks(Part.REWINDS)
    if left_out is not None:
        return _Found(plan.model_copy(update={"reason": left_out}))
    if not patience.has_time():
        reason = "there was no time left to look; plan fewer volumes at once"
        return _Found(plan.model_copy(update={"reason": reason}))
    try:
        case = rewind_case(request, assigned, volume, ports, patience)
    except RestoreError as error:
        if patience.asked and isinstance(error, TEMPORARY):
            raise
        case = str(error)
    if isinstance(case, str):
        return _Found(plan.model_copy(update={"reason": case}))
    return _estimated(request, plan, case, book)


def _estimated(request: RestoreRequest, plan: RewindPlan, case: RewindCase, book: PriceBook) -> _Found:
    """Estimates the ways that are possible and asked for; the plan lists all ways."""
    estimates = {way: rewind(case.facts, book, way) for way in WAYS if way.reads_device or not case.unlisted}
    ways = [_way(way, estimates.get(way), case.unlisted) for way in WAYS]
    wanted = tuple(estimate for way, estimate in estimates.items() if _is_wanted(way, request))
    if not wanted:
        return _Found(plan.model_copy(update={"reason": case.unlisted}))
    newest = None if case.newest is None else case.newest.snapshot_id
    update = {"possible": True, "compared_with": newest, "ways": ways}
    return _Found(plan.model_copy(update=update), case, wanted, book)


def _is_wanted(way: RewindManner, request: RestoreRequest) -> bool:
    target = request.target
    return target.evidence in {None, "auto", way.evidence} and target.compare in {None, "auto", way.compare}


def _way(way: RewindManner, estimate: RewindEstimate | None, reason: str | None) -> RewindWay:
    if estimate is None:
        return RewindWay(evidence=way.evidence, compare=way.compare, reason=reason)
    figures = _figures_of(estimate)
    kept = estimate.kept_usd_a_month
    return RewindWay.model_validate(
        {"evidence": way.evidence, "compare": way.compare, "kept_usd_a_month": kept, **figures}
    )


def _figures_of(estimate: RewindEstimate) -> dict[str, object]:
    """The figures that a plan and each of its ways have."""
    return {
        "blocks": estimate.expected.blocks,
        "most_blocks": estimate.most.blocks,
        "seconds_p50": ceil_seconds(estimate.seconds.p50),
        "seconds_p90": ceil_seconds(estimate.seconds.p90),
        "phases": {name: (round(part.p50, 1), round(part.p90, 1)) for name, part in estimate.phases},
        "cost_usd": estimate.usd,
        "most_usd": estimate.most_usd,
        "cost_parts": list(estimate.parts),
    }


def _with_chosen(found: _Found, chosen: RewindEstimate | None) -> RewindPlan:
    """The plan with the figures of the chosen way."""
    plan = found.plan
    case = found.case
    book = found.book
    if chosen is None or case is None or book is None:
        return plan
    sooner = None if case.sooner is None else rewind(case.sooner, book, chosen.way)
    way = chosen.way
    ways = [
        other.model_copy(update={"chosen": (other.evidence, other.compare) == (way.evidence, way.compare)})
        for other in plan.ways
    ]
    ways.sort(key=lambda other: not other.chosen)
    update = {
        **_figures_of(chosen),
        "bytes": chosen.expected.blocks * BLOCK_BYTES,
        "ways": ways,
        "why": why_this_way(ways),
        "evidence": way_back(plan.volume_id, chosen),
        "notes": uncertain(case, chosen, sooner),
    }
    return plan.model_copy(update=update)
