"""What no mix can undercut, and what room on an instance and each quota are worth.

Lagrangian relaxation: a price replaces the limit of what is scarce. That is an instance's throughput, the
Region's rate, and its number of snapshots with fast snapshot restore. Then each snapshot can be solved alone
and exactly, and the sum is no more than the price of any mix. Subgradient steps with Polyak's length raise it
(Held, Wolfe, Crowder 1974; Fisher 1981). A step takes O(n log n).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from rewarm.domain.plan.many.priced import Model, Place

_Worth = tuple[float, float, float]
_Row = tuple[float, float, str, tuple[tuple[float, float], ...], tuple[tuple[float, float], ...]]

MOST_STEPS, LEAST_STEPS, STEPS_FOR_ALL, PATIENCE = 150, 15, 30_000, 8
"""Steps in all, fewer where there are many volumes; and those without a better bound after which they become
half as long."""
MOST_SUMS = 1 << 18
"""Sums of an instance's loads are looked at, if there are no more than these."""
NEARLY_EXACT = 1e-9
NEARLY = 1e-4
"""Relative; so near to a known mix, the bound is not raised any more."""


@dataclass(slots=True)
class DualPrices:
    """US dollars for what is scarce."""

    mib: dict[str, float] = field(default_factory=dict)
    """For each MiB through an instance."""
    rate: float = 0.0
    """For each MiB/s of rate in each second."""
    enabled: float = 0.0
    """For each snapshot that gets fast snapshot restore in a zone."""


@dataclass(slots=True)
class Relaxed:
    """The best mix if all that is scarce has a price instead of a limit."""

    usd: float = 0.0
    open: set[str] = field(default_factory=set)
    """Snapshots whose blocks are fetched."""
    fast: dict[Place, list[int]] = field(default_factory=dict)
    mib: dict[str, float] = field(default_factory=dict)
    held: float = 0.0
    enabled: int = 0


