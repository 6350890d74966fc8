"""Which estimate each volume of a restore gets, so that all together are cheapest and within the budget.

A volume's own limit is the deadline, or its own fastest where that is later. The cheapest way for every
volume within its limit is the answer, if the budget allows it. If not, the limit is moved back for all,
to the first time at which the budget suffices: the slowest volume is then as early as the money can make
it. So a longer deadline never costs more, and a larger budget is never slower.

Only fast snapshot restore couples volumes in price: one price for all of a snapshot in a zone. It is taken
there by every volume that it serves in time, or by none. What the volumes share otherwise (instance, quotas,
credits) is in their facts, as if all took the same road; see rewarm.domain.facts.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from rewarm.domain import cost
from rewarm.domain.estimates import Estimate, Limits, Outcome
from rewarm.domain.estimators import ESTIMATORS, MIN_RATE_MIB_S, most_rate, rate_times
from rewarm.domain.facts import VolumeFacts
from rewarm.domain.model import PriceBook, Strategy
from rewarm.domain.objective import Objective
from rewarm.domain.volume_types import VolumeSpeed
from rewarm.domain.warm_up import boost_steps, warm_up_times

GRADED = (Strategy.PROVISIONED_RATE, Strategy.BOOSTED_WARM_UP)
"""Strategies with a setting that trades price for time; the others have one estimate."""
ORDER = {name: place for place, name in enumerate(ESTIMATORS)}


@dataclass(frozen=True, slots=True)
class Candidate:
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
        limits = Limits(seconds)
        found = [*self.single, *(_estimate(name, self.facts, self.book, limits) for name in self.graded)]
        in_time = [one for one in found if one is not None and one.times.ready_p90 <= seconds]
        return min(in_time, key=rank, default=None)


def rank(estimate: Estimate) -> tuple[Decimal, float, float, int]:
    """Price first; ties by the earlier P90, the earlier P50, the order of ESTIMATORS."""
    times = estimate.times
    return (estimate.decidable_usd, times.ready_p90, times.ready_p50, ORDER[estimate.strategy])


def allocate(volumes: Sequence[VolumeFacts], objective: Objective, book: PriceBook) -> list[Estimate] | None:
    """One estimate for each volume; None where some volume has none, or the budget is too small for any."""
    candidates = [candidate(facts, objective, book) for facts in volumes]
    if any(math.isinf(one.fastest) for one in candidates):
        return None
    deadline = math.inf if objective.deadline_seconds is None else objective.deadline_seconds
    chosen = _all_within(candidates, deadline)
    budget = objective.budget_usd
    if budget is not None and _usd(chosen) > budget:
        times = sorted({time for one in candidates for time in _times(one) if time > deadline})
        later = bisect_left(times, -budget, key=lambda time: -_usd(_all_within(candidates, time)))
        if later == len(times):
            return None
        chosen = _all_within(candidates, times[later])
    return [chosen[index] for index in range(len(candidates))]


def candidate(facts: VolumeFacts, objective: Objective, book: PriceBook) -> Candidate:
    """The estimates that the objective lets us choose from."""
    allowed = [name for name in ESTIMATORS if objective.allows(name)]
    hurry = Limits(0.0, objective.budget_usd if objective.fixed is Strategy.VOLUME_CLONE else None)
    first = {name: _estimate(name, facts, book, hurry) for name in allowed}
    known = {name: estimate for name, estimate in first.items() if estimate is not None}
    return Candidate(
        facts,
        book,
        single=tuple(
            one for name, one in known.items() if name not in {*GRADED, Strategy.FAST_SNAPSHOT_RESTORE}
        ),
        graded=tuple(name for name in known if name in GRADED),
        fast_restore=known.get(Strategy.FAST_SNAPSHOT_RESTORE),
        fastest=min((one.times.ready_p90 for one in known.values()), default=math.inf),
    )


def _estimate(name: Strategy, facts: VolumeFacts, book: PriceBook, limits: Limits) -> Estimate | None:
    outcome: Outcome = ESTIMATORS[name](facts, book, limits)
    return outcome if isinstance(outcome, Estimate) else None


def _all_within(candidates: Sequence[Candidate], seconds: float) -> dict[int, Estimate]:
    """The cheapest for all, each within its limit."""
    groups: dict[tuple[str, str], list[int]] = {}
    for index, one in enumerate(candidates):
        groups.setdefault(one.facts.place, []).append(index)
    chosen: dict[int, Estimate] = {}
    for indices in groups.values():
        chosen.update(_group_within(candidates, indices, seconds))
    return chosen


def _group_within(
    candidates: Sequence[Candidate], indices: Sequence[int], seconds: float
) -> dict[int, Estimate]:
    """Volumes of one snapshot in one zone: fast snapshot restore for all that it serves, or for none."""
    limits = {index: max(seconds, candidates[index].fastest) for index in indices}
    others = {index: candidates[index].within(limits[index]) for index in indices}
    alone = {index: one for index, one in others.items() if one is not None}
    fast = {
        index: one
        for index in indices
        if (one := candidates[index].fast_restore) is not None
        and one.times.ready_p90 <= limits[index]
        and _better(one, alone.get(index))
    }
    if not fast:
        return alone
    together = {**alone, **(_shared(candidates, indices, fast) if _usd(fast) else fast)}
    if len(alone) < len(indices):
        return together
    return min(together, alone, key=lambda way: (_usd(way), max(one.times.ready_p90 for one in way.values())))


def _better(fast: Estimate, other: Estimate | None) -> bool:
    """Whether a volume gains by fast snapshot restore once its price is paid."""
    if other is None:
        return True
    if not fast.decidable_usd:
        return rank(fast) < rank(other)
    return other.decidable_usd > 0 or fast.times.ready_p90 < other.times.ready_p90


def _shared(
    candidates: Sequence[Candidate], indices: Sequence[int], fast: Mapping[int, Estimate]
) -> dict[int, Estimate]:
    """One price until the group's last volume is ready, in parts that add up.

    It is the last of all that could take it, so that the price does not depend on who does. Who gets the odd
    millionth of a dollar follows from the volumes, not from their order.
    """
    able = [one for index in indices if (one := candidates[index].fast_restore) is not None]
    seconds = max(one.times.ready_p90 for one in able)
    ordered = sorted(fast, key=lambda index: candidates[index].facts.written_bytes)
    return {
        index: replace(
            fast[index],
            parts=(
                *(part for part in fast[index].parts if part.sunk),
                cost.fast_snapshot_restore(candidates[index].book, seconds, len(ordered), position),
            ),
        )
        for position, index in enumerate(ordered)
    }


def _usd(way: Mapping[int, Estimate]) -> Decimal:
    return sum((one.decidable_usd for one in way.values()), Decimal(0))


def _times(one: Candidate) -> list[float]:
    """Every P90 that a volume can have: where the cheapest choice may change."""
    facts = one.facts
    times = [estimate.times.ready_p90 for estimate in one.single]
    if one.fast_restore is not None:
        times.append(one.fast_restore.times.ready_p90)
    if Strategy.PROVISIONED_RATE in one.graded:
        rates = range(MIN_RATE_MIB_S, most_rate(facts) + 1)
        times += [rate_times(facts, rate).ready_p90 for rate in rates]
    steps = boost_steps(facts) if Strategy.BOOSTED_WARM_UP in one.graded else ()
    if not isinstance(steps, str):
        times += [
            warm_up_times(facts, VolumeSpeed(0, float(mib_s), float(mib_s))).ready_p90 for mib_s in steps
        ]
    return times
