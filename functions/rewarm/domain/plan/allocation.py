"""Which estimate each volume of a restore gets, so that all together are cheapest and within the budget.

A volume's own limit is the deadline, or its own fastest where that is later. The cheapest way for every
volume within its limit is the answer, if the budget allows it. If not, the limit is moved back for all,
to the first time at which the budget suffices: the slowest volume is then as early as the money can make
it. So a longer deadline never costs more, and a larger budget is never slower.

Only fast snapshot restore couples volumes in price: one price for all of a snapshot in a zone. It is taken
there by every volume that it serves in time, or by none. What the volumes share otherwise (instance, quotas,
credits) is in their facts, as if all took the same road; see rewarm.domain.plan.facts.

The what-if over deadlines is made of the same: what all volumes together cost at least, for every deadline
that can be met.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import pairwise

from rewarm.domain.model import PriceBook, Strategy
from rewarm.domain.plan import cost
from rewarm.domain.plan.estimates import Estimate, EstimateLimits, Outcome, PlanObjective
from rewarm.domain.plan.estimators import ESTIMATORS, MIN_RATE_MIB_S, most_rate, rate_p90
from rewarm.domain.plan.facts import VolumeFacts, beside_each_other
from rewarm.domain.plan.warm_up import boosts_of

GRADED = (Strategy.PROVISIONED_RATE, Strategy.BOOSTED_WARM_UP)
"""Strategies with a setting that trades price for time; the others have one estimate."""
ORDER = {name: place for place, name in enumerate(ESTIMATORS)}

POINTS = 48
"""Looked at evenly; where the strategies of two neighbours differ, the change between them is sought too."""


@dataclass(frozen=True, slots=True)
class AllocationCandidate:
    """A volume with what can be had for it, before any limit."""

    facts: VolumeFacts
    book: PriceBook
    single: tuple[Estimate, ...]
    """Of the strategies with one estimate, but fast snapshot restore."""
    graded: tuple[Strategy, ...]
    fast_restore: Estimate | None
    fastest: float

    def within(self, seconds: float) -> Estimate | None:
        """The cheapest but fast snapshot restore; None where nothing is as early."""
        limits = EstimateLimits(seconds)
        found = [*self.single, *(_estimate(name, self.facts, self.book, limits) for name in self.graded)]
        in_time = [
            estimate for estimate in found if estimate is not None and estimate.times.ready_p90 <= seconds
        ]
        return min(in_time, key=rank, default=None)


def rank(estimate: Estimate) -> tuple[Decimal, float, float, int]:
    """Price first; ties by the earlier P90, the earlier P50, the order of ESTIMATORS."""
    times = estimate.times
    return (estimate.decidable_usd, times.ready_p90, times.ready_p50, ORDER[estimate.strategy])


def allocate(
    volumes: Sequence[VolumeFacts], objective: PlanObjective, book: PriceBook
) -> list[Estimate] | None:
    """One estimate for each volume; None where some volume has none, or the budget is too small for any."""
    all_of_them = candidates(volumes, objective, book)
    if any(math.isinf(candidate.fastest) for candidate in all_of_them):
        return None
    deadline = math.inf if objective.deadline_seconds is None else objective.deadline_seconds
    chosen = all_within(all_of_them, deadline)
    budget = objective.budget_usd
    if budget is None or usd(chosen) <= budget:
        return chosen
    times = [time for time in turning_times(all_of_them) if time > deadline]
    later = bisect_left(times, -budget, key=lambda time: -usd(all_within(all_of_them, time)))
    return all_within(all_of_them, times[later]) if later < len(times) else None


def usd(estimates: Iterable[Estimate]) -> Decimal:
    """What the choice can change of their price."""
    return sum((estimate.decidable_usd for estimate in estimates), Decimal(0))


def candidates(
    volumes: Sequence[VolumeFacts], objective: PlanObjective, book: PriceBook
) -> list[AllocationCandidate]:
    """One for each volume; volumes that are alike share it."""
    known: list[AllocationCandidate] = []
    found = []
    for facts in volumes:
        alike = next((other for other in known if other.facts == facts), None)
        if alike is None:
            alike = candidate(facts, objective, book)
            known.append(alike)
        found.append(alike)
    return found


def candidate(facts: VolumeFacts, objective: PlanObjective, book: PriceBook) -> AllocationCandidate:
    """The estimates that the objective lets us choose from."""
    allowed = [name for name in ESTIMATORS if objective.allows(name)]
    hurry = EstimateLimits(0.0, objective.budget_usd if objective.fixed is Strategy.VOLUME_CLONE else None)
    first = {name: _estimate(name, facts, book, hurry) for name in allowed}
    known = {name: estimate for name, estimate in first.items() if estimate is not None}
    return AllocationCandidate(
        facts,
        book,
        single=tuple(
            estimate
            for name, estimate in known.items()
            if name not in {*GRADED, Strategy.FAST_SNAPSHOT_RESTORE}
        ),
        graded=tuple(name for name in known if name in GRADED),
        fast_restore=known.get(Strategy.FAST_SNAPSHOT_RESTORE),
        fastest=min((estimate.times.ready_p90 for estimate in known.values()), default=math.inf),
    )


def _estimate(name: Strategy, facts: VolumeFacts, book: PriceBook, limits: EstimateLimits) -> Estimate | None:
    outcome: Outcome = ESTIMATORS[name](facts, book, limits)
    return outcome if isinstance(outcome, Estimate) else None


def all_within(volumes: Sequence[AllocationCandidate], seconds: float) -> list[Estimate]:
    """The cheapest for all together, each within the time or its own fastest where that is later."""
    groups: dict[tuple[str, str], list[int]] = {}
    alone: dict[int, Estimate | None] = {}
    for index, volume in enumerate(volumes):
        groups.setdefault(volume.facts.place, []).append(index)
        if id(volume) not in alone:
            alone[id(volume)] = volume.within(max(seconds, volume.fastest))
    chosen: dict[int, Estimate] = {}
    for indices in groups.values():
        group = {index: volumes[index] for index in indices}
        chosen.update(
            _group_within(group, {index: alone[id(candidate)] for index, candidate in group.items()}, seconds)
        )
    return [chosen[index] for index in range(len(volumes))]


def _group_within(
    group: Mapping[int, AllocationCandidate], others: Mapping[int, Estimate | None], seconds: float
) -> dict[int, Estimate]:
    """Volumes of one snapshot in one zone: fast snapshot restore for all that it serves, or for none."""
    alone = {index: other for index, other in others.items() if other is not None}
    fast = {
        index: candidate.fast_restore
        for index, candidate in group.items()
        if candidate.fast_restore is not None
        and candidate.fast_restore.times.ready_p90 <= max(seconds, candidate.fastest)
        and _better(candidate.fast_restore, alone.get(index))
    }
    if not fast:
        return alone
    together = {**alone, **(_shared(group, fast) if usd(fast.values()) else fast)}
    if len(alone) < len(group):
        return together
    return min(together, alone, key=_way_rank)


def _way_rank(way: Mapping[int, Estimate]) -> tuple[Decimal, float]:
    return usd(way.values()), max(estimate.times.ready_p90 for estimate in way.values())


def _better(fast: Estimate, other: Estimate | None) -> bool:
    """Whether a volume gains by fast snapshot restore once its price is paid."""
    if other is None:
        return True
    if not fast.decidable_usd:
        return rank(fast) < rank(other)
    return other.decidable_usd > 0 or fast.times.ready_p90 < other.times.ready_p90


def _shared(group: Mapping[int, AllocationCandidate], fast: Mapping[int, Estimate]) -> dict[int, Estimate]:
    """One price until the group's last volume is ready, in parts that add up.

    It is the last of all that could take it, so that the price does not depend on who does. Who gets the odd
    millionth of a dollar follows from the volumes, not from their order.
    """
    able = [candidate.fast_restore for candidate in group.values() if candidate.fast_restore is not None]
    seconds = max(estimate.times.ready_p90 for estimate in able)
    ordered = sorted(fast, key=lambda index: group[index].facts.written_bytes)
    return {
        index: replace(
            fast[index],
            parts=(
                *(part for part in fast[index].parts if part.sunk),
                cost.fast_snapshot_restore(group[index].book, seconds, len(ordered), position),
            ),
        )
        for position, index in enumerate(ordered)
    }


def turning_times(volumes: Sequence[AllocationCandidate]) -> list[float]:
    """Every P90 that a volume can have, ascending: where the cheapest choice may change."""
    alike = {id(volume): volume for volume in volumes}
    return sorted({time for candidate in alike.values() for time in _times(candidate)})


def _times(one: AllocationCandidate) -> list[float]:
    """Every P90 that a volume can have: where the cheapest choice may change."""
    facts = one.facts
    times = [estimate.times.ready_p90 for estimate in one.single]
    if one.fast_restore is not None:
        times.append(one.fast_restore.times.ready_p90)
    if Strategy.PROVISIONED_RATE in one.graded:
        rates = range(MIN_RATE_MIB_S, most_rate(facts) + 1)
        times += map(rate_p90(facts), rates)
    boosts = boosts_of(facts, one.book) if Strategy.BOOSTED_WARM_UP in one.graded else ""
    if not isinstance(boosts, str):
        times += map(boosts.ready_p90, boosts.steps_mib_s)
    return times


@dataclass(frozen=True, slots=True)
class FrontierStep:
    """The least cost for this deadline, and for longer ones up to the next step's."""

    deadline_seconds: float
    cost_usd: Decimal
    estimates: tuple[Estimate, ...]
    """One for each volume, in the order of the volumes."""

    @property
    def strategies(self) -> tuple[Strategy, ...]:
        """Of each volume."""
        return tuple(estimate.strategy for estimate in self.estimates)


