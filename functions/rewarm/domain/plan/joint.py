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
from dataclasses import dataclass, field, replace
from decimal import Decimal
from enum import IntEnum

from rewarm.domain.model import MIB, PriceBook, Strategy
from rewarm.domain.plan import cost
from rewarm.domain.plan.batches import RateJob, Turn, seconds_by_rate, turns
from rewarm.domain.plan.estimates import Estimate, EstimateLimits, PlanObjective
from rewarm.domain.plan.estimators import ESTIMATORS, at_rate
from rewarm.domain.plan.facts import VolumeFacts

ZERO = Decimal(0)
MOST_SEARCHED = 8
"""So many volumes that share something are searched exhaustively."""
MOST_STEPS = 4_000
STEPS_FOR_ALL, LEAST_STEPS = 100_000, 30
"""A search ends after so many steps, with the best that it has seen; many groups have fewer each."""
PENALTIES = (0.5, 2.0)
"""Of the quota of rate, where it does not suffice: times the price of a rate."""
ORDER = {name: place for place, name in enumerate(ESTIMATORS)}

NOT_BY_ITSELF = frozenset(
    {
        Strategy.WARM_UP_AGENT,
        Strategy.BOOSTED_WARM_UP,
        Strategy.PROVISIONED_RATE,
        Strategy.FAST_SNAPSHOT_RESTORE,
    }
)
"""Strategies that share something; the others have one estimate, whatever the other volumes do."""


class Road(IntEnum):
    """What a volume's strategy draws on."""

    AGENT = 0
    """The instance's throughput, with or without a boost."""
    FAST = 1
    """Fast snapshot restore."""
    ALONE = 2
    """Nothing: EBS loads in the background, or copies."""
    RATE = 3
    """The Region's quota of initialization rate."""


def rank(estimate: Estimate) -> tuple[Decimal, float, float, int]:
    """Price first; ties by the earlier P90, the earlier P50, the order of ESTIMATORS."""
    times = estimate.times
    return (estimate.decidable_usd, times.ready_p90, times.ready_p50, ORDER[estimate.strategy])


@dataclass(frozen=True, slots=True)
class SharedQuotas:
    """What all volumes of the restore have together."""

    rate_mib_s: int
    fast_restores: int

    @classmethod
    def of(cls, volumes: Iterable[VolumeFacts]) -> SharedQuotas:
        """All volumes of a restore are told the same."""
        first = next(iter(volumes))
        return cls(first.rate_quota_left_mib_s, first.fast_restore_quota_left)


