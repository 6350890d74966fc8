"""The cheapest mix of strategies for the volumes of a restore, each within its own limit of time.

Volumes share: what reads on an instance shares its EBS throughput; volumes of a snapshot in a zone share the
price and the credits of fast snapshot restore; all share the Region's quotas of fast snapshot restores and of
initialization rate. A search tries who takes what. Volumes that share nothing are searched apart.

A few volumes are searched exhaustively. Of many, a good mix is sought, and a bound says how much cheaper any
other mix could be at most. No solver is called: this search finds what one finds (tests compare it with
OR-Tools), and a solver's libraries would triple what a function loads.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import accumulate
from operator import itemgetter

from rewarm.domain.model import MIB
from rewarm.domain.plan import cost
from rewarm.domain.plan.estimates import Estimate
from rewarm.domain.plan.mixes import BUSY, ZERO, Mix, Mixes, PricedVolume, Road, Roads, SharedQuotas, Ways

MOST_SEARCHED = 8
"""So many volumes that share something are searched exhaustively."""
MOST_STEPS = 4_000
STEPS_FOR_ALL, LEAST_STEPS = 100_000, 30
"""A search ends after so many steps, with the best that it has seen; many groups have fewer each."""
PENALTIES = (0.5, 2.0)
"""Of the quota of rate, where it does not suffice: times the price of a rate."""
WITHOUT_A_ROAD_USD = Decimal(1_000_000)
"""Stands for a volume that has no road yet, so that it is served first."""


def sharing(ways: Sequence[Ways]) -> list[list[int]]:
    """Places of volumes that could share an instance or a snapshot, directly or through others."""
    return _groups(ways, [way.solo(math.inf) for way in ways])


def _groups(ways: Sequence[Ways], roads: Sequence[Mapping[Road, Estimate]]) -> list[list[int]]:
    """By the roads that each volume could take."""
    parent = list(range(len(ways)))

    def root(place: int) -> int:
        while parent[place] != place:
            parent[place] = parent[parent[place]]
            place = parent[place]
        return place

    first: dict[object, int] = {}
    for place, (way, able) in enumerate(zip(ways, roads, strict=True)):
        shared: list[object] = []
        if BUSY & able.keys() and way.facts.instance_id is not None:
            shared.append(way.facts.instance_id)
        if Road.FAST in able:
            shared.append(way.facts.place)
        if Road.WRITE in able:
            shared.append(("blocks", way.facts.snapshot_id))
        for key in shared:
            parent[root(place)] = root(first.setdefault(key, place))
    found: dict[int, list[int]] = {}
    for place in range(len(ways)):
        found.setdefault(root(place), []).append(place)
    return list(found.values())


def cheapest(ways: Sequence[Ways], limits: Sequence[float], quotas: SharedQuotas) -> Mix | None:
    """The cheapest mix that was found with each volume within its limit; None where none was found."""
    snapshots = Counter(way.facts.snapshot_id for way in ways)
    volumes = [
        PricedVolume(way, limit, snapshots[way.facts.snapshot_id] > 1)
        for way, limit in zip(ways, limits, strict=True)
    ]
    if not all(volume.solo for volume in volumes):
        return None
    groups = _groups([volume.ways for volume in volumes], [volume.solo for volume in volumes])
    mixes = Mixes(volumes, quotas)
    search = _Search(mixes, groups)
    apart = [search.group(group) for group in groups]
    if any(found is None for found in apart):
        return None
    roads = {index: road for found in apart if found for index, road in found[0].items()}
    least = sum((found[1] for found in apart if found), ZERO)
    mix = mixes.mix(roads, least)
    if mix is not None and mix.usd == mixes.apart_usd(roads):
        return mix
    together = search.together(least)
    return min((one for one in (mix, together) if one), key=lambda one: (one.usd, one.seconds), default=None)


class _Search:
    """Volumes that share something are searched together, the others apart."""

    def __init__(self, mixes: Mixes, groups: Sequence[Sequence[int]]) -> None:
        self._mixes = mixes
        self._groups = groups
        self._seeker = _Seeker(mixes)
        self._most_steps = MOST_STEPS
        if len(mixes.volumes) > MOST_SEARCHED:
            self._most_steps = min(MOST_STEPS, max(LEAST_STEPS, STEPS_FOR_ALL // len(groups)))

    def group(self, indices: Sequence[int]) -> tuple[Roads, Decimal] | None:
        """Roads of volumes that share something, and what none can undercut; quotas of the Region aside."""
        start = self._seeker.sought(indices, frozenset(), 0.0)
        least = self._seeker.bound(indices)
        usd = None if start is None else self._mixes.apart_usd(start)
        if start is not None and usd is not None and usd <= least and len(indices) > MOST_SEARCHED:
            return start, usd
        if len(indices) > 3 * MOST_SEARCHED:
            return None if start is None else (start, least)
        found = _Exhaustive(self._mixes, indices, self._mixes.apart_key, self._most_steps).best(start)
        if found is None:
            return None
        roads, proven = found
        return roads, least if proven is None else proven

    def together(self, least_usd: Decimal) -> Mix | None:
        """With the Region's quotas in mind: all volumes at once if they are few, else by dearer quotas."""
        everyone = range(len(self._mixes.volumes))
        if len(self._mixes.volumes) <= MOST_SEARCHED:
            found = _Exhaustive(self._mixes, everyone, self._mixes.whole_key, self._most_steps).best(None)
            if found is None:
                return None
            roads, least = found
            return self._mixes.mix(roads, least_usd if least is None else least)
        closed = self._closed()
        mixes = [
            mix
            for penalty in PENALTIES
            if (taken := self._sought_by_groups(closed, penalty)) is not None
            and (mix := self._mixes.mix(taken, least_usd)) is not None
        ]
        return min(mixes, key=lambda mix: (mix.usd, mix.seconds), default=None)

    def _sought_by_groups(self, closed: frozenset[tuple[str, str]], penalty: float) -> Roads | None:
        found = [self._seeker.sought(group, closed, penalty) for group in self._groups]
        if any(roads is None for roads in found):
            return None
        return {index: road for roads in found if roads for index, road in roads.items()}

    def _closed(self) -> frozenset[tuple[str, str]]:
        """Snapshots that get no fast snapshot restore, since the quota is for those that save most by it."""
        saved: Counter[tuple[str, str]] = Counter()
        for volume in self._mixes.volumes:
            if Road.FAST in volume.solo and not volume.facts.fast_restore_runs:
                saved[volume.facts.place] += int(1_000_000 * (volume.otherwise_usd or 1_000))
        return frozenset(
            place for place, _ in saved.most_common()[max(0, self._mixes.quotas.fast_restores) :]
        )


