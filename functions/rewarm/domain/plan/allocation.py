"""Which estimate each volume of a restore gets, so that all together are cheapest and within the budget.

A volume's own limit is the deadline, or its own fastest if that is later. Volumes that share an instance or a
snapshot may not all keep their limits. Then their limit is the earliest that all of them can keep. The
cheapest mix within these limits is the answer, if the budget and the Region's quotas allow it. If not, the
limit is moved back for all, to the first time at which they do. So a longer deadline never costs more, and a
larger budget is never slower. If volumes have priorities, the limit of the least important is moved back
first. The mix itself is found by rewarm.domain.plan.joint.

The what-if over deadlines is made of the same: what all volumes together cost at least, for every deadline
that can be met.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from heapq import heappop, heappush
from itertools import pairwise

from rewarm.domain.model import PriceBook, Strategy
from rewarm.domain.plan.estimates import Estimate, PlanObjective, SearchTime
from rewarm.domain.plan.estimators import MIN_RATE_MIB_S, most_rate, rate_p90
from rewarm.domain.plan.facts import VolumeFacts, beside_each_other
from rewarm.domain.plan.joint import MANY, MOST_SEARCHED, UNLIMITED, cheapest, may_be_together, sharing
from rewarm.domain.plan.mixes import KindOptions, Mix, SharedQuotas, VolumeOptions, options_of
from rewarm.domain.plan.warm_up import boosts_of
from rewarm.domain.value import Value

POINTS, POINTS_OF_MANY = 48, 12
"""Deadlines at even distances; if two neighbours have different strategies, the change is sought."""
MOST_WITH_EVERY_STEP = 24
MOST_LOOKS, MOST_LOOKS_OF_MANY = 250, 3_000
"""How many deadlines are looked at; for many volumes divided by their number, as each look takes longer."""
ROUGH_SHARE = 0.02
"""How near each other two deadlines of many volumes may be, as a share of the later one."""
EXACT_SECONDS, ROUGH_SECONDS, VOLUMES_A_SECOND = 1e-3, 0.5, 100
"""How exactly the earliest time is sought: seconds for few and for many volumes, or one for so many."""


def allocate(volumes: Sequence[VolumeFacts], objective: PlanObjective, book: PriceBook) -> Mix | None:
    """One estimate for each volume; None where some volume has none, or the budget is too small for any."""
    if not volumes:
        return None
    return _Allocation(volumes, objective, book).best()


class _Allocation:
    """The volumes of a restore with their options."""

    def __init__(self, volumes: Sequence[VolumeFacts], objective: PlanObjective, book: PriceBook) -> None:
        options = options_of(volumes, objective, book)
        # Sorted, so the choice does not depend on the order in the request.
        self._order = sorted(range(len(volumes)), key=lambda place: options[place].name)
        self._options = [options[place] for place in self._order]
        self._fastest = [volume.kind.fastest for volume in self._options]
        self._quotas = SharedQuotas.of(volumes)
        self._deadline = math.inf if objective.deadline_seconds is None else objective.deadline_seconds
        self._budget = objective.budget_usd
        self._patience = objective.patience

    def best(self) -> Mix | None:
        """Within the deadline, or as early as possible."""
        if any(map(math.isinf, self._fastest)):
            return None
        found = self.at(self._deadline)
        if found is None and (together := self._fastest_together()) != self._fastest:
            self._fastest = together
            found = self.at(self._deadline)
        if self._affordable(found):
            return found
        priorities = [volume.facts.priority for volume in self._options]
        earliest = _Earliest(self._probed, self._affordable, priorities, self._deadline, self._patience)
        limits = earliest.limits()
        mix = earliest.mix
        if limits is None or mix is None:
            return None
        is_done = self._budget is not None or not self._patience.lasts()
        thorough = None if is_done else self._within(limits)
        return self._as_asked(mix if thorough is None else _better(mix, thorough))

    def at(self, seconds: float) -> Mix | None:
        """The cheapest, each volume within the time or its own fastest where that is later."""
        limits = [seconds] * len(self._options)
        if len(limits) > MANY and self._within(limits, is_thorough=False) is None:
            return None
        mix = self._within(limits)
        return None if mix is None else self._as_asked(mix)

    def _within(self, seconds: Sequence[float], *, is_thorough: bool = True) -> Mix | None:
        limits = [max(own, fastest) for own, fastest in zip(seconds, self._fastest, strict=True)]
        return cheapest(self._options, limits, self._quotas, self._patience, is_thorough=is_thorough)

    def _probed(self, seconds: Sequence[float]) -> Mix | None:
        """The mix within these times; it need not be cheap unless there is a budget."""
        return self._within(seconds, is_thorough=self._budget is not None)

    def _as_asked(self, mix: Mix) -> Mix:
        """The mix with its estimates in the order of the request."""
        estimates = dict(zip(self._order, mix.estimates, strict=True))
        return replace(mix, estimates=tuple(estimates[place] for place in range(len(estimates))))

    def _affordable(self, mix: Mix | None) -> bool:
        return mix is not None and (self._budget is None or mix.usd <= self._budget)

    def _fastest_together(self) -> list[float]:
        """The fastest time of each volume beside those that share an instance or a snapshot with it."""
        found = list(self._fastest)
        for group in sharing(self._options):
            options = [self._options[place] for place in group]
            fastest = [self._fastest[place] for place in group]
            if may_be_together(options, [max(self._deadline, own) for own in fastest]):
                continue

            def within(
                seconds: Sequence[float],
                options: Sequence[VolumeOptions] = options,
                fastest: Sequence[float] = fastest,
            ) -> Mix | None:
                limits = list(map(max, seconds, fastest))
                return cheapest(options, limits, UNLIMITED, self._patience, is_thorough=False)

            if within([self._deadline] * len(group)) is None:
                priorities = [volume.facts.priority for volume in options]
                together = _Earliest(within, bool, priorities, self._deadline, self._patience).limits()
                for place, seconds in zip(group, together or [math.inf] * len(group), strict=True):
                    found[place] = max(found[place], seconds)
        return found


def _better(mix: Mix, other: Mix) -> Mix:
    """The cheaper one. No mix within the limits of both undercuts either bound, so the higher one counts."""
    cheaper = min(mix, other, key=lambda found: found.usd)
    return replace(cheaper, least_usd=min(cheaper.usd, max(mix.least_usd, other.least_usd)))


class _Earliest:
    """The earliest mix that serves: volumes of the least important priority are moved back first."""

    def __init__(
        self,
        within: Callable[[Sequence[float]], Mix | None],
        serves: Callable[[Mix | None], bool],
        priorities: Sequence[int],
        after: float,
        patience: SearchTime,
    ) -> None:
        self._within = within
        self._serves = serves
        self._priorities = priorities
        self._patience = patience
        self._after = max(0.0, after if math.isfinite(after) else 0.0)
        self._limits = [self._after] * len(priorities)
        self.mix: Mix | None = None
        """The mix within the limits; None if none serves at any time."""

    def limits(self) -> list[float] | None:
        """The limit of each volume in seconds, never before `after`."""
        moved: list[int] = []
        for priority in sorted(set(self._priorities), reverse=True):
            moved.insert(0, priority)
            self._put(priority, math.inf)
            self.mix = self._within(self._limits)
            if self.mix is not None and self._serves(self.mix):
                for less_important in moved:
                    self._seek(less_important, self.mix)
                return self._limits
        return None

    def _put(self, priority: int, seconds: float) -> None:
        for place, own in enumerate(self._priorities):
            if own == priority:
                self._limits[place] = seconds

    def _seek(self, priority: int, mix: Mix) -> None:
        """By bisection, for the volumes of one priority, while the less important ones have no limit."""
        count = len(self._priorities)
        near = EXACT_SECONDS if count <= MOST_SEARCHED else max(ROUGH_SECONDS, count / VOLUMES_A_SECOND)
        early = self._after
        late = self._last(priority, mix)
        while late - early > near and self._patience.lasts():
            middle = (early + late) / 2
            self._put(priority, middle)
            mix_then = self._within(self._limits)
            if mix_then is None or not self._serves(mix_then):
                early = middle
            else:
                self.mix = mix_then
                late = min(middle, max(early, self._last(priority, mix_then)))
        self._put(priority, late)

    def _last(self, priority: int, mix: Mix) -> float:
        ready = zip(self._priorities, mix.estimates, strict=True)
        return max(estimate.times.ready_p90 for own, estimate in ready if own == priority)


def turning_times(volumes: Sequence[VolumeFacts], objective: PlanObjective, book: PriceBook) -> list[float]:
    """P90s that volumes can have, alone and where all take the same strategy, ascending."""
    times: set[float] = set()
    for facts in {repr(facts): facts for facts in (*volumes, *beside_each_other(volumes))}.values():
        times.update(KindOptions(facts, objective, book).times())
        if objective.allows(Strategy.PROVISIONED_RATE):
            rates = range(MIN_RATE_MIB_S, most_rate(facts) + 1)
            times.update(map(rate_p90(facts), rates))
        boosts = boosts_of(facts, book) if objective.allows(Strategy.BOOSTED_WARM_UP) else ""
        if not isinstance(boosts, str):
            times.update(map(boosts.ready_p90, boosts.steps_mib_s))
    return sorted(times)


class FrontierStep(Value):
    """The least cost for this deadline, and for longer ones up to the next step's."""

    deadline_seconds: float
    cost_usd: Decimal
    estimates: tuple[Estimate, ...]
    """One for each volume, in the order of the volumes."""

    @classmethod
    def of(cls, mix: Mix) -> FrontierStep:
        """What the mix costs, all included."""
        cost_usd = sum((estimate.cost_usd for estimate in mix.estimates), Decimal(0))
        return cls(mix.seconds, cost_usd, mix.estimates)

    @property
    def strategies(self) -> tuple[Strategy, ...]:
        """The strategy of each volume."""
        return tuple(estimate.strategy for estimate in self.estimates)


