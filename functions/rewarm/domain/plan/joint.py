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
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal

from rewarm.domain.plan.estimates import ENDLESS, Estimate, SearchTime
from rewarm.domain.plan.many.dual import Dual, DualPrices
from rewarm.domain.plan.many.priced import Model
from rewarm.domain.plan.many.search import Search
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
"""Up to this many volumes that share something are searched exhaustively."""
FEW = 3
"""Among many others, more are sought first."""
MANY = 300
"""For more volumes, a search that need not be thorough raises its bound only a little."""
MOST_STEPS = 4_000
STEPS_FOR_ALL, LEAST_STEPS = 50_000, 30
"""The steps after which a search ends with the best that it has seen; many groups have fewer each."""
PENALTIES, FIRST_PENALTY, LAST_PENALTY = 8, 1e-9, 1e-3
"""How many prices for a rate's part of the quota are tried; the lowest and highest, in USD for MiB/s x s."""
ENOUGH = Decimal("1.002")
"""A mix that costs at most this many times the least is good enough."""
NEXT_TO_NOTHING = Decimal("0.00001")
UNLIMITED = SharedQuotas(rate_mib_s=10**9, fast_restores=10**9)
LEAST_SHARED = (*APART, SharedResource.FAST, SharedResource.AGENT, SharedResource.WRITE)


def sharing(options: Sequence[VolumeOptions]) -> list[list[int]]:
    """Places of volumes that could share an instance or a snapshot, directly or through others."""
    return _groups(options, [volume.kind.solo(math.inf) for volume in options])


def _groups(
    options: Sequence[VolumeOptions | PricedVolume],
    estimates: Sequence[Mapping[SharedResource, Estimate]],
) -> list[list[int]]:
    """Groups of volumes that could share something, by the resources that each could take."""
    parent = list(range(len(options)))

    def root(place: int) -> int:
        while parent[place] != place:
            parent[place] = parent[parent[place]]
            place = parent[place]
        return place

    first: dict[object, int] = {}
    for place, (volume, able) in enumerate(zip(options, estimates, strict=True)):
        shared: list[object] = []
        if BUSY & able.keys() and volume.facts.reads_through is not None:
            shared.append(volume.facts.reads_through)
        if SharedResource.FAST in able:
            shared.append(volume.place)
        if SharedResource.WRITE in able:
            shared.append(("blocks", volume.facts.snapshot_id))
        for key in shared:
            parent[root(place)] = root(first.setdefault(key, place))
    found: dict[int, list[int]] = {}
    for place in range(len(options)):
        found.setdefault(root(place), []).append(place)
    return list(found.values())


def may_be_together(options: Sequence[VolumeOptions], limits: Sequence[float]) -> bool:
    """Whether they are in time where each that can do so shares nothing, quotas of the Region aside."""
    volumes = [PricedVolume(volume, limit, False) for volume, limit in zip(options, limits, strict=True)]
    choices = {i: min(volume.solo, key=LEAST_SHARED.index) for i, volume in enumerate(volumes) if volume.solo}
    return len(choices) == len(volumes) and Mixes(volumes, UNLIMITED).apart_usd(choices) is not None