class _Exhaustive:
    """Every mix of a few volumes, but those that cannot become better than the best so far."""

    def __init__(
        self,
        mixes: Mixes,
        indices: Sequence[int],
        key: Callable[[Mapping[int, Road]], tuple[Decimal, float, float] | None],
        most_steps: int,
    ) -> None:
        self._mixes = mixes
        self._key = key
        volumes = mixes.volumes
        self._order = sorted(
            indices, key=lambda index: (-volumes[index].facts.data_bytes, repr(volumes[index].facts))
        )
        self._ahead = [ZERO] * (len(self._order) + 1)
        for place in range(len(self._order) - 1, -1, -1):
            self._ahead[place] = self._ahead[place + 1] + volumes[self._order[place]].least_usd
        self._steps = 0
        self._most_steps = most_steps
        self._best: tuple[tuple[Decimal, float, float], Roads] | None = None
        self._least_usd = Decimal("Infinity")

    def best(self, start: Roads | None) -> tuple[Roads, Decimal | None] | None:
        """The best mix and what none undercuts, which is None where not all were looked at."""
        key = self._key(start) if start is not None else None
        if start is not None and key is not None:
            self._best = key, dict(start)
        self._look(0, {}, ZERO)
        if self._best is None:
            return None
        least_usd = min(self._least_usd, self._best[0][0])
        return self._best[1], least_usd if self._steps <= self._most_steps else None

    def _look(self, place: int, roads: Roads, own_usd: Decimal) -> None:
        self._steps += 1
        if self._steps > self._most_steps:
            return
        shared = self._mixes.apart_usd({i: r for i, r in roads.items() if r in {Road.FAST, *BUSY}})
        if shared is None:
            return
        if self._best is not None and own_usd + shared + self._ahead[place] > self._best[0][0]:
            return
        if place == len(self._order):
            key = self._key(roads)
            if self._mixes.may_fit(roads):
                self._least_usd = min(self._least_usd, own_usd + shared)
            if key is not None and (self._best is None or key < self._best[0]):
                self._best = key, dict(roads)
            return
        index = self._order[place]
        volume = self._mixes.volumes[index]
        for road in self._roads(place, roads):
            own = volume.solo[road].decidable_usd if road in {Road.ALONE, Road.RATE} else ZERO
            self._look(place + 1, {**roads, index: road}, own_usd + own)

    def _roads(self, place: int, roads: Roads) -> list[Road]:
        """Of alike volumes, a later one takes no earlier road: the same mix would be looked at again."""
        volume = self._mixes.volumes[self._order[place]]
        found = sorted(volume.solo)
        if place:
            before = self._order[place - 1]
            other = self._mixes.volumes[before]
            if other.ways is volume.ways and other.limit == volume.limit:
                found = [road for road in found if road >= roads[before]]
        return found


