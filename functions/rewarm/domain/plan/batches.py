"""Volumes at a provisioned rate share the Region's quota: all at once if it suffices, else one after another.

A volume holds its rate from CreateVolume until EBS has loaded it, although EC2 says so only later. A volume
that waits has less time left, so it may need a higher rate, which costs more.
"""

from __future__ import annotations

import heapq
import math
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, permutations
from operator import neg

from rewarm.domain.plan.estimators import MAX_RATE_MIB_S, MIN_RATE_MIB_S, rate_p90
from rewarm.domain.plan.facts import VolumeFacts
from rewarm.domain.value import Value

MOST_ORDERS = 120
"""How many orders of a few volumes are tried if the usual ones do not give the lowest price."""
MOST_RATES_TRIED = 50
"""For up to this many volumes, every rate is tried as the lowest."""


RATES = range(MIN_RATE_MIB_S, MAX_RATE_MIB_S + 1)


def seconds_by_rate(facts: VolumeFacts) -> tuple[float, ...]:
    """P90 of full speed in seconds with each of RATES, for a volume that does not wait."""
    return tuple(map(rate_p90(facts), RATES))


class RateJob(Value):
    """A volume that is to be loaded at a rate, and until when it must be ready."""

    data_bytes: int
    limit_seconds: float
    seconds: tuple[float, ...]
    """As `seconds_by_rate` gives it."""
    lag_seconds: float = 0.0
    """P90 from the end of loading until EC2 says so; the rate is free by then."""

    def least_rate(self, waited_seconds: float) -> int:
        """The lowest rate, in MiB/s, that is in time after the wait; above MAX_RATE_MIB_S where none is."""
        left = self.limit_seconds - waited_seconds
        return MIN_RATE_MIB_S + bisect_left(self.seconds, -left, key=neg)

    def ready_p90(self, rate_mib_s: int) -> float:
        """P90 of full speed at this rate, in seconds from its beginning."""
        return self.seconds[rate_mib_s - MIN_RATE_MIB_S]

    def held_seconds(self, rate_mib_s: int) -> float:
        """P90 of the time for which it holds the rate."""
        return self.ready_p90(rate_mib_s) - self.lag_seconds


class Turn(Value):
    """When a volume is created, in seconds from now, and its rate."""

    start_seconds: float
    rate_mib_s: int


def turns(jobs: Sequence[RateJob], quota_mib_s: int) -> list[Turn] | None:
    """When each of the volumes begins and at which rate; None if no order was found that is in time.

    The result has the order of the jobs. Takes the order and rates with the lowest sum of data x rate of
    those tried. They have the lowest price, because the price is per GiB and MiB/s.
    """
    needed = [job.least_rate(0.0) for job in jobs]
    if never_fit(jobs, quota_mib_s):
        return None
    if sum(needed) <= quota_mib_s:
        return [Turn(0.0, rate) for rate in needed]
    best: _Turns | None = None
    too_low = MIN_RATE_MIB_S - 1
    for floor in _floors(quota_mib_s):
        if best is not None and _weight(jobs, [Turn(0.0, max(floor, rate)) for rate in needed]) >= best[0]:
            break
        found = _with_floor(jobs, quota_mib_s, floor)
        if found is not None:
            best = min(found, best or found, _between(jobs, quota_mib_s, too_low, floor) or found, key=_first)
        too_low = floor
    if best is None:
        return None
    return best[1] if len(jobs) > MOST_RATES_TRIED else _with_any_floor(jobs, quota_mib_s, best)[1]


_Turns = tuple[int, list[Turn], Sequence[int]]
"""Data x rate of all, when each begins, and their order."""


def _first(found: _Turns) -> int:
    return found[0]


def _between(jobs: Sequence[RateJob], quota_mib_s: int, too_low: int, floor: int) -> _Turns | None:
    """The turns with the lowest floor between these rates that is in time, found by bisection."""
    best = None
    while floor - too_low > 1:
        middle = (too_low + floor) // 2
        found = _with_floor(jobs, quota_mib_s, middle)
        if found is None:
            too_low = middle
        else:
            best = found
            floor = middle
    return best


def _with_any_floor(jobs: Sequence[RateJob], quota_mib_s: int, best: _Turns) -> _Turns:
    """The best in the same order: a higher rate for the first may save a much higher one for the last."""
    order = best[2]
    for floor in RATES:
        taken = _in_order(jobs, order, quota_mib_s, floor)
        if taken is not None:
            best = min(best, (_weight(jobs, taken), taken, order), key=_first)
    return best


