"""The options of each volume of a restore, and the price of a mix of strategies."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import InitVar, dataclass, field, replace
from decimal import Decimal
from enum import IntEnum
from functools import cached_property
from typing import NamedTuple

from rewarm.domain.model import PriceBook, Strategy
from rewarm.domain.plan import cost
from rewarm.domain.plan.batches import RateJob, Turn, expected_starts, never_fit, seconds_by_rate, turns
from rewarm.domain.plan.estimates import LONGEST_RESTORE_SECONDS, Estimate, EstimateLimits, PlanObjective
from rewarm.domain.plan.estimators import ESTIMATORS, MIN_RATE_MIB_S, at_rate, most_rate, rate_p90
from rewarm.domain.plan.facts import VolumeFacts
from rewarm.domain.plan.warm_up import Boosts, at_boost, boosts_of, promised_p90_beside
from rewarm.domain.time.timings import Quantiles
from rewarm.domain.value import Value

ZERO = Decimal(0)
ORDER = {name: place for place, name in enumerate(ESTIMATORS)}

NOT_BY_ITSELF = frozenset(
    {
        Strategy.WARM_UP_AGENT,
        Strategy.BOOSTED_WARM_UP,
        Strategy.PROVISIONED_RATE,
        Strategy.FAST_SNAPSHOT_RESTORE,
        Strategy.DIRECT_WRITE,
    }
)
"""Strategies that share something; the others have one estimate, whatever the other volumes do."""


class SharedResource(IntEnum):
    """What a volume's strategy shares with other volumes."""

    AGENT = 0
    """The instance's throughput, with or without a boost."""
    FAST = 1
    """Fast snapshot restore."""
    ALONE = 2
    """Nothing: EBS loads in the background, or copies."""
    RATE = 3
    """The Region's quota of initialization rate."""
    WRITE = 4
    """The instance's throughput, and the blocks of the snapshot."""


BUSY = frozenset({SharedResource.AGENT, SharedResource.WRITE})
"""Resources with which the agent works."""
APART = (SharedResource.ALONE, SharedResource.RATE)
"""Resources with which the price of a volume does not depend on other volumes."""
Choices = dict[int, SharedResource]
"""The resource that each volume takes, by its place in the list of volumes."""


def rank(estimate: Estimate) -> tuple[Decimal, float, float, int]:
    """Price first; ties by the earlier P90, the earlier P50, the order of ESTIMATORS."""
    times = estimate.times
    return (estimate.decidable_usd, times.ready_p90, times.ready_p50, ORDER[estimate.strategy])


_NAMES = frozenset({"snapshot_id", "availability_zone", "instance_id", "card", "priority"})
"""Fields that change no estimate."""


def _alone(facts: VolumeFacts) -> VolumeFacts:
    """As if the volume were its restore's only one."""
    beside = (facts.read_beside, facts.write_beside)
    counts = (facts.writers_of_snapshot, facts.volumes_of_snapshot, facts.volumes_of_restore)
    if (*beside, *counts, facts.snapshots_of_restore) == ((), (), 1, 1, 1, 1):
        return facts
    return replace(
        facts,
        read_beside=(),
        write_beside=(),
        writers_of_snapshot=1,
        volumes_of_snapshot=1,
        snapshots_of_restore=1,
        volumes_of_restore=1,
    )


class Ready(NamedTuple):
    """What most searches need of an estimate."""

    usd: Decimal
    p90: float