def frontier(volumes: Sequence[VolumeFacts], objective: PlanObjective, book: PriceBook) -> list[FrontierStep]:
    """Returns the steps by deadline, the earliest first; each is later and cheaper than the one before.

    Of the objective only a named strategy counts. The list is empty where that strategy is not possible.
    A rate or a boost has a step for every MiB/s. About POINTS of these are returned, and every step at which
    the strategies change.
    """
    asked = PlanObjective(fixed=objective.fixed)
    found = candidates(beside_each_other(volumes), asked, book)
    first = max((candidate.fastest for candidate in found), default=0.0)
    times = [time for time in turning_times(found) if time >= first]
    if not times:
        return []
    looked_at: dict[int, FrontierStep] = {}
    for index in sorted({round(place * (len(times) - 1) / POINTS) for place in range(POINTS + 1)}):
        looked_at[index] = _step(found, times[index])
    for earlier, later in pairwise(sorted(looked_at)):
        _seek_change(found, times, looked_at, earlier, later)
    return falling(looked_at[index] for index in sorted(looked_at))


def _step(found: Sequence[AllocationCandidate], seconds: float) -> FrontierStep:
    chosen = all_within(found, seconds)
    cost_usd = sum((estimate.cost_usd for estimate in chosen), Decimal(0))
    return FrontierStep(max(estimate.times.ready_p90 for estimate in chosen), cost_usd, tuple(chosen))


def _seek_change(
    found: Sequence[AllocationCandidate],
    times: Sequence[float],
    looked_at: dict[int, FrontierStep],
    earlier: int,
    later: int,
) -> None:
    """By halves, until the two steps on both sides of the change are known."""
    while later - earlier > 1 and looked_at[earlier].strategies != looked_at[later].strategies:
        middle = (earlier + later) // 2
        looked_at[middle] = _step(found, times[middle])
        if looked_at[middle].strategies == looked_at[earlier].strategies:
            earlier = middle
        else:
            later = middle


def falling(steps: Iterable[FrontierStep]) -> list[FrontierStep]:
    """Without those that cost no less than an earlier one."""
    kept: list[FrontierStep] = []
    for step in steps:
        if not kept or step.cost_usd < kept[-1].cost_usd:
            kept.append(step)
    return kept