def _with_floor(jobs: Sequence[RateJob], quota_mib_s: int, floor: int) -> _Turns | None:
    """The cheapest order in which no volume has less than this rate."""
    best: _Turns | None = None
    for order in _orders(jobs, quota_mib_s // floor):
        taken = _in_order(jobs, order, quota_mib_s, floor)
        if taken is not None:
            found = (_weight(jobs, taken), taken, order)
            best = min(best or found, found, key=_first)
            if all(turn.rate_mib_s == job.least_rate(0.0) for job, turn in zip(jobs, taken, strict=True)):
                break
    return best


def never_fit(jobs: Sequence[RateJob], quota_mib_s: int) -> bool:
    """Whether it is certain that no order and no rates are in time."""
    most = min(MAX_RATE_MIB_S, quota_mib_s)
    return any(job.least_rate(0.0) > most for job in jobs) or not _could_fit(jobs, quota_mib_s)


def _could_fit(jobs: Sequence[RateJob], quota_mib_s: int) -> bool:
    """Whether what the volumes hold at least, in MiB/s x seconds, is there before the last limit."""
    if not jobs:
        return True
    held = math.fsum(MIN_RATE_MIB_S * job.held_seconds(MIN_RATE_MIB_S) for job in jobs)
    return held <= quota_mib_s * max(job.limit_seconds for job in jobs)


def _weight(jobs: Iterable[RateJob], taken: Iterable[Turn]) -> int:
    return sum(job.data_bytes * turn.rate_mib_s for job, turn in zip(jobs, taken, strict=True))


def _floors(quota_mib_s: int) -> list[int]:
    """Rates with which a whole number of volumes fills the quota: a faster batch frees it earlier."""
    counts = range(math.ceil(quota_mib_s / MAX_RATE_MIB_S), quota_mib_s // MIN_RATE_MIB_S + 1)
    return sorted({MIN_RATE_MIB_S, MAX_RATE_MIB_S, *(quota_mib_s // count for count in counts if count)})


def _orders(jobs: Sequence[RateJob], at_once: int) -> Iterator[Sequence[int]]:
    """Packed, so that the last begins early; shortest, most urgent, longest first; of a few every order.

    Packed: the longest that fit at once come last, as nobody waits for them. Each part has its longest first.
    """
    places = range(len(jobs))
    at_least = [job.ready_p90(MIN_RATE_MIB_S) for job in jobs]
    longest_first = sorted(places, key=lambda place: -at_least[place])
    yield [*longest_first[at_once:], *longest_first[:at_once]]
    yield sorted(places, key=lambda place: at_least[place])
    yield sorted(places, key=lambda place: jobs[place].limit_seconds - at_least[place])
    yield longest_first
    if len(jobs) <= 6:
        yield from islice(permutations(places), MOST_ORDERS)


def _in_order(
    jobs: Sequence[RateJob], order: Sequence[int], quota_mib_s: int, floor_mib_s: int
) -> list[Turn] | None:
    """Each as soon as its rate is free; None where a volume comes too late."""
    taken: dict[int, Turn] = {}
    running: list[tuple[float, int]] = []
    now = 0.0
    free = quota_mib_s
    for place in order:
        job = jobs[place]
        while True:
            rate = max(floor_mib_s, job.least_rate(now))
            if rate > MAX_RATE_MIB_S or (rate > free and not running):
                return None
            if rate <= free:
                break
            now, freed = heapq.heappop(running)
            free += freed
        taken[place] = Turn(now, rate)
        heapq.heappush(running, (now + job.held_seconds(rate), rate))
        free -= rate
    return [taken[place] for place in range(len(jobs))]


def expected_starts(taken: Sequence[Turn], held_p50: Sequence[float], quota_mib_s: int) -> list[float]:
    """When each begins, in seconds, if every one holds its rate as long as expected: in the same order."""
    found = [turn.start_seconds for turn in taken]
    running: list[tuple[float, int]] = []
    now = 0.0
    free = quota_mib_s
    for place in sorted(range(len(taken)), key=found.__getitem__):
        rate = taken[place].rate_mib_s
        while rate > free:
            now, freed = heapq.heappop(running)
            free += freed
        found[place] = now
        heapq.heappush(running, (now + held_p50[place], rate))
        free -= rate
    return found