class KindOptions:
    """The estimates of volumes that differ in nothing but names, each computed once."""

    def __init__(self, facts: VolumeFacts, objective: PlanObjective, book: PriceBook) -> None:
        self.facts = _alone(facts)
        """The facts of one of them."""
        self.book = book
        self.loads = {
            SharedResource.AGENT: self.facts.read_bytes,
            SharedResource.WRITE: self.facts.write_bytes,
        }
        """Bytes that go through the instance."""
        self.fast_restore_runs = facts.fast_restore_runs
        self._allowed = [name for name in ESTIMATORS if objective.allows(name)]
        self._budget_usd = objective.budget_usd if objective.fixed is Strategy.VOLUME_CLONE else None
        self._unboosted: dict[tuple[int, ...], Estimate | None] = {}
        self._unboosted_p90: dict[tuple[int, ...], float] = {}
        self._agents: dict[tuple[int, ...], Estimate | None] = {}
        self._agents_within = -1.0
        self._fast: dict[int, Estimate | None] = {}
        self._written: dict[tuple[int, ...], Estimate | None] = {}
        self._shared_usd: dict[tuple[int, int], Decimal] = {}
        self._rates = range(MIN_RATE_MIB_S, most_rate(self.facts) + 1)
        self._rate_p90 = rate_p90(self.facts)
        self._rated: dict[int, Estimate | None] = {}
        self._at_rate: dict[int, Estimate] = {}
        self._solo: dict[float, dict[SharedResource, Estimate]] = {}
        self._cheapest: dict[float, SharedResource] = {}
        self._apart: dict[float, SharedResource | None] = {}
        self._boosted: dict[int, Estimate] = {}
        found = (self._estimate(name, self.facts, 0.0) for name in self._allowed if name not in NOT_BY_ITSELF)
        self._by_itself = sorted((estimate for estimate in found if estimate is not None), key=rank)

    def agent(self, beside: tuple[int, ...], seconds: float) -> Estimate | None:
        """Without a boost or with the lowest in time, beside these bytes of others; None if too late."""
        if seconds != self._agents_within:
            self._agents = {}
            self._agents_within = seconds
        if beside not in self._agents:
            self._agents[beside] = self._agent(beside, seconds)
        return self._agents[beside]

    def agent_ready(self, beside: tuple[int, ...], seconds: float) -> Ready | None:
        """The same in short, without an estimate unless there is a boost."""
        if (unboosted := self._read(())) is not None and (ready_p90 := self._read_p90(beside)) <= seconds:
            return Ready(unboosted.decidable_usd, ready_p90)
        estimate = self.agent(beside, seconds)
        return None if estimate is None else Ready(estimate.decidable_usd, estimate.times.ready_p90)

    def _read(self, beside: tuple[int, ...]) -> Estimate | None:
        if beside not in self._unboosted:
            self._unboosted[beside] = self._reading(Strategy.WARM_UP_AGENT, beside, 0.0)
        return self._unboosted[beside]

    def _read_p90(self, beside: tuple[int, ...]) -> float:
        """Infinite where a restore has no time for it."""
        if beside not in self._unboosted_p90:
            ready_p90 = self._p90_beside(beside)
            self._unboosted_p90[beside] = ready_p90 if ready_p90 <= LONGEST_RESTORE_SECONDS else math.inf
        return self._unboosted_p90[beside]

    @cached_property
    def _p90_beside(self) -> Callable[[tuple[int, ...]], float]:
        return promised_p90_beside(self.facts)

    def _agent(self, beside: tuple[int, ...], seconds: float) -> Estimate | None:
        if self._read(()) is not None and self._read_p90(beside) <= seconds:
            return self._read(beside)
        if not beside:
            return self._boosted_alone(seconds)
        estimate = self._reading(Strategy.BOOSTED_WARM_UP, beside, seconds)
        return estimate if estimate is not None and estimate.times.ready_p90 <= seconds else None

    def _boosted_alone(self, seconds: float) -> Estimate | None:
        """The estimate with the lowest boost in time; each boost is computed once."""
        boosts = self._boosts
        if boosts is None:
            return None
        steps = boosts.steps_mib_s
        ready = boosts.ready_p90
        longest = min(seconds, LONGEST_RESTORE_SECONDS)
        least = bisect_left(steps, -longest, key=lambda mib_s: -ready(mib_s))
        if least == len(steps):
            return None
        if least not in self._boosted:
            self._boosted[least] = at_boost(boosts, self.book, steps[least])
        return self._boosted[least]

    @cached_property
    def _boosts(self) -> Boosts | None:
        if Strategy.BOOSTED_WARM_UP not in self._allowed:
            return None
        boosts = boosts_of(self.facts, self.book)
        return None if isinstance(boosts, str) else boosts

    def _reading(self, name: Strategy, beside: tuple[int, ...], seconds: float) -> Estimate | None:
        return self._allowed_estimate(
            name, replace(self.facts, read_beside=beside, write_beside=beside), seconds
        )

    @cached_property
    def most_mib_s(self) -> float:
        """The throughput of the volume with the highest boost that it may have."""
        speed = self.facts.speed
        own = min(speed.sustained_mib_s, speed.burst_mib_s)
        return own if self._boosts is None else float(self._boosts.steps_mib_s[-1])

    def written(self, beside: tuple[int, ...], seconds: float) -> Estimate | None:
        """By the agent, beside these bytes of others, as if it paid the blocks alone; None if too late."""
        if beside not in self._written:
            self._written[beside] = self._reading(Strategy.DIRECT_WRITE, beside, seconds)
        estimate = self._written[beside]
        return estimate if estimate is not None and estimate.times.ready_p90 <= seconds else None

    def written_ready(
        self, beside: tuple[int, ...], seconds: float, sharers: int, position: int
    ) -> Ready | None:
        """The same in short, for one of several volumes that share the blocks."""
        estimate = self.written(beside, seconds)
        if estimate is None:
            return None
        if (sharers, position) not in self._shared_usd:
            self._shared_usd[sharers, position] = self.sharing(estimate, sharers, position).decidable_usd
        return Ready(self._shared_usd[sharers, position], estimate.times.ready_p90)

    def sharing(self, estimate: Estimate, sharers: int, position: int) -> Estimate:
        """The estimate of one of several written volumes; their parts add up to the price."""
        lines = cost.blocks(self.facts.written_blocks, self.book)
        sunk = (part for part in estimate.parts if part.sunk)
        return replace(estimate, parts=(*sunk, *(cost.shared(line, sharers, position) for line in lines)))

    def fast(self, members: int) -> Estimate | None:
        """With fast snapshot restore for so many volumes of the snapshot, at the price of all of them."""
        if members not in self._fast:
            facts = replace(self.facts, volumes_of_snapshot=members)
            self._fast[members] = self._allowed_estimate(Strategy.FAST_SNAPSHOT_RESTORE, facts, 0.0)
        return self._fast[members]

    def by_itself(self, seconds: float) -> Estimate | None:
        """The cheapest in time that shares nothing."""
        return next((found for found in self._by_itself if found.times.ready_p90 <= seconds), None)

    def rate(self, seconds: float) -> Estimate | None:
        """The lowest rate that is in time, begun at once."""
        least = bisect_left(self._rates, -seconds, key=lambda rate: -self._rate_p90(rate))
        if least == len(self._rates):
            return None
        if least not in self._rated:
            at_least = self._rate_p90(self._rates[least])
            self._rated[least] = self._allowed_estimate(Strategy.PROVISIONED_RATE, self.facts, at_least)
        return self._rated[least]

    def at_rate(self, rate_mib_s: int) -> Estimate:
        """One of 100 to 300 MiB/s, begun at once."""
        if rate_mib_s not in self._at_rate:
            self._at_rate[rate_mib_s] = at_rate(self.facts, self.book, rate_mib_s)
        return self._at_rate[rate_mib_s]

    @cached_property
    def seconds_by_rate(self) -> tuple[float, ...]:
        """P90 with each rate."""
        return seconds_by_rate(self.facts)

    def solo(self, seconds: float) -> dict[SharedResource, Estimate]:
        """By each resource, as if there were no other volume."""
        if seconds not in self._solo:
            self._solo[seconds] = self._solo_within(seconds)
        return self._solo[seconds]

    def cheapest(self, seconds: float) -> SharedResource:
        """As if there were no other volume."""
        if seconds not in self._cheapest:
            solo = self.solo(seconds)
            self._cheapest[seconds] = min(
                solo, key=lambda name: (solo[name].decidable_usd, solo[name].times.ready_p90, name)
            )
        return self._cheapest[seconds]

    def apart(self, seconds: float) -> SharedResource | None:
        """The cheapest without the instance and fast snapshot restore; None where there is nothing."""
        if seconds not in self._apart:
            solo = self.solo(seconds)
            able = (name for name in APART if name in solo)
            self._apart[seconds] = min(able, key=lambda name: solo[name].decidable_usd, default=None)
        return self._apart[seconds]

    def _solo_within(self, seconds: float) -> dict[SharedResource, Estimate]:
        found = {
            SharedResource.AGENT: self.agent((), seconds),
            SharedResource.FAST: self.fast(1),
            SharedResource.ALONE: self.by_itself(seconds),
            SharedResource.RATE: self.rate(seconds),
            SharedResource.WRITE: self.written((), seconds),
        }
        return {
            resource: estimate
            for resource, estimate in found.items()
            if estimate is not None and estimate.times.ready_p90 <= seconds
        }

    @cached_property
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
        return min((estimate.times.ready_p90 for estimate in found if estimate is not None), default=math.inf)

    def times(self) -> list[float]:
        """The P90s of the strategies that have no setting."""
        found = [*self._by_itself, self.fast(1), self.agent((), math.inf), self.written((), math.inf)]
        return [estimate.times.ready_p90 for estimate in found if estimate is not None]

    def _allowed_estimate(self, name: Strategy, facts: VolumeFacts, seconds: float) -> Estimate | None:
        return self._estimate(name, facts, seconds) if name in self._allowed else None

    def _estimate(self, name: Strategy, facts: VolumeFacts, seconds: float) -> Estimate | None:
        outcome = ESTIMATORS[name](facts, self.book, EstimateLimits(seconds, self._budget_usd))
        return outcome if isinstance(outcome, Estimate) else None


