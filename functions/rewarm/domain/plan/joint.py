"""The cheapest mix of strategies for the volumes of a restore, each within its own limit of time.

Volumes that are read on one instance share its EBS throughput. Volumes of a snapshot in a zone share the
price and the credits of fast snapshot restore. All share the Region's quotas of fast snapshot restores and of
initialization rate. A search tries mixes of strategies; volumes that share nothing are searched apart.

A few volumes are searched exhaustively. Of many, a good mix is sought, and a bound says how much cheaper any
other mix could be at most. No solver is used: this search finds the same mixes (tests compare it with
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
from rewarm.domain.plan.mixes import (
    APART,
    BUSY,
    ZERO,
    Choices,
    Mix,
    Mixes,
    PricedVolume,
    SharedQuotas,
    SharedResource,
    VolumeOptions,
)

MOST_SEARCHED = 8
"""So many volumes that share something are searched exhaustively."""
MOST_STEPS = 4_000
STEPS_FOR_ALL, LEAST_STEPS = 100_000, 30
"""A search ends after so many steps, with the best that it has seen; many groups have fewer each."""
PENALTIES = (0.5, 2.0)
"""Of the quota of rate, where it does not suffice: times the price of a rate."""
UNSERVED_USD = Decimal(1_000_000)
"""Stands for a volume that has no resource yet, so the search serves it first."""


def sharing(options: Sequence[VolumeOptions]) -> list[list[int]]:
    """Places of volumes that could share an instance or a snapshot, directly or through others."""
    return _groups(options, [volume.solo(math.inf) for volume in options])


def _groups(
    options: Sequence[VolumeOptions], estimates: Sequence[Mapping[SharedResource, Estimate]]
) -> list[list[int]]:
    """By the resources that each volume could take."""
    parent = list(range(len(options)))

    def root(place: int) -> int:
        while parent[place] != place:
            parent[place] = parent[parent[place]]
            place = parent[place]
        return place

    first: dict[object, int] = {}
    for place, (volume, able) in enumerate(zip(options, estimates, strict=True)):
        shared: list[object] = []
        if BUSY & able.keys() and volume.facts.instance_id is not None:
            shared.append(volume.facts.instance_id)
        if SharedResource.FAST in able:
            shared.append(volume.facts.place)
        if SharedResource.WRITE in able:
            shared.append(("blocks", volume.facts.snapshot_id))
        for key in shared:
            parent[root(place)] = root(first.setdefault(key, place))
    found: dict[int, list[int]] = {}
    for place in range(len(options)):
        found.setdefault(root(place), []).append(place)
    return list(found.values())


def cheapest(options: Sequence[VolumeOptions], limits: Sequence[float], quotas: SharedQuotas) -> Mix | None:
    """The cheapest mix that was found with each volume within its limit; None where none was found."""
    snapshots = Counter(volume.facts.snapshot_id for volume in options)
    volumes = [
        PricedVolume(volume, limit, snapshots[volume.facts.snapshot_id] > 1)
        for volume, limit in zip(options, limits, strict=True)
    ]
    if not all(volume.solo for volume in volumes):
        return None
    groups = _groups([volume.options for volume in volumes], [volume.solo for volume in volumes])
    mixes = Mixes(volumes, quotas)
    search = _Search(mixes, groups)
    apart = [search.group(group) for group in groups]
    if any(found is None for found in apart):
        return None
    choices = {index: resource for found in apart if found for index, resource in found[0].items()}
    least = sum((found[1] for found in apart if found), ZERO)
    mix = mixes.mix(choices, least)
    if mix is not None and mix.usd == mixes.apart_usd(choices):
        return mix
    together = search.together(least)
    found = [mix for mix in (mix, together) if mix]
    return min(found, key=lambda mix: (mix.usd, mix.seconds), default=None)


class _Search:
    """Volumes that share something are searched together, the others apart."""

    def __init__(self, mixes: Mixes, groups: Sequence[Sequence[int]]) -> None:
        self._mixes = mixes
        self._groups = groups
        self._seeker = _Seeker(mixes)
        self._most_steps = MOST_STEPS
        if len(mixes.volumes) > MOST_SEARCHED:
            self._most_steps = min(MOST_STEPS, max(LEAST_STEPS, STEPS_FOR_ALL // len(groups)))

    def group(self, indices: Sequence[int]) -> tuple[Choices, Decimal] | None:
        """A choice for volumes that share something, and the least price; without the Region's quotas."""
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
        choices, proven = found
        return choices, least if proven is None else proven

    def together(self, least_usd: Decimal) -> Mix | None:
        """With the Region's quotas in mind: all volumes at once if they are few, else by dearer quotas."""
        everyone = range(len(self._mixes.volumes))
        if len(self._mixes.volumes) <= MOST_SEARCHED:
            found = _Exhaustive(self._mixes, everyone, self._mixes.whole_key, self._most_steps).best(None)
            if found is None:
                return None
            choices, least = found
            return self._mixes.mix(choices, least_usd if least is None else least)
        closed = self._closed()
        mixes = [
            mix
            for penalty in PENALTIES
            if (taken := self._sought_by_groups(closed, penalty)) is not None
            and (mix := self._mixes.mix(taken, least_usd)) is not None
        ]
        return min(mixes, key=lambda mix: (mix.usd, mix.seconds), default=None)

    def _sought_by_groups(self, closed: frozenset[tuple[str, str]], penalty: float) -> Choices | None:
        found = [self._seeker.sought(group, closed, penalty) for group in self._groups]
        if any(choices is None for choices in found):
            return None
        return {index: resource for choices in found if choices for index, resource in choices.items()}

    def _closed(self) -> frozenset[tuple[str, str]]:
        """Snapshots that get no fast snapshot restore, since the quota is for those that save most by it."""
        saved: Counter[tuple[str, str]] = Counter()
        for volume in self._mixes.volumes:
            if SharedResource.FAST in volume.solo and not volume.facts.fast_restore_runs:
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
        key: Callable[[Choices], tuple[Decimal, float, float] | None],
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
        self._best: tuple[tuple[Decimal, float, float], Choices] | None = None
        self._least_usd = Decimal("Infinity")

    def best(self, start: Choices | None) -> tuple[Choices, Decimal | None] | None:
        """The best mix and what none undercuts, which is None where not all were looked at."""
        key = self._key(start) if start is not None else None
        if start is not None and key is not None:
            self._best = key, dict(start)
        self._look(0, {}, ZERO)
        if self._best is None:
            return None
        least_usd = min(self._least_usd, self._best[0][0])
        return self._best[1], least_usd if self._steps <= self._most_steps else None

    def _look(self, place: int, choices: Choices, own_usd: Decimal) -> None:
        self._steps += 1
        if self._steps > self._most_steps:
            return
        shared = self._mixes.apart_usd({i: r for i, r in choices.items() if r not in APART})
        if shared is None:
            return
        if self._best is not None and own_usd + shared + self._ahead[place] > self._best[0][0]:
            return
        if place == len(self._order):
            key = self._key(choices)
            if self._mixes.may_fit(choices):
                self._least_usd = min(self._least_usd, own_usd + shared)
            if key is not None and (self._best is None or key < self._best[0]):
                self._best = key, dict(choices)
            return
        index = self._order[place]
        volume = self._mixes.volumes[index]
        for resource in self._resources(place, choices):
            own = volume.solo[resource].decidable_usd if resource in APART else ZERO
            self._look(place + 1, {**choices, index: resource}, own_usd + own)

    def _resources(self, place: int, choices: Choices) -> list[SharedResource]:
        """Of alike volumes, a later one takes no earlier resource, which would only repeat a mix."""
        volume = self._mixes.volumes[self._order[place]]
        found = sorted(volume.solo)
        if place:
            before = self._order[place - 1]
            other = self._mixes.volumes[before]
            if other.options is volume.options and other.limit == volume.limit:
                found = [resource for resource in found if resource >= choices[before]]
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
    ) -> Choices | None:
        """A good mix: each instance reads what saves most, fast snapshot restore serves what pays for it."""
        indices = list(indices)
        fast: Choices = {}
        choices = self._read(indices, fast, penalty)
        seconds = {index: estimate.times.ready_p90 for index, estimate in self._mixes.apart(choices).items()}
        for members in self._eligible(indices, closed).values():
            taken = self._served(members, choices, seconds, penalty)
            if taken:
                fast.update(dict.fromkeys(taken, SharedResource.FAST))
                choices = self._read(indices, fast, penalty)
        choices = self._written(indices, choices)
        return choices if len(choices) == len(indices) else None

    def _written(self, indices: Sequence[int], choices: Choices) -> Choices:
        """With the volumes of a snapshot written if they have no resource, or if that is cheaper."""
        able = self._able_to_write(indices)
        paid = self._paid_now(choices) if able else {}
        for members in able.values():
            for wanted in (
                [index for index in members if index not in choices],
                [index for index in members if paid.get(index, UNSERVED_USD)],
            ):
                saved = sum((paid.get(index, UNSERVED_USD) for index in wanted), ZERO)
                if saved <= self._volumes[members[0]].solo[SharedResource.WRITE].decidable_usd:
                    continue
                tried = {**choices, **dict.fromkeys(wanted, SharedResource.WRITE)}
                found, now = self._mixes.apart_usd(tried), self._mixes.apart_usd(choices)
                if found is not None and (len(tried) > len(choices) or now is None or found < now):
                    choices, paid = tried, self._paid_now(tried)
        return choices

    def _paid_now(self, choices: Choices) -> dict[int, Decimal]:
        """Of volumes that are in time; a volume that leaves fast snapshot restore saves nothing."""
        return {
            index: ZERO if choices[index] is SharedResource.FAST else estimate.decidable_usd
            for index, estimate in self._mixes.apart(choices).items()
        }

    def _able_to_write(self, indices: Iterable[int]) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for index in indices:
            if SharedResource.WRITE in self._volumes[index].solo:
                found.setdefault(self._volumes[index].facts.snapshot_id, []).append(index)
        return found

    def bound(self, indices: Sequence[int]) -> Decimal:
        """No mix of these volumes costs less: their price without instances and fast snapshot restore, minus
        the most that each instance and each snapshot can save.
        """
        otherwise = {index: self._volumes[index].otherwise_usd or ZERO for index in indices}
        total = sum(otherwise.values(), ZERO)
        readable = (index for index in indices if SharedResource.AGENT in self._volumes[index].solo)
        able_to_read = dict.fromkeys(readable, SharedResource.AGENT)
        for able in self._mixes.readers(able_to_read).values():
            total -= self._most_saved(able, otherwise)
        for members in self._eligible(indices, frozenset()).values():
            first = self._volumes[members[0]]
            price = ZERO if first.facts.fast_restore_runs else first.options.book.fsr_usd_per_hour
            total -= max(ZERO, sum((otherwise[index] for index in members), ZERO) - price)
        for members in self._able_to_write(indices).values():
            first = self._volumes[members[0]]
            price = cost.total(cost.blocks(first.facts.written_blocks, first.options.book))
            total -= max(ZERO, sum((otherwise[index] for index in members), ZERO) - price)
        return max(ZERO, total)

    def _eligible(
        self, indices: Iterable[int], closed: frozenset[tuple[str, str]]
    ) -> dict[tuple[str, str], list[int]]:
        found: dict[tuple[str, str], list[int]] = {}
        for index in indices:
            volume = self._volumes[index]
            if SharedResource.FAST in volume.solo and volume.facts.place not in closed:
                found.setdefault(volume.facts.place, []).append(index)
        return found

    def _served(
        self, members: Sequence[int], choices: Choices, seconds: Mapping[int, float], penalty: float
    ) -> list[int]:
        """The volumes for which fast snapshot restore is worth its price, or as cheap and earlier."""
        now_usd = {index: self._paid(index, choices.get(index), penalty) for index in members}
        ordered = sorted(members, key=lambda index: (-now_usd[index], self._volumes[index].facts.read_bytes))
        saved = [ZERO, *accumulate(now_usd[index] for index in ordered)]
        ready = [0.0, *accumulate(seconds.get(index, 0.0) for index in ordered)]
        best: tuple[Decimal, float, int] = (ZERO, 0.0, 0)
        for count in _counts(len(ordered)):
            price = self._mixes.members_usd(ordered[:count])
            if price is None:
                break  # more volumes get their credits even later
            served = self._volumes[ordered[0]].options.fast(count)
            earlier = ready[count] - count * (served.times.ready_p90 if served else 0.0)
            best = max(best, (saved[count] - price, earlier, count), key=itemgetter(0, 1))
        return ordered[: best[2]]

    def _paid(self, index: int, resource: SharedResource | None, penalty: float) -> Decimal:
        """As if it were alone, with the penalty for what a rate takes of the quota."""
        if resource is None:
            return UNSERVED_USD
        if resource is SharedResource.FAST:
            return ZERO
        usd = self._volumes[index].solo[resource].decidable_usd
        return usd * Decimal(1 + penalty) if resource is SharedResource.RATE else usd

    def _read(self, indices: Iterable[int], fast: Choices, penalty: float) -> Choices:
        """Each instance reads what would cost most otherwise; leaves out volumes without any resource."""
        choices = dict(fast)
        able_to_read: Choices = {}
        for index in indices:
            if index in fast:
                continue
            volume = self._volumes[index]
            for resource in APART:
                if resource in volume.solo:
                    choices[index] = resource
                    break
            if SharedResource.AGENT in volume.solo:
                able_to_read[index] = SharedResource.AGENT
        for able in self._mixes.readers(able_to_read).values():
            choices.update(dict.fromkeys(self._readers(able, choices, penalty), SharedResource.AGENT))
        return choices

    def _readers(self, able: Sequence[int], choices: Choices, penalty: float) -> list[int]:
        """Those of an instance that it reads; most are asked for again with each snapshot that is tried."""
        key = (penalty, *((index, choices.get(index)) for index in able))
        if key not in self._known_readers:
            orders = self._orders(able, choices, penalty)
            tried = (self._readers_by(order, choices, penalty) for order in orders)
            self._known_readers[key] = min(tried, key=itemgetter(0))[1]
        return self._known_readers[key]

    def _orders(self, able: Sequence[int], choices: Choices, penalty: float) -> Iterator[list[int]]:
        otherwise = {index: self._paid(index, choices.get(index), penalty) for index in able}
        size = {index: self._volumes[index].facts.read_bytes for index in able}
        yield sorted(able, key=lambda index: (-otherwise[index], -size[index]))
        yield sorted(able, key=lambda index: (-otherwise[index] / max(1, size[index]), size[index]))

    def _readers_by(
        self, order: Sequence[int], choices: Choices, penalty: float
    ) -> tuple[tuple[int, Decimal, float], list[int]]:
        """Taken in this order while it saves; also how many volumes have no resource, and the price."""
        readers: list[int] = []
        usd = ZERO
        for index in order:
            more = self._mixes.readers_usd([*readers, index])
            if more is None:
                continue
            otherwise = self._paid(index, choices[index], penalty) if index in choices else None
            if otherwise is None or more - usd < otherwise or (more == usd and self._earlier(index, choices)):
                readers.append(index)
                usd = more
        left = [index for index in order if index not in readers]
        without = sum(index not in choices for index in left)
        paid = sum((self._paid(index, choices[index], penalty) for index in left if index in choices), usd)
        return (without, paid, -float(len(readers))), readers

    def _earlier(self, index: int, choices: Choices) -> bool:
        solo = self._volumes[index].solo
        return solo[SharedResource.AGENT].times.ready_p90 < solo[choices[index]].times.ready_p90

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
