"""The what-if over deadlines: what all volumes together cost at least, for every deadline that can be met."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise

from rewarm.domain.model import PriceBook, Strategy
from rewarm.domain.plan.allocation import AllocationCandidate, all_within, candidates, turning_times
from rewarm.domain.plan.estimates import Estimate
from rewarm.domain.plan.facts import VolumeFacts, beside_each_other
from rewarm.domain.plan.objective import PlanObjective

POINTS = 48
"""Looked at evenly; where the strategies of two neighbours differ, the change between them is sought too."""


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
    return _falling(looked_at[index] for index in sorted(looked_at))


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


def _falling(steps: Iterable[FrontierStep]) -> list[FrontierStep]:
    """Without those that cost no less than an earlier one."""
    kept: list[FrontierStep] = []
    for step in steps:
        if not kept or step.cost_usd < kept[-1].cost_usd:
            kept.append(step)
    return kept