class VolumeOptions(NamedTuple):
    """One volume of a restore. Volumes that are alike share the object."""

    facts: VolumeFacts
    """As if it were alone."""
    kind: KindOptions
    place: tuple[str, str]
    """Snapshot and Availability Zone."""
    name: str
    """A text to sort by, the same only for alike volumes."""


def options_of(
    volumes: Sequence[VolumeFacts], objective: PlanObjective, book: PriceBook
) -> list[VolumeOptions]:
    """One for each volume, in the same order."""
    # Timings are many figures, and one object for all volumes that they are the same for.
    texts = {id(own): {"timings": repr(own)} for own in {id(a.timings): a.timings for a in volumes}.values()}
    names = [repr(tuple((vars(facts) | texts[id(facts.timings)]).values())) for facts in volumes]
    known: dict[str, VolumeOptions] = {}
    kinds: dict[str, KindOptions] = {}
    for name, facts in dict(zip(names, volumes, strict=True)).items():
        alone = _alone(facts)
        likeness = {**vars(alone), "timings": id(alone.timings), **dict.fromkeys(_NAMES)}
        key = repr(tuple(likeness.values()))
        if key not in kinds:
            kinds[key] = KindOptions(alone, objective, book)
        known[name] = VolumeOptions(alone, kinds[key], alone.place, name)
    return [known[name] for name in names]