class Ways:
    """What can be had for one volume; volumes that are alike share it, and its answers are kept."""

    def __init__(self, facts: VolumeFacts, objective: PlanObjective, book: PriceBook) -> None:
        self.facts = replace(
            facts, read_beside=(), volumes_of_snapshot=1, snapshots_of_restore=1, volumes_of_restore=1
        )
        self.book = book
        self._allowed = [name for name in ESTIMATORS if objective.allows(name)]
        self._budget_usd = objective.budget_usd if objective.fixed is Strategy.VOLUME_CLONE else None
        self._agents: dict[tuple[int, ...], Estimate | None] = {}
        self._agents_within = -1.0
        self._fast: dict[int, Estimate | None] = {}
        self._seconds_by_rate: tuple[float, ...] = ()
        self._by_itself = [
            estimate
            for name in self._allowed
            if name not in NOT_BY_ITSELF and (estimate := self._estimate(name, self.facts, 0.0)) is not None
        ]

    def agent(self, beside: tuple[int, ...], seconds: float) -> Estimate | None:
        """Without a boost or with the lowest in time, beside so many bytes of others; None if too late."""
        if seconds != self._agents_within:
            self._agents, self._agents_within = {}, seconds
        if beside not in self._agents:
            self._agents[beside] = self._agent(beside, seconds)
        return self._agents[beside]

    def _agent(self, beside: tuple[int, ...], seconds: float) -> Estimate | None:
        facts = replace(self.facts, read_beside=beside)
        for name in (Strategy.WARM_UP_AGENT, Strategy.BOOSTED_WARM_UP):
            estimate = self._estimate(name, facts, seconds) if name in self._allowed else None
            if estimate is not None and estimate.times.ready_p90 <= seconds:
                return estimate
        return None

    def fast(self, members: int) -> Estimate | None:
        """By fast snapshot restore, which so many volumes of the snapshot take; the price of all is in it."""
        if members not in self._fast:
            facts = replace(self.facts, volumes_of_snapshot=members)
            name = Strategy.FAST_SNAPSHOT_RESTORE
            self._fast[members] = self._estimate(name, facts, 0.0) if name in self._allowed else None
        return self._fast[members]

    def by_itself(self, seconds: float) -> Estimate | None:
        """The cheapest in time that shares nothing."""
        return min((one for one in self._by_itself if one.times.ready_p90 <= seconds), key=rank, default=None)

    def rate(self, seconds: float) -> Estimate | None:
        """The lowest rate that is in time, begun at once."""
        if Strategy.PROVISIONED_RATE not in self._allowed:
            return None
        estimate = self._estimate(Strategy.PROVISIONED_RATE, self.facts, seconds)
        return estimate if estimate is not None and estimate.times.ready_p90 <= seconds else None

    def seconds_by_rate(self) -> tuple[float, ...]:
        """P90 with each rate."""
        if not self._seconds_by_rate:
            self._seconds_by_rate = seconds_by_rate(self.facts)
        return self._seconds_by_rate

    def solo(self, seconds: float) -> dict[Road, Estimate]:
        """By each road, as if there were no other volume."""
        found = {
            Road.AGENT: self.agent((), seconds),
            Road.FAST: self.fast(1),
            Road.ALONE: self.by_itself(seconds),
            Road.RATE: self.rate(seconds),
        }
        return {
            road: one for road, one in found.items() if one is not None and one.times.ready_p90 <= seconds
        }

    def fastest(self) -> float:
        """The earliest P90 in seconds, as if it were alone; infinite where nothing is possible."""
        found = [
            *self._by_itself,
            self.fast(1),
            *(
                self._estimate(name, self.facts, 0.0)
                for name in self._allowed
                if name in NOT_BY_ITSELF and name is not Strategy.FAST_SNAPSHOT_RESTORE
            ),
        ]
        return min((one.times.ready_p90 for one in found if one is not None), default=math.inf)

    def times(self) -> list[float]:
        """The P90s of the strategies that have no setting."""
        found = [*self._by_itself, self.fast(1), self.agent((), math.inf)]
        return [one.times.ready_p90 for one in found if one is not None]

    def _estimate(self, name: Strategy, facts: VolumeFacts, seconds: float) -> Estimate | None:
        outcome = ESTIMATORS[name](facts, self.book, EstimateLimits(seconds, self._budget_usd))
        return outcome if isinstance(outcome, Estimate) else None


def ways_of(volumes: Sequence[VolumeFacts], objective: PlanObjective, book: PriceBook) -> list[Ways]:
    """One for each volume; volumes that are alike share it."""
    keys = [repr(facts) for facts in volumes]
    alike = dict(zip(keys, volumes, strict=True))
    known = {key: Ways(facts, objective, book) for key, facts in alike.items()}
    return [known[key] for key in keys]


@dataclass(frozen=True, slots=True)
class Mix:
    """An estimate for each volume, and what no other mix can undercut."""

    estimates: tuple[Estimate, ...]
    usd: Decimal
    least_usd: Decimal
    """No mix within the same limits costs less. It equals `usd` where that is proven."""

    @property
    def is_proven(self) -> bool:
        """No other mix within the same limits is cheaper."""
        return self.usd == self.least_usd

    @property
    def seconds(self) -> float:
        """P90 of the last volume."""
        return max(estimate.times.ready_p90 for estimate in self.estimates)