def frontier(volumes: Sequence[VolumeFacts], objective: PlanObjective, book: PriceBook) -> list[FrontierStep]:
    """Returns the steps by deadline, the earliest first; each is later and cheaper than the one before.

    Of the objective a named strategy counts, and the time. The list is empty where that strategy is not
    possible. Up to MOST_WITH_EVERY_STEP volumes, every step is there at which the strategies change, as far
    as MOST_LOOKS and the time suffice. Of more volumes some are, so a mix between two of them may cost less
    than the earlier one. A rate or a boost has a step for every MiB/s; about POINTS of these are returned.
    """
    if not volumes:
        return []
    asked = replace(objective, deadline_seconds=0.0, budget_usd=None, strict=False)
    allocation = _Allocation(volumes, asked, book)
    first = allocation.best()
    if first is None:
        return []
    many = len(volumes) > MOST_WITH_EVERY_STEP
    times = [
        first.seconds,
        *(time for time in turning_times(volumes, asked, book) if time > first.seconds),
    ]
    points = POINTS if len(volumes) <= MOST_SEARCHED else POINTS_OF_MANY
    places = sorted({round(place * (len(times) - 1) / points) for place in range(points + 1)})
    most_looks = MOST_LOOKS_OF_MANY // len(volumes) if many else MOST_LOOKS
    front = _Front(allocation, first, most_looks, objective.patience)
    front.seek([times[index] for index in places], every_step=not many)
    return falling(front.steps.values())