class SharedQuotas(Value):
    """What all volumes of the restore have together."""

    rate_mib_s: int
    fast_restores: int

    @classmethod
    def of(cls, volumes: Iterable[VolumeFacts]) -> SharedQuotas:
        """The facts of all volumes of a restore name the same quotas."""
        first = next(iter(volumes))
        return cls(first.rate_quota_left_mib_s, first.fast_restore_quota_left)


class Mix(Value):
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
class PricedVolume:
    """One volume in a search."""

    volume: InitVar[VolumeOptions]
    limit: float
    shares_blocks: bool
    """Another volume is of the same snapshot."""
    facts: VolumeFacts = field(init=False)
    """As if it were alone. Volumes that are alike share the object."""
    options: KindOptions = field(init=False)
    place: tuple[str, str] = field(init=False)
    solo: dict[SharedResource, Estimate] = field(init=False)
    apart: SharedResource | None = field(init=False)

    def __post_init__(self, volume: VolumeOptions) -> None:
        self.facts, self.options, self.place, _ = volume
        self.solo = self.options.solo(self.limit)
        self.apart = self.options.apart(self.limit)

    @property
    def least_usd(self) -> Decimal:
        """Fast snapshot restore may be paid by others, and blocks too where others need the same."""
        if SharedResource.FAST in self.solo or (self.shares_blocks and SharedResource.WRITE in self.solo):
            return ZERO
        return min((estimate.decidable_usd for estimate in self.solo.values()), default=ZERO)

    @property
    def cheapest(self) -> SharedResource:
        """As if it were alone."""
        return self.options.cheapest(self.limit)