@dataclass(slots=True)
class _Volume:
    """One volume in a search."""

    ways: Ways
    limit: float
    solo: dict[Road, Estimate] = field(init=False)

    def __post_init__(self) -> None:
        self.solo = self.ways.solo(self.limit)

    @property
    def facts(self) -> VolumeFacts:
        return self.ways.facts

    @property
    def least_usd(self) -> Decimal:
        """Fast snapshot restore may be paid by others."""
        if Road.FAST in self.solo:
            return ZERO
        return min((one.decidable_usd for one in self.solo.values()), default=ZERO)

    @property
    def otherwise_usd(self) -> Decimal | None:
        """Without the instance and fast snapshot restore; None where there is nothing."""
        return min(
            (self.solo[road].decidable_usd for road in (Road.ALONE, Road.RATE) if road in self.solo),
            default=None,
        )


Roads = dict[int, Road]


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
        if Road.AGENT in able and way.facts.instance_id is not None:
            shared.append(way.facts.instance_id)
        if Road.FAST in able:
            shared.append(way.facts.place)
        for key in shared:
            parent[root(place)] = root(first.setdefault(key, place))
    found: dict[int, list[int]] = {}
    for place in range(len(ways)):
        found.setdefault(root(place), []).append(place)
    return list(found.values())


def cheapest(ways: Sequence[Ways], limits: Sequence[float], quotas: SharedQuotas) -> Mix | None:
    """The cheapest mix that was found with each volume within its limit; None where none was found."""
    volumes = [_Volume(way, limit) for way, limit in zip(ways, limits, strict=True)]
    if not all(volume.solo for volume in volumes):
        return None
    groups = _groups([volume.ways for volume in volumes], [volume.solo for volume in volumes])
    search = _Search(volumes, quotas, groups)
    apart = [search.group(group) for group in groups]
    if any(found is None for found in apart):
        return None
    roads = {index: road for found in apart if found for index, road in found[0].items()}
    least = sum((found[1] for found in apart if found), ZERO)
    mix = search.mix(roads, least)
    if mix is not None and mix.usd == search.apart_usd(roads):
        return mix
    together = search.together(least)
    return min((one for one in (mix, together) if one), key=lambda one: (one.usd, one.seconds), default=None)