class _Front:
    """The cheapest mixes for the deadlines that were looked at."""

    def __init__(self, allocation: _Allocation, first: Mix, most_looks: int, patience: SearchTime) -> None:
        self._allocation = allocation
        self._patience = patience
        self.steps = {first.seconds: FrontierStep.of(first)}
        """The cheapest step found, by the deadline."""
        self._looks_left = most_looks

    def seek(self, deadlines: Sequence[float], *, every_step: bool) -> None:
        """Looks at these, and then where the strategies change between two: at the largest fall first."""
        waiting: list[tuple[Decimal, float, float]] = []
        ends = list(pairwise(deadlines))
        while ends or (waiting and self._looks_left > 0):
            for earlier, later in ends:
                fall = self._at(earlier).cost_usd - self._at(later).cost_usd
                heappush(waiting, (-fall, earlier, later))
            _, earlier, later = heappop(waiting)
            ends = list(self._within(earlier, later, every_step=every_step))

    def _at(self, seconds: float) -> FrontierStep:
        """The cheapest mix for a deadline not before the first; an earlier one where none is found."""
        if seconds not in self.steps:
            self._looks_left = self._looks_left - 1 if self._patience.lasts() else 0
            mix = self._allocation.at(seconds) if self._patience.lasts() else None
            known = max(time for time in self.steps if time < seconds)
            self.steps[seconds] = self.steps[known] if mix is None else FrontierStep.of(mix)
        return self.steps[seconds]

    def _within(self, earlier: float, later: float, *, every_step: bool) -> Iterator[tuple[float, float]]:
        """The ranges to search next: up to just before the later mix is ready, or both halves of that."""
        step = self._at(later)
        before = step.deadline_seconds - EXACT_SECONDS
        if before <= earlier or self._at(earlier).strategies == step.strategies:
            return
        if every_step:
            is_other = self._at(before).strategies != step.strategies
            yield earlier, before if is_other else self._until_other(earlier, before)
        elif before - earlier > ROUGH_SHARE * later:
            middle = (earlier + before) / 2
            yield from ((earlier, middle), (middle, later))

    def _until_other(self, earlier: float, later: float) -> float:
        """The latest deadline, found by bisection, with other strategies than the later of these two."""
        strategies = self._at(later).strategies
        while self._looks_left > 0 and later - earlier > 1.0:
            middle = (earlier + later) / 2
            if self._at(middle).strategies == strategies:
                later = min(middle, self._at(middle).deadline_seconds)
            else:
                earlier = middle
        return earlier


def falling(steps: Iterable[FrontierStep]) -> list[FrontierStep]:
    """By deadline, without those that cost no less than an earlier one."""
    kept: list[FrontierStep] = []
    for step in sorted(steps, key=lambda step: (step.deadline_seconds, step.cost_usd)):
        if not kept or step.cost_usd < kept[-1].cost_usd:
            kept.append(step)
    return kept
