"""Which volumes the agents of one instance read or write, so that the others cost least.

This is a knapsack: the weight of a volume is what goes through the instance, its value what it would cost
otherwise. The instance gives each volume an even share, so each has a time of its own. The search goes depth
first through kinds of equal volumes, the most valuable per byte first. It leaves out what the fractional
knapsack rules out (Dantzig 1957; Kellerer, Pferschy, Pisinger, "Knapsack Problems", 2004).
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from rewarm.domain.plan.mixes import SharedResource

NEARLY = 1e-9
"""Relative; so near to a limit, the estimates themselves decide."""
TOLERANCE = 2e-4
"""A search ends once its price is so near to the least possible one."""


@dataclass(frozen=True, slots=True)
class Task:
    """What an agent does for one volume."""

    index: int
    resource: SharedResource
    mib: float
    slack_seconds: float
    """What the limit leaves for reading or writing."""
    own_mib_s: float
    """The most that the volume takes, with the highest boost that it may have."""
    instance_mib_s: float
    usd: float
    """As if it were alone."""
    is_uneven: bool = False
    """Its own rate is lower while the instance gives it little, so the estimates decide."""

    @property
    def likeness(self) -> tuple[float, ...]:
        """Equal for volumes that can stand for each other when one is taken."""
        return (self.resource, self.mib, self.slack_seconds, self.own_mib_s, self.instance_mib_s, self.usd)


Chosen = dict[int, SharedResource]


def fits(tasks: Sequence[Task]) -> bool | None:
    """Whether all are in time beside each other; None where that is too near to say. O(n log n).

    A volume with the load l has at least its share until it has m of it, and then its own rate r or more. So
    it ends at the maximum, over all m up to l, of F(m) / B + (l - m) / r. F(m) is what all volumes have had
    by then, B the rate of the instance. F is concave: the maximum is where B / r volumes are left.
    """
    instance = min((task.instance_mib_s for task in tasks), default=math.inf)
    if math.isinf(instance):
        return True
    loads = sorted(task.mib for task in tasks)
    sums = [0.0, *accumulate(loads)]
    count = len(loads)
    near = False
    for task in tasks:
        own = task.own_mib_s
        mib = task.mib
        left = count - 1 - int(instance / own)
        level = min(mib, loads[left]) if left >= 0 else 0.0
        place = bisect_right(loads, level)
        shared = sums[place] + level * (count - place)
        seconds = shared / instance + (mib - level) / own
        if seconds > task.slack_seconds * (1 + NEARLY):
            return False
        near = near or task.is_uneven or seconds > task.slack_seconds * (1 - NEARLY)
    return None if near else True


@dataclass(slots=True)
class _Kind:
    """Equal volumes that could take the same task; `pool` is shared with their other task."""

    pool: int
    tasks: list[Task]
    value: float
    """What one saves."""


class Knapsack:
    """The tasks of one instance; `exactly` decides what is too near to say."""

    def __init__(self, exactly: Callable[[Chosen], bool], most_steps: int) -> None:
        self._exactly = exactly
        self._most_steps = most_steps

    def filled(self, tasks: Iterable[Sequence[Task]], otherwise: dict[int, float]) -> list[Task]:
        """Each volume has some tasks, and at most one is taken; `otherwise` is its price without one."""
        pools: dict[tuple[object, ...], list[Sequence[Task]]] = {}
        for able in tasks:
            price = otherwise[able[0].index]
            pools.setdefault((price, *(task.likeness for task in able)), []).append(able)
        kinds = [
            _Kind(pool, [able[place] for able in members], value)
            for pool, ((price, *_), members) in enumerate(pools.items())
            for place in range(len(members[0]))
            if isinstance(price, float) and (value := price - members[0][place].usd) > 0
        ]
        kinds.sort(key=lambda kind: (-kind.value / max(1.0, kind.tasks[0].mib), -kind.tasks[0].mib))
        search = _Filling(kinds, [len(members) for members in pools.values()], self._fits, self._most_steps)
        return search.best(sum(otherwise.values()))

    def _fits(self, tasks: Sequence[Task]) -> bool:
        clear = fits(tasks)
        return self._exactly({task.index: task.resource for task in tasks}) if clear is None else clear


class _Filling:
    """Depth first, from as many of each kind as fit down to none."""

    def __init__(
        self, kinds: list[_Kind], left: list[int], fit: Callable[[Sequence[Task]], bool], most_steps: int
    ) -> None:
        self._kinds = kinds
        self._left = left
        self._fit = fit
        self._steps = most_steps
        several = Counter(kind.pool for kind in kinds)
        self._has_two = [several[pool] > 1 for pool in range(len(left))]
        tasks = [kind.tasks[0] for kind in kinds]
        latest = max((task.slack_seconds for task in tasks), default=0.0)
        self._room = latest * min((task.instance_mib_s for task in tasks), default=math.inf)
        self._best: tuple[float, list[Task]] = (0.0, [])
        self._enough = math.inf

    def best(self, otherwise_usd: float) -> list[Task]:
        """The tasks that save most, of those that were looked at."""
        most = self._most(0, self._room)
        self._enough = most - TOLERANCE * max(0.0, otherwise_usd - most)
        self._look(0, [], 0.0, 0.0)
        return self._best[1]

    def _most(self, place: int, room: float) -> float:
        """What the kinds from here on can save at most: the last one that fits counts in part."""
        value = 0.0
        for kind in self._kinds[place:]:
            mib = kind.tasks[0].mib
            count = self._left[kind.pool]
            if mib * count > room:
                return value + kind.value * room / mib
            value += kind.value * count
            room -= mib * count
        return value

    def _look(self, place: int, taken: list[Task], value: float, used: float) -> None:
        self._steps -= 1
        if value > self._best[0]:
            self._best = (value, list(taken))
        if place == len(self._kinds) or self._is_over():
            return
        kind = self._kinds[place]
        mib = kind.tasks[0].mib
        pool = kind.pool
        # The tasks of a pool have the same order, so those at its end are still free.
        free = kind.tasks[len(kind.tasks) - self._left[pool] :]
        count = self._most_of(free, taken)
        while count >= 0 and not self._is_over():
            own = value + count * kind.value
            self._left[pool] -= count
            if own + self._most(place + 1, self._room - used - count * mib) > self._best[0] * (1 + NEARLY):
                self._look(place + 1, [*taken, *free[:count]], own, used + count * mib)
                count -= 1
                self._left[pool] += count + 1
            else:
                self._left[pool] += count
                if not self._has_two[pool]:
                    return  # with fewer of these, the rest saves even less
                count -= 1

    def _is_over(self) -> bool:
        return self._steps <= 0 or self._best[0] >= self._enough

    def _most_of(self, free: Sequence[Task], taken: Sequence[Task]) -> int:
        """How many of these fit beside those, by halves."""
        most = len(free)
        if not most or self._fit([*taken, *free]):
            return most
        least = 0
        while most - least > 1:
            middle = (least + most) // 2
            if self._fit([*taken, *free[:middle]]):
                least = middle
            else:
                most = middle
        return least