class _Search:
    """Volumes by their places in one list; roads say what each takes."""

    def __init__(
        self, volumes: Sequence[_Volume], quotas: SharedQuotas, groups: Sequence[Sequence[int]]
    ) -> None:
        self.volumes = volumes
        self.quotas = quotas
        self.groups = groups
        self._known_turns: dict[tuple[int, ...], list[Turn] | None] = {}
        self._do_not_fit: list[frozenset[int]] = []

    # ---------------------------------------------------------------------------------- what a mix costs
    def readers_usd(self, readers: Sequence[int]) -> Decimal | None:
        """What the boosts of volumes that an instance reads together cost; None where one is late."""
        estimates = self._reading(readers)
        return None if estimates is None else _sum(estimates.values())

    def _reading(self, readers: Sequence[int]) -> dict[int, Estimate] | None:
        """Of the volumes of one instance."""
        sizes = sorted(self.volumes[index].facts.read_bytes for index in readers)
        found = {}
        for index in readers:
            volume = self.volumes[index]
            place = sizes.index(volume.facts.read_bytes)
            estimate = volume.ways.agent((*sizes[:place], *sizes[place + 1 :]), volume.limit)
            if estimate is None:
                return None
            found[index] = estimate
        return found

    def members_usd(self, members: Sequence[int]) -> Decimal | None:
        """What fast snapshot restore of one snapshot in one zone costs; None where a volume is late."""
        slowest = 0.0
        for ways, limit in {(self.volumes[index].ways, self.volumes[index].limit) for index in members}:
            estimate = ways.fast(len(members))
            if estimate is None or estimate.times.ready_p90 > limit:
                return None
            slowest = max(slowest, estimate.times.ready_p90)
        first = self.volumes[members[0]]
        if first.facts.fast_restore_runs:
            return ZERO
        return cost.fast_snapshot_restore(first.ways.book, slowest).usd

    def _fast(self, members: Sequence[int]) -> dict[int, Estimate] | None:
        """With one price in parts that add up, whatever the order of the volumes."""
        if self.members_usd(members) is None:
            return None
        count = len(members)
        estimates = {index: self.volumes[index].ways.fast(count) for index in members}
        found = {index: one for index, one in estimates.items() if one is not None}
        seconds = max(one.times.ready_p90 for one in found.values())
        if self.volumes[members[0]].facts.fast_restore_runs:
            return found
        ordered = sorted(found, key=lambda index: self.volumes[index].facts.written_bytes)
        return {
            index: replace(
                found[index],
                parts=(
                    *(part for part in found[index].parts if part.sunk),
                    cost.fast_snapshot_restore(self.volumes[index].ways.book, seconds, count, place),
                ),
            )
            for place, index in enumerate(ordered)
        }

    def _rated(self, indices: Sequence[int]) -> dict[int, Estimate] | None:
        taken = self._turns(tuple(sorted(indices)))
        if taken is None:
            return None
        return {
            index: at_rate(
                replace(self.volumes[index].facts, queue_seconds=turn.start_seconds),
                self.volumes[index].ways.book,
                turn.rate_mib_s,
            )
            for index, turn in zip(sorted(indices), taken, strict=True)
        }

    def _turns(self, indices: tuple[int, ...]) -> list[Turn] | None:
        """What does not fit does not fit with more volumes either."""
        if indices not in self._known_turns:
            if any(others.issubset(indices) for others in self._do_not_fit):
                return None
            volumes = [self.volumes[index] for index in indices]
            jobs = [
                RateJob(volume.facts.data_bytes, volume.limit, volume.ways.seconds_by_rate())
                for volume in volumes
            ]
            taken = turns(jobs, self.quotas.rate_mib_s)
            self._known_turns[indices] = taken
            if taken is None:
                self._do_not_fit.append(frozenset(indices))
        return self._known_turns[indices]

    def estimates(self, roads: Mapping[int, Road]) -> dict[int, Estimate] | None:
        """Of the volumes with a road; None where one is late, or a quota does not suffice."""
        found: dict[int, Estimate] = {}
        places = self._members(roads)
        for members in places.values():
            fast = self._fast(members)
            if fast is None:
                return None
            found.update(fast)
        if self._enabled(places) > self.quotas.fast_restores:
            return None
        for readers in self._readers(roads).values():
            reading = self._reading(readers)
            if reading is None:
                return None
            found.update(reading)
        rated = self._rated([index for index, road in roads.items() if road is Road.RATE])
        if rated is None:
            return None
        alone = {index: self.volumes[index].solo[road] for index, road in roads.items() if road is Road.ALONE}
        return {**found, **rated, **alone}

    def _enabled(self, places: Mapping[tuple[str, str], Sequence[int]]) -> int:
        """How many snapshots in a zone get fast snapshot restore by this restore."""
        return sum(not self.volumes[members[0]].facts.fast_restore_runs for members in places.values())

    def mix(self, roads: Mapping[int, Road], least_usd: Decimal) -> Mix | None:
        """Of all volumes; None where it cannot be had."""
        found = self.estimates(roads)
        if found is None:
            return None
        return Mix(tuple(found[index] for index in range(len(self.volumes))), _sum(found.values()), least_usd)

    def _readers(self, roads: Mapping[int, Road]) -> dict[str, list[int]]:
        """By instance. A volume without an instance's id shares no instance."""
        found: dict[str, list[int]] = {}
        for index, road in roads.items():
            if road is Road.AGENT:
                found.setdefault(self.volumes[index].facts.instance_id or str(index), []).append(index)
        return found

    def _members(self, roads: Mapping[int, Road]) -> dict[tuple[str, str], list[int]]:
        """By snapshot and zone."""
        found: dict[tuple[str, str], list[int]] = {}
        for index, road in roads.items():
            if road is Road.FAST:
                found.setdefault(self.volumes[index].facts.place, []).append(index)
        return found

    # -------------------------------------------------------------------------------- groups and search
    def group(self, indices: Sequence[int]) -> tuple[Roads, Decimal] | None:
        """Roads of volumes that share something, and what none can undercut; quotas of the Region aside."""
        start = self.sought(indices, frozenset(), 0.0)
        least = self.bound(indices)
        usd = None if start is None else self.apart_usd(start)
        if start is not None and usd is not None and usd <= least and len(indices) > MOST_SEARCHED:
            return start, usd
        if len(indices) > 3 * MOST_SEARCHED:
            return None if start is None else (start, least)
        found = _Exhaustive(self, indices, self.apart_key).best(start)
        if found is None:
            return None
        roads, is_whole = found
        usd = self.apart_usd(roads)
        return roads, (usd if is_whole and usd is not None else least)

    def together(self, least_usd: Decimal) -> Mix | None:
        """With the Region's quotas in mind: all volumes at once if they are few, else by dearer quotas."""
        everyone = range(len(self.volumes))
        if len(self.volumes) <= MOST_SEARCHED:
            found = _Exhaustive(self, everyone, self.whole_key).best(None)
            if found is None:
                return None
            roads, is_whole = found
            mix = self.mix(roads, least_usd)
            return replace(mix, least_usd=mix.usd) if mix is not None and is_whole else mix
        closed = self._closed()
        mixes = [
            mix
            for penalty in PENALTIES
            if (taken := self._sought_by_groups(closed, penalty)) is not None
            and (mix := self.mix(taken, least_usd)) is not None
        ]
        return min(mixes, key=lambda mix: (mix.usd, mix.seconds), default=None)

    def _sought_by_groups(self, closed: frozenset[tuple[str, str]], penalty: float) -> Roads | None:
        found = [self.sought(group, closed, penalty) for group in self.groups]
        if any(roads is None for roads in found):
            return None
        return {index: road for roads in found if roads for index, road in roads.items()}

    def _closed(self) -> frozenset[tuple[str, str]]:
        """Snapshots that get no fast snapshot restore, since the quota is for those that save most by it."""
        saved: Counter[tuple[str, str]] = Counter()
        for volume in self.volumes:
            if Road.FAST in volume.solo and not volume.facts.fast_restore_runs:
                saved[volume.facts.place] += int(1_000_000 * (volume.otherwise_usd or 1_000))
        return frozenset(place for place, _ in saved.most_common()[max(0, self.quotas.fast_restores) :])

    def apart_usd(self, roads: Mapping[int, Road]) -> Decimal | None:
        """As if no quota of the Region were short."""
        parts = [
            *(self.readers_usd(readers) for readers in self._readers(roads).values()),
            *(self.members_usd(members) for members in self._members(roads).values()),
        ]
        if any(part is None for part in parts):
            return None
        own = (
            self.volumes[index].solo[road] for index, road in roads.items() if road in {Road.ALONE, Road.RATE}
        )
        return sum((part for part in parts if part is not None), _sum(own))

    def apart_key(self, roads: Mapping[int, Road]) -> tuple[Decimal, float, float] | None:
        """Price, then P90 of the last volume, then of all; quotas of the Region aside."""
        found: dict[int, Estimate] = {
            index: self.volumes[index].solo[road]
            for index, road in roads.items()
            if road in {Road.ALONE, Road.RATE}
        }
        for readers in self._readers(roads).values():
            found.update(self._reading(readers) or {})
        for members in self._members(roads).values():
            found.update(self._fast(members) or {})
        return _key(found.values()) if len(found) == len(roads) else None

    def whole_key(self, roads: Mapping[int, Road]) -> tuple[Decimal, float, float] | None:
        """With the quotas of the Region."""
        found = self.estimates(roads)
        return None if found is None else _key(found.values())

    # ---------------------------------------------------------------------------------------- many volumes
    def sought(
        self, indices: Iterable[int], closed: frozenset[tuple[str, str]], penalty: float
    ) -> Roads | None:
        """A good mix: each instance reads what saves most, fast snapshot restore serves what pays for it."""
        indices = list(indices)
        fast: Roads = {}
        roads = self._read(indices, fast, penalty)
        for place, members in self._eligible(indices, closed).items():
            del place
            taken = self._served(members, roads, penalty)
            if taken:
                fast.update(dict.fromkeys(taken, Road.FAST))
                roads = self._read(indices, fast, penalty)
        return roads if len(roads) == len(indices) else None

    def _eligible(
        self, indices: Iterable[int], closed: frozenset[tuple[str, str]]
    ) -> dict[tuple[str, str], list[int]]:
        found: dict[tuple[str, str], list[int]] = {}
        for index in indices:
            volume = self.volumes[index]
            if Road.FAST in volume.solo and volume.facts.place not in closed:
                found.setdefault(volume.facts.place, []).append(index)
        return found

    def _served(self, members: Sequence[int], roads: Roads, penalty: float) -> list[int]:
        """The volumes of a snapshot for which its fast snapshot restore is worth its price."""

        def now_usd(index: int) -> Decimal:
            road = roads.get(index)
            if road is None:
                return Decimal(1_000_000)
            return self._paid(index, road, penalty)

        ordered = sorted(members, key=lambda index: (-now_usd(index), self.volumes[index].facts.read_bytes))
        best: tuple[Decimal, int] = (ZERO, 0)
        saved = ZERO
        for count, index in enumerate(ordered, 1):
            saved += now_usd(index)
            price = self.members_usd(ordered[:count]) if count <= 64 or count == len(ordered) else None
            if price is None:
                if count <= 64:
                    break
                continue
            if saved - price > best[0]:
                best = (saved - price, count)
        return ordered[: best[1]]

    def _paid(self, index: int, road: Road, penalty: float) -> Decimal:
        """With the penalty for what a rate takes of the quota."""
        volume = self.volumes[index]
        if road is Road.RATE:
            return volume.solo[road].decidable_usd * Decimal(1 + penalty)
        if road is Road.AGENT:
            return volume.solo[road].decidable_usd
        return ZERO if road is Road.ALONE else Decimal(0)

    def _read(self, indices: Iterable[int], fast: Roads, penalty: float) -> Roads:
        """Each instance reads what would cost most otherwise; volumes with no road at all are left out."""
        roads = dict(fast)
        by_instance: dict[str, list[int]] = {}
        for index in indices:
            if index in fast:
                continue
            volume = self.volumes[index]
            for road in (Road.ALONE, Road.RATE):
                if road in volume.solo:
                    roads[index] = road
                    break
            if Road.AGENT in volume.solo:
                by_instance.setdefault(volume.facts.instance_id or str(index), []).append(index)
        for able in by_instance.values():
            readers = min(
                (self._readers_by(order, roads, penalty) for order in self._orders(able, roads, penalty)),
                key=lambda found: found[0],
            )[1]
            roads.update(dict.fromkeys(readers, Road.AGENT))
        return roads

    def _orders(self, able: Sequence[int], roads: Roads, penalty: float) -> Iterator[list[int]]:
        def otherwise(index: int) -> Decimal:
            return self._paid(index, roads[index], penalty) if index in roads else Decimal(1_000_000)

        size: Callable[[int], int] = lambda index: self.volumes[index].facts.read_bytes  # noqa: E731
        yield sorted(able, key=lambda index: (-otherwise(index), -size(index)))
        yield sorted(able, key=lambda index: (-otherwise(index) / max(1, size(index)), size(index)))

    def _readers_by(
        self, order: Sequence[int], roads: Roads, penalty: float
    ) -> tuple[tuple[int, Decimal, float], list[int]]:
        """Taken in this order as long as it saves; how many volumes have no road, and the price, by it."""
        readers: list[int] = []
        usd = ZERO
        for index in order:
            more = self.readers_usd([*readers, index])
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
        solo = self.volumes[index].solo
        return solo[Road.AGENT].times.ready_p90 < solo[roads[index]].times.ready_p90

    def bound(self, indices: Sequence[int]) -> Decimal:
        """No mix of these volumes costs less: their price without instances and fast snapshot restore, less
        the most that each instance and each snapshot can save by itself.
        """
        otherwise = {index: self.volumes[index].otherwise_usd or ZERO for index in indices}
        total = sum(otherwise.values(), ZERO)
        readers: dict[str, list[int]] = {}
        for index in indices:
            if Road.AGENT in self.volumes[index].solo:
                key = self.volumes[index].facts.instance_id or str(index)
                readers.setdefault(key, []).append(index)
        for able in readers.values():
            total -= self._most_saved(able, otherwise)
        for members in self._eligible(indices, frozenset()).values():
            first = self.volumes[members[0]]
            price = ZERO if first.facts.fast_restore_runs else first.ways.book.fsr_usd_per_hour
            total -= max(ZERO, sum((otherwise[index] for index in members), ZERO) - price)
        return max(ZERO, total)

    def _most_saved(self, able: Sequence[int], otherwise: Mapping[int, Decimal]) -> Decimal:
        """A fractional knapsack: what the instance reads by its last limit, at what that would cost else."""
        limits = self.volumes[able[0]].facts.instance_limits
        mib_s = math.inf if limits is None else limits.baseline_throughput_mib_s or math.inf
        latest = max(self.volumes[index].limit for index in able)
        capacity = mib_s * latest * MIB if not math.isinf(latest) else math.inf
        saved = ZERO
        for index in sorted(
            able, key=lambda index: -otherwise[index] / max(1, self.volumes[index].facts.read_bytes)
        ):
            size = self.volumes[index].facts.read_bytes
            if size <= capacity:
                saved += otherwise[index]
                capacity -= size
            else:
                return saved + otherwise[index] * Decimal(capacity / size)
        return saved