def cheapest(
    options: Sequence[VolumeOptions],
    limits: Sequence[float],
    quotas: SharedQuotas,
    patience: SearchTime = ENDLESS,
    *,
    is_thorough: bool = True,
) -> Mix | None:
    """The cheapest mix that was found with each volume within its limit; None where none was found.

    If it need not be thorough, the first mix will do that is in time.
    """
    snapshots = Counter(volume.facts.snapshot_id for volume in options)
    volumes = [
        PricedVolume(volume, limit, snapshots[volume.facts.snapshot_id] > 1)
        for volume, limit in zip(options, limits, strict=True)
    ]
    if not all(volume.solo for volume in volumes):
        return None
    mixes = Mixes(volumes, quotas)
    only = {i: option for i, volume in enumerate(volumes) for option in volume.solo if len(volume.solo) == 1}
    if not mixes.may_fit(only):
        return None  # no choice of the others helps those that have only one
    if not is_thorough:
        alone = {index: apart for index, volume in enumerate(volumes) if (apart := volume.apart) is not None}
        mix = mixes.mix(alone, ZERO) if len(alone) == len(volumes) else None
        if mix is not None:
            return mix
    groups = _groups(volumes, [volume.solo for volume in volumes])
    search = _Search(mixes, groups, patience, is_thorough=is_thorough)
    choices: Choices = {}
    least = ZERO
    for group in groups:
        of_group = search.group(group)
        if of_group is None:
            return None
        choices |= of_group[0]
        least += of_group[1]
    mix = mixes.mix(choices, least)
    if mix is not None and mix.usd == mixes.apart_usd(choices):
        return mix
    together = search.together(least, choices)
    return min((mix for mix in (mix, together) if mix), key=lambda mix: (mix.usd, mix.seconds), default=None)