class _Seeker:
    """Seeks a good mix of many volumes, and a bound on the price of any.

    Gives each instance what saves most by it, and each snapshot the volumes that pay for it.
    """

    def __init__(self, mixes: Mixes) -> None:
        self._mixes = mixes
        self._volumes = mixes.volumes
        self._known_readers: dict[tuple[object, ...], list[int]] = {}

    def sought(
        self, indices: Iterable[int], closed: frozenset[tuple[str, str]], penalty: float
    ) -> Roads | None:
        """A good mix: each instance reads what saves most, fast snapshot restore serves what pays for it."""
        indices = list(indices)
        fast: Roads = {}
        roads = self._read(indices, fast, penalty)
        seconds = {index: one.times.ready_p90 for index, one in self._mixes.apart(roads).items()}
        for members in self._eligible(indices, closed).values():
            taken = self._served(members, roads, seconds, penalty)
            if taken:
                fast.update(dict.fromkeys(taken, Road.FAST))
                roads = self._read(indices, fast, penalty)
        roads = self._written(indices, roads)
        return roads if len(roads) == len(indices) else None

    def _written(self, indices: Sequence[int], roads: Roads) -> Roads:
        """With the volumes of a snapshot written where they have no road, or where that is cheaper."""
        able = self._able_to_write(indices)
        paid = self._paid_now(roads) if able else {}
        for members in able.values():
            for wanted in (
                [index for index in members if index not in roads],
                [index for index in members if paid.get(index, WITHOUT_A_ROAD_USD)],
            ):
                saved = sum((paid.get(index, WITHOUT_A_ROAD_USD) for index in wanted), ZERO)
                if saved <= self._volumes[members[0]].solo[Road.WRITE].decidable_usd:
                    continue
                tried = {**roads, **dict.fromkeys(wanted, Road.WRITE)}
                found, now = self._mixes.apart_usd(tried), self._mixes.apart_usd(roads)
                if found is not None and (len(tried) > len(roads) or now is None or found < now):
                    roads, paid = tried, self._paid_now(tried)
        return roads

    def _paid_now(self, roads: Roads) -> dict[int, Decimal]:
        """Of volumes that are in time; a volume that leaves fast snapshot restore saves nothing."""
        return {
            index: ZERO if roads[index] is Road.FAST else one.decidable_usd
            for index, one in self._mixes.apart(roads).items()
        }

    def _able_to_write(self, indices: Iterable[int]) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for index in indices:
            if Road.WRITE in self._volumes[index].solo:
                found.setdefault(self._volumes[index].facts.snapshot_id, []).append(index)
        return found

    def bound(self, indices: Sequence[int]) -> Decimal:
        """No mix of these volumes costs less: their price without instances and fast snapshot restore, less
        the most that each instance and each snapshot can save by itself.
        """
        otherwise = {index: self._volumes[index].otherwise_usd or ZERO for index in indices}
        total = sum(otherwise.values(), ZERO)
        able_to_read = {index: Road.AGENT for index in indices if Road.AGENT in self._volumes[index].solo}
        for able in self._mixes.readers(able_to_read).values():
            total -= self._most_saved(able, otherwise)
        for members in self._eligible(indices, frozenset()).values():
            first = self._volumes[members[0]]
            price = ZERO if first.facts.fast_restore_runs else first.ways.book.fsr_usd_per_hour
            total -= max(ZERO, sum((otherwise[index] for index in members), ZERO) - price)
        for members in self._able_to_write(indices).values():
            first = self._volumes[members[0]]
            price = cost.total(cost.blocks(first.facts.written_blocks, first.ways.book))
            total -= max(ZERO, sum((otherwise[index] for index in members), ZERO) - price)
        return max(ZERO, total)

    def _eligible(
        self, indices: Iterable[int], closed: frozenset[tuple[str, str]]
    ) -> dict[tuple[str, str], list[int]]:
        found: dict[tuple[str, str], list[int]] = {}
        for index in indices:
            volume = self._volumes[index]
            if Road.FAST in volume.solo and volume.facts.place not in closed:
                found.setdefault(volume.facts.place, []).append(index)
        return found

    def _served(
        self, members: Sequence[int], roads: Roads, seconds: Mapping[int, float], penalty: float
    ) -> list[int]:
        """The volumes of a snapshot for which its fast snapshot restore is worth its price, or earlier at
        the same price.
        """
        now_usd = {index: self._paid(index, roads.get(index), penalty) for index in members}
        ordered = sorted(members, key=lambda index: (-now_usd[index], self._volumes[index].facts.read_bytes))
        saved = [ZERO, *accumulate(now_usd[index] for index in ordered)]
        ready = [0.0, *accumulate(seconds.get(index, 0.0) for index in ordered)]
        best: tuple[Decimal, float, int] = (ZERO, 0.0, 0)
        for count in _counts(len(ordered)):
            price = self._mixes.members_usd(ordered[:count])
            if price is None:
                break  # the credits come too late, and later still for more
            served = self._volumes[ordered[0]].ways.fast(count)
            earlier = ready[count] - count * (served.times.ready_p90 if served else 0.0)
            best = max(best, (saved[count] - price, earlier, count), key=itemgetter(0, 1))
        return ordered[: best[2]]

    def _paid(self, index: int, road: Road | None, penalty: float) -> Decimal:
        """As if it were alone, with the penalty for what a rate takes of the quota."""
        if road is None:
            return WITHOUT_A_ROAD_USD
        if road is Road.FAST:
            return ZERO
        usd = self._volumes[index].solo[road].decidable_usd
        return usd * Decimal(1 + penalty) if road is Road.RATE else usd

    def _read(self, indices: Iterable[int], fast: Roads, penalty: float) -> Roads:
        """Each instance reads what would cost most otherwise; volumes with no road at all are left out."""
        roads = dict(fast)
        able_to_read: Roads = {}
        for index in indices:
            if index in fast:
                continue
            volume = self._volumes[index]
            for road in (Road.ALONE, Road.RATE):
                if road in volume.solo:
                    roads[index] = road
                    break
            if Road.AGENT in volume.solo:
                able_to_read[index] = Road.AGENT
        for able in self._mixes.readers(able_to_read).values():
            roads.update(dict.fromkeys(self._readers(able, roads, penalty), Road.AGENT))
        return roads

    def _readers(self, able: Sequence[int], roads: Roads, penalty: float) -> list[int]:
        """Those of an instance that it reads; most are asked for again with each snapshot that is tried."""
        key = (penalty, *((index, roads.get(index)) for index in able))
        if key not in self._known_readers:
            orders = self._orders(able, roads, penalty)
            tried = (self._readers_by(order, roads, penalty) for order in orders)
            self._known_readers[key] = min(tried, key=itemgetter(0))[1]
        return self._known_readers[key]

    def _orders(self, able: Sequence[int], roads: Roads, penalty: float) -> Iterator[list[int]]:
        otherwise = {index: self._paid(index, roads.get(index), penalty) for index in able}
        size = {index: self._volumes[index].facts.read_bytes for index in able}
        yield sorted(able, key=lambda index: (-otherwise[index], -size[index]))
        yield sorted(able, key=lambda index: (-otherwise[index] / max(1, size[index]), size[index]))

    def _readers_by(
        self, order: Sequence[int], roads: Roads, penalty: float
    ) -> tuple[tuple[int, Decimal, float], list[int]]:
        """Taken in this order as long as it saves; how many volumes have no road, and the price, by it."""
        readers: list[int] = []
        usd = ZERO
        for index in order:
            more = self._mixes.readers_usd([*readers, index])
            if more is None:
                continue
            otherwise = self._paid(index, roads[index], penalty) if index in roads else None
            if otherwise is None or more - usd < otherwise or (more == usd and self._earlier(index, roads)):
                readers.append(index)
                usd = more
        left = [index for index in order if index not in readers]
        without = sum(index not in roads for index in left)
        paid = sum((self._paid(index, roads[index], penalty) for index in left if index in roads), usd)
        return (without, paid, -float(len(readers))), readers

    def _earlier(self, index: int, roads: Roads) -> bool:
        solo = self._volumes[index].solo
        return solo[Road.AGENT].times.ready_p90 < solo[roads[index]].times.ready_p90

    def _most_saved(self, able: Sequence[int], otherwise: Mapping[int, Decimal]) -> Decimal:
        """A fractional knapsack: what the instance reads by its last limit, at what that would cost else."""
        limits = self._volumes[able[0]].facts.instance_limits
        mib_s = math.inf if limits is None else limits.baseline_throughput_mib_s or math.inf
        latest = max(self._volumes[index].limit for index in able)
        capacity = mib_s * latest * MIB if not math.isinf(latest) else math.inf
        saved = ZERO
        for index in sorted(
            able, key=lambda index: -otherwise[index] / max(1, self._volumes[index].facts.read_bytes)
        ):
            size = self._volumes[index].facts.read_bytes
            if size <= capacity:
                saved += otherwise[index]
                capacity -= size
            else:
                return saved + otherwise[index] * Decimal(capacity / size)
        return saved


def _counts(most: int) -> Iterator[int]:
    """Every number up to forty, then some five percent apart."""
    count = 0
    while count < most:
        count = min(most, count + max(1, count // 20))
        yield count