def _sum(estimates: Iterable[Estimate]) -> Decimal:
    return sum((estimate.decidable_usd for estimate in estimates), ZERO)


def _key(estimates: Iterable[Estimate]) -> tuple[Decimal, float, float]:
    ready = [(one.decidable_usd, one.times.ready_p90) for one in estimates]
    return (
        sum((usd for usd, _ in ready), ZERO),
        max(seconds for _, seconds in ready),
        math.fsum(seconds for _, seconds in ready),
    )


class _Exhaustive:
    """Every mix of a few volumes, but those that cannot become better than the best so far."""

    def __init__(
        self,
        search: _Search,
        indices: Sequence[int],
        key: Callable[[Mapping[int, Road]], tuple[Decimal, float, float] | None],
    ) -> None:
        self._search = search
        self._key = key
        volumes = search.volumes
        self._order = sorted(
            indices, key=lambda index: (-volumes[index].facts.data_bytes, repr(volumes[index].facts))
        )
        self._ahead = [ZERO] * (len(self._order) + 1)
        for place in range(len(self._order) - 1, -1, -1):
            self._ahead[place] = self._ahead[place + 1] + volumes[self._order[place]].least_usd
        self._steps = 0
        self._most_steps = MOST_STEPS
        if len(volumes) > MOST_SEARCHED:
            self._most_steps = min(MOST_STEPS, max(LEAST_STEPS, STEPS_FOR_ALL // len(search.groups)))
        self._best: tuple[tuple[Decimal, float, float], Roads] | None = None

    def best(self, start: Roads | None) -> tuple[Roads, bool] | None:
        """The best mix, and whether all were looked at; None where none can be had."""
        key = self._key(start) if start is not None else None
        if start is not None and key is not None:
            self._best = key, dict(start)
        self._look(0, {}, ZERO)
        if self._best is None:
            return None
        return self._best[1], self._steps <= self._most_steps

    def _look(self, place: int, roads: Roads, own_usd: Decimal) -> None:
        self._steps += 1
        if self._steps > self._most_steps:
            return
        shared = self._search.apart_usd({i: r for i, r in roads.items() if r in {Road.AGENT, Road.FAST}})
        if shared is None:
            return
        if self._best is not None and own_usd + shared + self._ahead[place] > self._best[0][0]:
            return
        if place == len(self._order):
            key = self._key(roads)
            if key is not None and (self._best is None or key < self._best[0]):
                self._best = key, dict(roads)
            return
        index = self._order[place]
        volume = self._search.volumes[index]
        for road in self._roads(place, roads):
            own = volume.solo[road].decidable_usd if road in {Road.ALONE, Road.RATE} else ZERO
            self._look(place + 1, {**roads, index: road}, own_usd + own)

    def _roads(self, place: int, roads: Roads) -> list[Road]:
        """Of alike volumes, a later one takes no earlier road: the same mix would be looked at again."""
        volume = self._search.volumes[self._order[place]]
        found = sorted(volume.solo)
        if place:
            before = self._order[place - 1]
            other = self._search.volumes[before]
            if other.ways is volume.ways and other.limit == volume.limit:
                found = [road for road in found if road >= roads[before]]
        return found