class Dual:
    """The relaxation of one model."""

    def __init__(
        self,
        model: Model,
        room_for_rate: float | None,
        most_enabled: int | None,
        *,
        first: DualPrices | None = None,
        is_brief: bool = False,
    ) -> None:
        self._model = model
        self._prices_at_first = first
        self._is_brief = is_brief
        self._room_for_rate = room_for_rate
        self._most_enabled = most_enabled
        self._room = dict(_rooms(model))
        self._instance_of = {index: name for name in self._room for index in model.instances[name]}
        self._place_of = {index: place for place, members in model.places.items() for index in members}
        volumes = model.mixes.volumes
        self.running = {
            place for place, members in model.places.items() if volumes[members[0]].facts.fast_restore_runs
        }
        self._rows = {index: self._row(index) for index in model.indices}
        self.prices = DualPrices()
        self.bound = 0.0
        self.seen: list[Relaxed] = []

    def raised(self, known_usd: float) -> None:
        """Raise the bound, towards the price of a known mix."""
        prices = self._prices_at_first or self._first()
        length = 1.0
        patience = 0
        for _ in range(self._most_steps()):
            found = self.relaxed(prices)
            if found.usd > self.bound or not self.seen:
                self.bound = max(self.bound, found.usd)
                self.prices = prices
                patience = 0
                self.seen.append(found)
            else:
                patience += 1
            if patience == PATIENCE:
                length = length / 2
                patience = 0
                prices = self.prices
                found = self.relaxed(prices)
            over = {name: found.mib.get(name, 0.0) - room for name, room in self._room.items()}
            over_held = 0.0 if self._room_for_rate is None else found.held - self._room_for_rate
            over_enabled = 0.0 if self._most_enabled is None else found.enabled - self._most_enabled
            stepped = self._stepped(prices, over, over_held, over_enabled, length * (known_usd - found.usd))
            if stepped is None or self.bound >= known_usd * (1 - NEARLY) or length < 1e-3:
                return
            prices = stepped

    def _most_steps(self) -> int:
        if self._is_brief:
            return LEAST_STEPS
        return max(LEAST_STEPS, min(MOST_STEPS, STEPS_FOR_ALL // len(self._model.indices)))

    def _row(self, index: int) -> _Row:
        model = self._model
        closed, opened = (
            tuple((task.usd, task.mib) for task in model.tasks(index, is_open=is_open))
            for is_open in (False, True)
        )
        name = self._instance_of.get(index, "")
        return model.otherwise[index], model.held.get(index, 0.0), name, closed, opened

    def _first(self) -> DualPrices:
        """What the last volume that fits saves by each MiB, if nothing but instances were scarce."""
        model = self._model
        found = DualPrices()
        for name, room in self._room.items():
            tasks = [task for index in model.instances[name] for task in model.tasks(index, is_open=False)]
            values = {task.index: (model.otherwise[task.index] - task.usd) / task.mib for task in tasks}
            left = room
            for task in sorted(tasks, key=lambda task: -values[task.index]):
                left -= task.mib
                if left < 0:
                    found.mib[name] = max(0.0, values[task.index])
                    break
        return found

    def guided(self, strength: float) -> DualPrices:
        """The prices, at least `strength` of all volumes' price for an instance too small for its volumes."""
        usd = sum(self._model.otherwise.values())
        mib = {
            name: max(self.prices.mib.get(name, 0.0), strength * usd / room)
            for name, room in self._room.items()
        }
        return replace(self.prices, mib=mib)

    def _stepped(
        self, prices: DualPrices, over: dict[str, float], over_held: float, over_enabled: float, gap: float
    ) -> DualPrices | None:
        """Each price goes up where more is wanted than there is; scales make the three comparable."""
        scaled = {
            name: much / self._room[name]
            for name, much in over.items()
            if much > 0 or prices.mib.get(name, 0.0) > 0
        }
        held = over_held / (self._room_for_rate or 1.0) if over_held > 0 or prices.rate > 0 else 0.0
        enabled = over_enabled / max(1, self._most_enabled or 0)
        enabled = enabled if over_enabled > 0 or prices.enabled > 0 else 0.0
        square = sum(much * much for much in scaled.values()) + held * held + enabled * enabled
        if square <= 0 or gap <= 0:
            return None
        step = gap / square
        return DualPrices(
            prices.mib
            | {
                name: max(0.0, prices.mib.get(name, 0.0) + step * much / self._room[name])
                for name, much in scaled.items()
            },
            max(0.0, prices.rate + step * held / (self._room_for_rate or 1.0)),
            max(0.0, prices.enabled + step * enabled / max(1, self._most_enabled or 0)),
        )

    def relaxed(self, prices: DualPrices) -> Relaxed:
        """Each snapshot alone: with its blocks or without, and with fast snapshot restore or without."""
        found = Relaxed()
        for name, members in self._model.snapshots.items():
            best = self._snapshot(members, prices, is_open=False)
            if best[0] > self._model.blocks_usd.get(name, math.inf):
                usd, fast, worths = self._snapshot(members, prices, is_open=True)
                usd += self._model.blocks_usd[name]
                if usd < best[0]:
                    best = (usd, fast, worths)
                    found.open.add(name)
            found.usd += best[0]
            self._count(found, members, best[1], best[2])
        found.usd -= sum(price * self._room[name] for name, price in prices.mib.items())
        found.usd -= prices.rate * (self._room_for_rate or 0.0)
        found.usd -= prices.enabled * (self._most_enabled or 0)
        return found

    def worth(self, index: int, prices: DualPrices, *, is_open: bool) -> _Worth:
        """The least price of a volume without fast snapshot restore; what it takes of instance and rate."""
        otherwise, held, name, closed, opened = self._rows[index]
        best = (otherwise + prices.rate * held, 0.0, held)
        for alone_usd, mib in opened if is_open else closed:
            usd = alone_usd + (prices.mib.get(name, 0.0) * mib if name else 0.0)
            if usd < best[0]:
                best = (usd, mib, 0.0)
        return best

    def snapshots_by_worth(self, prices: DualPrices) -> list[str]:
        """Snapshots with something that is paid once, the dearest volumes at these prices first."""
        model = self._model
        worth = {
            name: sum(self.worth(index, prices, is_open=False)[0] for index in members)
            for name, members in model.snapshots.items()
            if any(index in model.most_fast or index in model.write for index in members)
        }
        return sorted(worth, key=lambda name: (-worth[name], name))

    def _snapshot(
        self, members: Sequence[int], prices: DualPrices, *, is_open: bool
    ) -> tuple[float, dict[Place, list[int]], list[_Worth]]:
        worths = [self.worth(index, prices, is_open=is_open) for index in members]
        total = sum(worth[0] for worth in worths)
        able: dict[Place, list[tuple[float, int]]] = {}
        for index, worth in zip(members, worths, strict=True):
            if worth[0] > 0 and index in self._place_of:
                able.setdefault(self._place_of[index], []).append((worth[0], index))
        fast = {}
        for place, found in able.items():
            found.sort(reverse=True)
            saved, best, count_of_best = 0.0, 0.0, 0
            enabled = 0.0 if place in self.running else prices.enabled
            for count, price in enumerate(self._model.fast_usd[place][: len(found)], start=1):
                saved += found[count - 1][0]
                if saved - price - enabled > best:
                    best = saved - price - enabled
                    count_of_best = count
            if count_of_best:
                total -= best
                fast[place] = [index for _, index in found[:count_of_best]]
        return total, fast, worths

    def _count(
        self,
        found: Relaxed,
        members: Iterable[int],
        fast: dict[Place, list[int]],
        worths: Iterable[_Worth],
    ) -> None:
        """What they take of all that is scarce."""
        served = set()
        for place, indices in fast.items():
            found.fast[place] = indices
            found.enabled += place not in self.running
            served.update(indices)
        for index, (_, mib, held) in zip(members, worths, strict=True):
            if index not in served:
                found.held += held
                name = self._rows[index][2]
                if mib and name:
                    found.mib[name] = found.mib.get(name, 0.0) + mib


def _rooms(model: Model) -> Iterable[tuple[str, float]]:
    """MiB that an instance can move before its last limit, where that is less than what is wanted."""
    for name, members in model.instances.items():
        tasks = [task for index in members for task in model.tasks(index, is_open=True)]
        room = max(task.slack_seconds for task in tasks) * min(task.instance_mib_s for task in tasks)
        if sum(task.mib for task in tasks) > room:
            yield name, _reachable([task.mib for task in tasks], room)


def _reachable(sizes: Iterable[float], room: float) -> float:
    """The most that some of these sizes can add up to within the room.

    The sums are the bits of a number (Bellman's recursion), in units of which all sizes are multiples.
    """
    halves = [round(2 * mib) for mib in sizes]  # a block has half a MiB
    unit = math.gcd(*halves)
    most = int(2 * room * (1 + NEARLY_EXACT)) // unit
    if most > MOST_SUMS:
        return most * unit / 2
    sums = 1
    for size in halves:
        sums |= sums << (size // unit)
        sums &= (2 << most) - 1
    return (sums.bit_length() - 1) * unit / 2