class Mixes:
    """Judges mixes of the volumes of one restore."""

    def __init__(self, volumes: Sequence[PricedVolume], quotas: SharedQuotas) -> None:
        self.volumes = volumes
        self.quotas = quotas
        self._known_in_time: dict[tuple[tuple[int, float, SharedResource], ...], bool] = {}
        self._known_turns: dict[tuple[int, ...], list[Turn] | None] = {}
        self._do_not_fit: list[frozenset[int]] = []

    def mix(self, choices: Choices, least_usd: Decimal) -> Mix | None:
        """The mix of all volumes; None if it is not possible."""
        found = self.estimates(choices)
        if found is None:
            return None
        return Mix(tuple(found[index] for index in range(len(self.volumes))), _sum(found.values()), least_usd)

    def estimates(self, choices: Choices) -> dict[int, Estimate] | None:
        """Estimates of the volumes that have a resource; None if one is late or a quota is too small."""
        found: dict[int, Estimate] = {}
        places = self._members(choices)
        for members in places.values():
            fast = self._fast(members)
            if fast is None:
                return None
            found.update(fast)
        if self._enabled(places) > self.quotas.fast_restores:
            return None
        for working in self._working(choices):
            if working is None:
                return None
            found.update(working)
        rated = self._rated([index for index, resource in choices.items() if resource is SharedResource.RATE])
        if rated is None:
            return None
        alone = [index for index, resource in choices.items() if resource is SharedResource.ALONE]
        return {**found, **rated, **{index: self.volumes[index].solo[choices[index]] for index in alone}}

    def apart_usd(self, choices: Choices) -> Decimal | None:
        """As if no quota of the Region were short."""
        total = _sum(
            self.volumes[index].solo[resource] for index, resource in choices.items() if resource in APART
        )
        for members in self._members(choices).values():
            usd = self.members_usd(members)
            if usd is None:
                return None
            total += usd
        writers = self._writers(choices)
        for busy in self.readers(choices).values():
            working = self._in_short({index: choices[index] for index in busy}, writers)
            if working is None:
                return None
            total += sum((ready.usd for ready in working.values()), ZERO)
        return total

    def apart_key(self, choices: Choices) -> tuple[Decimal, float, float] | None:
        """Price, then P90 of the last volume, then of all; quotas of the Region aside."""
        usd = self.apart_usd(choices)
        ready = self.ready_apart(choices).values()
        return None if usd is None else (usd, max(ready), math.fsum(ready))

    def ready_apart(self, choices: Choices) -> dict[int, float]:
        """P90 of the volumes that are in time, quotas of the Region aside."""
        found = {
            index: self.volumes[index].solo[resource].times.ready_p90
            for index, resource in choices.items()
            if resource in APART
        }
        writers = self._writers(choices)
        for busy in self.readers(choices).values():
            working = self._in_short({index: choices[index] for index in busy}, writers) or {}
            found.update((index, ready.p90) for index, ready in working.items())
        for members in self._members(choices).values():
            fast = self._fast(members) or {}
            found.update((index, estimate.times.ready_p90) for index, estimate in fast.items())
        return found

    def whole_key(self, choices: Choices) -> tuple[Decimal, float, float] | None:
        """As apart_key, with the quotas of the Region."""
        found = self.estimates(choices)
        return None if found is None else _key(found.values())

    def are_in_time(self, busy: Choices) -> bool:
        """Whether all volumes of an instance are, by the estimates themselves; the same for alike volumes."""
        volumes = self.volumes
        key = tuple(sorted((id(volumes[index].options), volumes[index].limit, busy[index]) for index in busy))
        if key not in self._known_in_time:
            self._known_in_time[key] = self._in_short(busy, self._writers(busy)) is not None
        return self._known_in_time[key]

    def members_usd(self, members: Sequence[int]) -> Decimal | None:
        """What fast snapshot restore of one snapshot in one zone costs; None where a volume is late."""
        slowest = 0.0
        for volume in map(self.volumes.__getitem__, members):
            estimate = volume.options.fast(len(members))
            if estimate is None or estimate.times.ready_p90 > volume.limit:
                return None
            slowest = max(slowest, estimate.times.ready_p90)
        first = self.volumes[members[0]]
        if first.options.fast_restore_runs:
            return ZERO
        return cost.fast_snapshot_restore(first.options.book, slowest).usd

    def asking(self, choices: Choices) -> set[int]:
        """Volumes that take something of a quota of the Region, cost something, or are late."""
        own = {i: self.volumes[i].solo[one].decidable_usd for i, one in choices.items() if one in APART}
        found = {index for index, usd in own.items() if usd or choices[index] is SharedResource.RATE}
        for place, members in self._members(choices).items():
            if self.members_usd(members) is None or self._enabled({place: members}):
                found.update(members)
        writers = self._writers(choices)
        for busy in self.readers(choices).values():
            working = self._in_short({index: choices[index] for index in busy}, writers)
            found.update(index for index in busy if working is None or working[index].usd)
        return found

    def members_usd_of(self, index: int, count: int) -> Decimal | None:
        """What fast snapshot restore costs for `count` volumes, of which this is the last."""
        volume = self.volumes[index]
        estimate = volume.options.fast(count)
        if estimate is None:
            return None
        if volume.options.fast_restore_runs:
            return ZERO
        return cost.fast_snapshot_restore(volume.options.book, estimate.times.ready_p90).usd

    def _working(self, choices: Choices) -> Iterator[dict[int, Estimate] | None]:
        """What the agents do, by instance; None where a volume is late."""
        writers = self._writers(choices)
        for busy in self.readers(choices).values():
            yield self._on_instance({index: choices[index] for index in busy}, writers)

    def _writers(self, choices: Choices) -> dict[str, list[int]]:
        """By snapshot, the volumes that are written, ascending."""
        found: dict[str, list[int]] = {}
        for index in sorted(index for index, resource in choices.items() if resource is SharedResource.WRITE):
            found.setdefault(self.volumes[index].facts.snapshot_id, []).append(index)
        return found

    def _beside(self, busy: Choices) -> Iterator[tuple[int, SharedResource, tuple[int, ...]]]:
        """Each volume of one instance, with the bytes of the others, ascending."""
        loads = {index: self.volumes[index].options.loads[resource] for index, resource in busy.items()}
        sizes = sorted(loads.values())
        for index, resource in busy.items():
            place = bisect_left(sizes, loads[index])
            yield index, resource, (*sizes[:place], *sizes[place + 1 :])

    def _in_short(self, busy: Choices, writers: Mapping[str, Sequence[int]]) -> dict[int, Ready] | None:
        """As `_on_instance`, without the estimates."""
        found = {}
        for index, resource, beside in self._beside(busy):
            volume = self.volumes[index]
            if resource is SharedResource.WRITE:
                others = writers[volume.facts.snapshot_id]
                ready = volume.options.written_ready(beside, volume.limit, len(others), others.index(index))
            else:
                ready = volume.options.agent_ready(beside, volume.limit)
            if ready is None:
                return None
            found[index] = ready
        return found

    def _on_instance(self, busy: Choices, writers: Mapping[str, Sequence[int]]) -> dict[int, Estimate] | None:
        """Estimates for the volumes of one instance; `writers` are all written volumes of each snapshot."""
        found = {}
        for index, resource, beside in self._beside(busy):
            volume = self.volumes[index]
            options = volume.options
            take = options.written if resource is SharedResource.WRITE else options.agent
            estimate = take(beside, volume.limit)
            if estimate is None:
                return None
            if resource is SharedResource.WRITE:
                others = writers[volume.facts.snapshot_id]
                estimate = options.sharing(estimate, len(others), others.index(index))
            found[index] = estimate
        return found

    def _fast(self, members: Sequence[int]) -> dict[int, Estimate] | None:
        """Estimates with one price in parts that add up, whatever the order of the volumes."""
        if self.members_usd(members) is None:
            return None
        count = len(members)
        fast = {i: self.volumes[i].options.fast(count) for i in members}
        found = {i: estimate for i, estimate in fast.items() if estimate is not None}
        if self.volumes[members[0]].options.fast_restore_runs:
            return found
        seconds = max(estimate.times.ready_p90 for estimate in found.values())
        ordered = sorted(found, key=lambda index: self.volumes[index].facts.written_bytes)
        return {
            index: replace(
                found[index],
                parts=(
                    *(part for part in found[index].parts if part.sunk),
                    cost.fast_snapshot_restore(self.volumes[index].options.book, seconds, count, place),
                ),
            )
            for place, index in enumerate(ordered)
        }

    def _rated(self, indices: Sequence[int]) -> dict[int, Estimate] | None:
        indices = sorted(indices)
        taken = self._turns(tuple(indices))
        if taken is None:
            return None
        found = {
            index: self.volumes[index].options.at_rate(turn.rate_mib_s)
            for index, turn in zip(indices, taken, strict=True)
        }
        return found | self._waiting(indices, taken, found)

    def _waiting(
        self, indices: Sequence[int], taken: Sequence[Turn], begun: Mapping[int, Estimate]
    ) -> dict[int, Estimate]:
        """When each volume begins that waits for others' rate: as expected, and at the latest."""
        if not any(turn.start_seconds for turn in taken):
            return {}
        held = [
            begun[index].times.ready_p50 - self.volumes[index].facts.timings.status_delay_seconds.p50
            for index in indices
        ]
        expected = expected_starts(taken, held, self.quotas.rate_mib_s)
        found = {}
        for index, turn, start in zip(indices, taken, expected, strict=True):
            if turn.start_seconds:
                queue = Quantiles(min(start, turn.start_seconds), turn.start_seconds)
                facts = replace(self.volumes[index].facts, queue_seconds=queue)
                found[index] = at_rate(facts, self.volumes[index].options.book, turn.rate_mib_s)
        return found

    def may_fit(self, choices: Choices) -> bool:
        """False if a quota of the Region is certainly too small."""
        jobs = self._jobs([index for index, resource in choices.items() if resource is SharedResource.RATE])
        fast = self._enabled(self._members(choices))
        return fast <= self.quotas.fast_restores and not never_fit(jobs, self.quotas.rate_mib_s)

    def room_for_rate(self) -> float:
        """MiB/s x seconds of rate that the quota leaves until the last limit."""
        ends = (volume.limit - volume.facts.timings.status_delay_seconds.p90 for volume in self.volumes)
        return self.quotas.rate_mib_s * max(0.0, *ends)

    def _jobs(self, indices: Iterable[int]) -> list[RateJob]:
        return [
            RateJob(
                volume.facts.data_bytes,
                volume.limit,
                volume.options.seconds_by_rate,
                lag_seconds=volume.facts.timings.status_delay_seconds.p90,
            )
            for volume in map(self.volumes.__getitem__, indices)
        ]

    def _turns(self, indices: tuple[int, ...]) -> list[Turn] | None:
        """The turns of these volumes; if they do not fit, they do not fit with more volumes either."""
        if indices not in self._known_turns:
            if any(others.issubset(indices) for others in self._do_not_fit):
                return None
            self._known_turns[indices] = taken = turns(self._jobs(indices), self.quotas.rate_mib_s)
            if taken is None:
                self._do_not_fit.append(frozenset(indices))
        return self._known_turns[indices]

    def _enabled(self, places: Mapping[tuple[str, str], Sequence[int]]) -> int:
        """How many snapshots in a zone get fast snapshot restore by this restore."""
        return sum(not self.volumes[members[0]].options.fast_restore_runs for members in places.values())

    def readers(self, choices: Choices) -> dict[str, list[int]]:
        """Volumes by instance, or by EBS card. A volume without an instance's id shares none."""
        found: dict[str, list[int]] = {}
        for index, resource in choices.items():
            if resource in BUSY:
                found.setdefault(self.volumes[index].facts.reads_through or str(index), []).append(index)
        return found

    def _members(self, choices: Choices) -> dict[tuple[str, str], list[int]]:
        """Volumes with fast snapshot restore, by snapshot and zone."""
        found: dict[tuple[str, str], list[int]] = {}
        for index, resource in choices.items():
            if resource is SharedResource.FAST:
                found.setdefault(self.volumes[index].place, []).append(index)
        return found


def _sum(estimates: Iterable[Estimate]) -> Decimal:
    return sum((estimate.decidable_usd for estimate in estimates), ZERO)


def _key(estimates: Iterable[Estimate]) -> tuple[Decimal, float, float]:
    ready = [(estimate.decidable_usd, estimate.times.ready_p90) for estimate in estimates]
    return (
        sum((usd for usd, _ in ready), ZERO),
        max(seconds for _, seconds in ready),
        math.fsum(seconds for _, seconds in ready),
    )