class _Search:
    """Volumes that share something are searched together, the others apart."""

    def __init__(
        self, mixes: Mixes, groups: Sequence[Sequence[int]], patience: SearchTime, *, is_thorough: bool
    ) -> None:
        self._patience = patience
        self._mixes = mixes
        self._is_thorough = is_thorough
        self._groups = groups
        self._most_steps = MOST_STEPS
        self._is_long = len(mixes.volumes) > 3 * MOST_SEARCHED
        self._is_brief = len(mixes.volumes) > MANY and not is_thorough
        if self._is_long:
            self._most_steps = min(MOST_STEPS, max(LEAST_STEPS, STEPS_FOR_ALL // len(groups)))

    def group(self, indices: Sequence[int]) -> tuple[Choices, Decimal] | None:
        """A choice for volumes that share something, and the least price; without the Region's quotas."""
        start = None
        least = ZERO
        if len(indices) == 1:
            volume = self._mixes.volumes[indices[0]]
            return {indices[0]: volume.cheapest}, volume.solo[volume.cheapest].decidable_usd
        if self._is_long and not self._is_thorough:
            return {index: self._mixes.volumes[index].cheapest for index in indices}, ZERO
        if len(indices) > (FEW if self._is_long else MOST_SEARCHED):
            sought, bound = self._sought(indices, 0.0, None)
            least = _up(bound)
            usd = self._mixes.apart_usd(sought) if len(sought) == len(indices) else None
            start = sought if usd is not None else None
            if usd is not None and (
                usd <= least + NEXT_TO_NOTHING or (self._is_long and not self._is_thorough)
            ):
                return sought, min(usd, least)
        if len(indices) > 3 * MOST_SEARCHED:
            return None if start is None else (start, least)
        found = _Exhaustive(self._mixes, indices, self._mixes.apart_key, self._most_steps).best(start)
        if found is None:
            return None
        choices, proven = found
        return choices, least if proven is None else proven

    def together(self, least_usd: Decimal, apart: Choices) -> Mix | None:
        """The mix within the Region's quotas. Of many volumes, only those that need a quota change."""
        everyone = range(len(self._mixes.volumes))
        if len(self._mixes.volumes) <= MOST_SEARCHED:
            found = _Exhaustive(self._mixes, everyone, self._mixes.whole_key, self._most_steps).best(None)
            if found is None:
                return None
            choices, least = found
            return self._mixes.mix(choices, least_usd if least is None else least)
        if not self._is_long:
            return self._by_penalty(everyone, least_usd, {})
        asking = self._mixes.asking(apart)
        fixed = {i: apart[i] for group in self._groups if asking.isdisjoint(group) for i in group}
        contested = [index for index in everyone if index not in fixed]
        return self._by_penalty(contested, least_usd, fixed)

    def _by_penalty(self, contested: Sequence[int], least_usd: Decimal, fixed: Choices) -> Mix | None:
        """Raises the price of a rate's part of the quota until all fits, then lowers it by bisection."""
        if self._is_brief:
            choices, _ = self._sought(contested, LAST_PENALTY, self._mixes.quotas.fast_restores)
            return self._mixes.mix({**fixed, **choices}, ZERO) if len(choices) == len(contested) else None
        model = Model(self._mixes, contested, 0.0)
        dual = Dual(model, self._mixes.room_for_rate(), self._mixes.quotas.fast_restores)
        dual.raised(2 * sum(model.otherwise.values()))
        if dual.bound >= model.unserved:
            return None
        least_usd = max(least_usd, _up(dual.bound))
        best: Mix | None = None
        first = DualPrices(dual.prices.mib)
        low = FIRST_PENALTY
        high = LAST_PENALTY
        penalty = dual.prices.rate
        for _ in range(PENALTIES):
            choices, _ = self._sought(contested, penalty, self._mixes.quotas.fast_restores, first)
            mix = self._mixes.mix({**fixed, **choices}, least_usd) if len(choices) == len(contested) else None
            if mix is not None:
                best = min((mix, best or mix), key=lambda mix: (mix.usd, mix.seconds))
                high = penalty
            elif penalty == LAST_PENALTY:
                break
            else:
                low = max(low, penalty)
            is_enough = not self._is_thorough or not self._patience.lasts()
            if best is not None and (is_enough or best.usd <= least_usd * ENOUGH):
                break
            penalty = LAST_PENALTY if best is None else math.sqrt(low * high)
        return best

    def _sought(
        self, indices: Sequence[int], penalty: float, enabled: int | None, first: DualPrices | None = None
    ) -> tuple[Choices, float]:
        """The best that a search finds, and what no mix undercuts if the penalty is 0."""
        model = Model(self._mixes, indices, penalty)
        dual = Dual(model, None, enabled, first=first, is_brief=first is not None or self._is_brief)
        return self._earlier(Search(model, dual, enabled, self._patience).best()), dual.bound

    def _earlier(self, choices: Choices) -> Choices:
        """The choices with fast snapshot restore that is enabled already, for free, where it helps."""
        volumes = self._mixes.volumes
        places: dict[tuple[str, str], list[int]] = {}
        for index in choices:
            if volumes[index].options.fast_restore_runs and SharedResource.FAST in volumes[index].solo:
                places.setdefault(volumes[index].place, []).append(index)
        if not places:
            return choices
        seconds = self._mixes.ready_apart(choices)
        found = dict(choices)
        for members in places.values():
            members.sort(
                key=lambda index: (choices[index] is not SharedResource.FAST, -seconds.get(index, 0.0))
            )
            counts = [*range(0, len(members), 1 + len(members) // 100), len(members)]
            saved = {count: self._saved_seconds(members[:count], seconds) for count in counts}
            found |= dict.fromkeys(members[: max(saved, key=lambda count: saved[count])], SharedResource.FAST)
        return found

    def _saved_seconds(self, members: Sequence[int], seconds: Mapping[int, float]) -> float:
        """Seconds by which all of them together are earlier with fast snapshot restore."""
        if not members:
            return 0.0
        volumes = self._mixes.volumes
        served = volumes[members[0]].options.fast(len(members))
        if served is None or served.times.ready_p90 > min(volumes[index].limit for index in members):
            return -math.inf
        return sum(seconds.get(index, 0.0) for index in members) - len(members) * served.times.ready_p90


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
        """Resources to try. Of alike volumes, a later one takes no earlier one, which would repeat a mix."""
        volume = self._mixes.volumes[self._order[place]]
        found = sorted(volume.solo)
        if place:
            before = self._order[place - 1]
            other = self._mixes.volumes[before]
            if other.facts is volume.facts and other.limit == volume.limit:
                found = [resource for resource in found if resource >= choices[before]]
        return found


def _up(usd: float) -> Decimal:
    """The next micro-dollar, as prices have no parts of one; a float cannot be trusted to the last bit."""
    return Decimal(math.ceil(usd * 1_000_000 * (1 - 1e-9) - 1e-3)) / 1_000_000
