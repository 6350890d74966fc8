"""The options of each volume of a restore, and the price of a mix of strategies."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from enum import IntEnum

from rewarm.domain.model import PriceBook, Strategy
from rewarm.domain.plan import cost
from rewarm.domain.plan.batches import RateJob, Turn, expected_starts, never_fit, seconds_by_rate, turns
from rewarm.domain.plan.estimates import LONGEST_RESTORE_SECONDS, Estimate, EstimateLimits, PlanObjective
from rewarm.domain.plan.estimators import ESTIMATORS, MIN_RATE_MIB_S, at_rate, most_rate, rate_p90
from rewarm.domain.plan.facts import VolumeFacts
from rewarm.domain.plan.warm_up import Boosts, at_boost, boosts_of
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
"""Those with which the agent works."""
APART = (SharedResource.ALONE, SharedResource.RATE)
"""Those with which the price of a volume does not depend on other volumes."""
Choices = dict[int, SharedResource]
"""The resource that each volume takes, by its place in the list of volumes."""


def rank(estimate: Estimate) -> tuple[Decimal, float, float, int]:
    """Price first; ties by the earlier P90, the earlier P50, the order of ESTIMATORS."""
    times = estimate.times
    return (estimate.decidable_usd, times.ready_p90, times.ready_p50, ORDER[estimate.strategy])


class VolumeOptions:
    """The estimates of one volume, computed once; volumes that are alike share them."""

    def __init__(self, facts: VolumeFacts, objective: PlanObjective, book: PriceBook) -> None:
        self.facts = replace(
            facts,
            read_beside=(),
            write_beside=(),
            writers_of_snapshot=1,
            volumes_of_snapshot=1,
            snapshots_of_restore=1,
            volumes_of_restore=1,
        )
        self.book = book
        self._allowed = [name for name in ESTIMATORS if objective.allows(name)]
        self._most_mib_s: float | None = None
        self._budget_usd = objective.budget_usd if objective.fixed is Strategy.VOLUME_CLONE else None
        self._unboosted: dict[tuple[int, ...], Estimate | None] = {}
        self._agents: dict[tuple[int, ...], Estimate | None] = {}
        self._agents_within = -1.0
        self._fast: dict[int, Estimate | None] = {}
        self._written: dict[tuple[int, ...], Estimate | None] = {}
        self._seconds_by_rate: tuple[float, ...] = ()
        self._rates = range(MIN_RATE_MIB_S, most_rate(self.facts) + 1)
        self._rate_p90 = rate_p90(self.facts)
        self._rated: dict[int, Estimate | None] = {}
        self._boosts: Boosts | str | None = None
        self._boosted: dict[int, Estimate] = {}
        found = (self._estimate(name, self.facts, 0.0) for name in self._allowed if name not in NOT_BY_ITSELF)
        self._by_itself = sorted((estimate for estimate in found if estimate is not None), key=rank)

    def agent(self, beside: tuple[int, ...], seconds: float) -> Estimate | None:
        """Without a boost or with the lowest in time, beside these bytes of others; None if too late."""
        if seconds != self._agents_within:
            self._agents, self._agents_within = {}, seconds
        if beside not in self._agents:
            self._agents[beside] = self._agent(beside, seconds)
        return self._agents[beside]

    def _agent(self, beside: tuple[int, ...], seconds: float) -> Estimate | None:
        if beside not in self._unboosted:
            self._unboosted[beside] = self._reading(Strategy.WARM_UP_AGENT, beside, 0.0)
        estimate = self._unboosted[beside]
        if estimate is not None and estimate.times.ready_p90 <= seconds:
            return estimate
        if not beside:
            return self._boosted_alone(seconds)
        estimate = self._reading(Strategy.BOOSTED_WARM_UP, beside, seconds)
        return estimate if estimate is not None and estimate.times.ready_p90 <= seconds else None

    def _boosted_alone(self, seconds: float) -> Estimate | None:
        """With the lowest boost in time, of which each is computed once."""
        if self._boosts is None:
            is_allowed = Strategy.BOOSTED_WARM_UP in self._allowed
            self._boosts = boosts_of(self.facts, self.book) if is_allowed else "not allowed"
        if isinstance(self._boosts, str):
            return None
        steps, ready = self._boosts.steps_mib_s, self._boosts.ready_p90
        longest = min(seconds, LONGEST_RESTORE_SECONDS)
        least = bisect_left(steps, -longest, key=lambda mib_s: -ready(mib_s))
        if least == len(steps):
            return None
        if least not in self._boosted:
            self._boosted[least] = at_boost(self._boosts, self.book, steps[least])
        return self._boosted[least]

    def _reading(self, name: Strategy, beside: tuple[int, ...], seconds: float) -> Estimate | None:
        return self._allowed_estimate(
            name, replace(self.facts, read_beside=beside, write_beside=beside), seconds
        )

    def most_mib_s(self) -> float:
        """The throughput of the volume with the highest boost that it may have."""
        if self._most_mib_s is None:
            speed = self.facts.speed
            self._most_mib_s = min(speed.sustained_mib_s, speed.burst_mib_s)
            boosts = boosts_of(self.facts, self.book)
            if Strategy.BOOSTED_WARM_UP in self._allowed and not isinstance(boosts, str):
                self._most_mib_s = float(boosts.steps_mib_s[-1])
        return self._most_mib_s

    def written(self, beside: tuple[int, ...], seconds: float) -> Estimate | None:
        """By the agent, beside these bytes of others, as if it paid the blocks alone; None if too late."""
        if beside not in self._written:
            self._written[beside] = self._reading(Strategy.DIRECT_WRITE, beside, seconds)
        estimate = self._written[beside]
        return estimate if estimate is not None and estimate.times.ready_p90 <= seconds else None

    def fast(self, members: int) -> Estimate | None:
        """By fast snapshot restore for this number of volumes of the snapshot, with the price of all."""
        if members not in self._fast:
            facts = replace(self.facts, volumes_of_snapshot=members)
            self._fast[members] = self._allowed_estimate(Strategy.FAST_SNAPSHOT_RESTORE, facts, 0.0)
        return self._fast[members]

    def by_itself(self, seconds: float) -> Estimate | None:
        """The cheapest in time that shares nothing."""
        return next((found for found in self._by_itself if found.times.ready_p90 <= seconds), None)

    def has_apart(self, seconds: float) -> bool:
        """Whether it can be in time without the instance and fast snapshot restore."""
        if self.by_itself(seconds) is not None:
            return True
        is_allowed = Strategy.PROVISIONED_RATE in self._allowed and len(self._rates) > 0
        return is_allowed and self._rate_p90(self._rates[-1]) <= seconds

    def rate(self, seconds: float) -> Estimate | None:
        """The lowest rate that is in time, begun at once."""
        least = bisect_left(self._rates, -seconds, key=lambda rate: -self._rate_p90(rate))
        if least == len(self._rates):
            return None
        if least not in self._rated:
            at_least = self._rate_p90(self._rates[least])
            self._rated[least] = self._allowed_estimate(Strategy.PROVISIONED_RATE, self.facts, at_least)
        return self._rated[least]

    def seconds_by_rate(self) -> tuple[float, ...]:
        """P90 with each rate."""
        if not self._seconds_by_rate:
            self._seconds_by_rate = seconds_by_rate(self.facts)
        return self._seconds_by_rate

    def solo(self, seconds: float) -> dict[SharedResource, Estimate]:
        """By each resource, as if there were no other volume."""
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


def options_of(
    volumes: Sequence[VolumeFacts], objective: PlanObjective, book: PriceBook
) -> list[VolumeOptions]:
    """One for each volume; volumes that are alike share it."""
    keys = [repr(facts) for facts in volumes]
    alike = dict(zip(keys, volumes, strict=True))
    known = {key: VolumeOptions(facts, objective, book) for key, facts in alike.items()}
    return [known[key] for key in keys]


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

    options: VolumeOptions
    limit: float
    shares_blocks: bool
    """Another volume is of the same snapshot."""
    facts: VolumeFacts = field(init=False)
    """As if it were alone."""
    solo: dict[SharedResource, Estimate] = field(init=False)
    loads: dict[SharedResource, int] = field(init=False)
    """Bytes that go through the instance."""

    def __post_init__(self) -> None:
        self.facts = self.options.facts
        self.solo = self.options.solo(self.limit)
        self.loads = {
            SharedResource.AGENT: self.facts.read_bytes,
            SharedResource.WRITE: self.facts.write_bytes,
        }

    @property
    def least_usd(self) -> Decimal:
        """Fast snapshot restore may be paid by others, and blocks too where others need the same."""
        if SharedResource.FAST in self.solo or (self.shares_blocks and SharedResource.WRITE in self.solo):
            return ZERO
        return min((estimate.decidable_usd for estimate in self.solo.values()), default=ZERO)

    @property
    def cheapest(self) -> SharedResource:
        """As if it were alone."""
        solo = self.solo
        return min(solo, key=lambda name: (solo[name].decidable_usd, solo[name].times.ready_p90, name))

    @property
    def apart(self) -> SharedResource | None:
        """The cheapest without the instance and fast snapshot restore; None where there is nothing."""
        able = (resource for resource in APART if resource in self.solo)
        return min(able, key=lambda resource: self.solo[resource].decidable_usd, default=None)


class Mixes:
    """Judges mixes of the volumes of one restore."""

    def __init__(self, volumes: Sequence[PricedVolume], quotas: SharedQuotas) -> None:
        self.volumes = volumes
        self.quotas = quotas
        self._known_in_time: dict[tuple[tuple[int, float, SharedResource], ...], bool] = {}
        self._known_turns: dict[tuple[int, ...], list[Turn] | None] = {}
        self._do_not_fit: list[frozenset[int]] = []

    def mix(self, choices: Choices, least_usd: Decimal) -> Mix | None:
        """Of all volumes; None if it is not possible."""
        found = self.estimates(choices)
        if found is None:
            return None
        return Mix(tuple(found[index] for index in range(len(self.volumes))), _sum(found.values()), least_usd)

    def estimates(self, choices: Choices) -> dict[int, Estimate] | None:
        """Of the volumes that have a resource; None if one is late or a quota is too small."""
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
        parts = [
            *(None if working is None else _sum(working.values()) for working in self._working(choices)),
            *(self.members_usd(members) for members in self._members(choices).values()),
        ]
        if any(part is None for part in parts):
            return None
        own = (self.volumes[index].solo[resource] for index, resource in choices.items() if resource in APART)
        return sum((part for part in parts if part is not None), _sum(own))

    def apart_key(self, choices: Choices) -> tuple[Decimal, float, float] | None:
        """Price, then P90 of the last volume, then of all; quotas of the Region aside."""
        found = self.apart(choices)
        return _key(found.values()) if len(found) == len(choices) else None

    def apart(self, choices: Choices) -> dict[int, Estimate]:
        """Of the volumes that are in time, quotas of the Region aside."""
        found: dict[int, Estimate] = {
            index: self.volumes[index].solo[resource]
            for index, resource in choices.items()
            if resource in APART
        }
        for working in self._working(choices):
            found.update(working or {})
        for members in self._members(choices).values():
            found.update(self._fast(members) or {})
        return found

    def whole_key(self, choices: Choices) -> tuple[Decimal, float, float] | None:
        """With the quotas of the Region."""
        found = self.estimates(choices)
        return None if found is None else _key(found.values())

    def are_in_time(self, busy: Choices) -> bool:
        """Whether all volumes of an instance are, by the estimates themselves; the same for alike volumes."""
        volumes = self.volumes
        key = tuple(sorted((id(volumes[index].options), volumes[index].limit, busy[index]) for index in busy))
        if key not in self._known_in_time:
            writers: dict[str, list[int]] = {}
            for index in busy:
                writers.setdefault(volumes[index].facts.snapshot_id, []).append(index)
            self._known_in_time[key] = self._on_instance(busy, writers) is not None
        return self._known_in_time[key]

    def members_usd(self, members: Sequence[int]) -> Decimal | None:
        """What fast snapshot restore of one snapshot in one zone costs; None where a volume is late."""
        slowest = 0.0
        for options, limit in {(self.volumes[index].options, self.volumes[index].limit) for index in members}:
            estimate = options.fast(len(members))
            if estimate is None or estimate.times.ready_p90 > limit:
                return None
            slowest = max(slowest, estimate.times.ready_p90)
        first = self.volumes[members[0]]
        if first.facts.fast_restore_runs:
            return ZERO
        return cost.fast_snapshot_restore(first.options.book, slowest).usd

    def asks_the_region(self, choices: Choices) -> bool:
        """Whether it takes something of a quota of the Region, costs something, or is late."""
        if SharedResource.RATE in choices.values() or self._enabled(self._members(choices)):
            return True
        return self.apart_usd(choices) != 0

    def members_usd_of(self, index: int, count: int) -> Decimal | None:
        """What fast snapshot restore costs, if this volume is the last of so many."""
        volume = self.volumes[index]
        estimate = volume.options.fast(count)
        if estimate is None:
            return None
        if volume.facts.fast_restore_runs:
            return ZERO
        return cost.fast_snapshot_restore(volume.options.book, estimate.times.ready_p90).usd

    def _working(self, choices: Choices) -> Iterator[dict[int, Estimate] | None]:
        """What the agents do, by instance; None where a volume is late."""
        writers: dict[str, list[int]] = {}
        for index in sorted(index for index, resource in choices.items() if resource is SharedResource.WRITE):
            writers.setdefault(self.volumes[index].facts.snapshot_id, []).append(index)
        for busy in self.readers(choices).values():
            yield self._on_instance({index: choices[index] for index in busy}, writers)

    def _on_instance(self, busy: Choices, writers: Mapping[str, Sequence[int]]) -> dict[int, Estimate] | None:
        """Of the volumes of one instance; `writers` are all volumes of each snapshot that are written."""
        loads = {index: self.volumes[index].loads[resource] for index, resource in busy.items()}
        sizes = sorted(loads.values())
        found = {}
        for index, resource in busy.items():
            volume, place = self.volumes[index], sizes.index(loads[index])
            beside = (*sizes[:place], *sizes[place + 1 :])
            options = volume.options
            take = options.written if resource is SharedResource.WRITE else options.agent
            estimate = take(beside, volume.limit)
            if estimate is None:
                return None
            if resource is SharedResource.WRITE:
                others = writers[volume.facts.snapshot_id]
                estimate = _sharing(estimate, volume, len(others), others.index(index))
            found[index] = estimate
        return found

    def _fast(self, members: Sequence[int]) -> dict[int, Estimate] | None:
        """With one price in parts that add up, whatever the order of the volumes."""
        if self.members_usd(members) is None:
            return None
        count = len(members)
        estimates = {index: self.volumes[index].options.fast(count) for index in members}
        found = {index: estimate for index, estimate in estimates.items() if estimate is not None}
        seconds = max(estimate.times.ready_p90 for estimate in found.values())
        if self.volumes[members[0]].facts.fast_restore_runs:
            return found
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
            index: at_rate(self.volumes[index].facts, self.volumes[index].options.book, turn.rate_mib_s)
            for index, turn in zip(indices, taken, strict=True)
        }
        return found | self._waiting(indices, taken, found)

    def _waiting(
        self, indices: Sequence[int], taken: Sequence[Turn], begun: Mapping[int, Estimate]
    ) -> dict[int, Estimate]:
        """Of those that wait for the rate of others: when each begins, as expected and at the latest."""
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
        volumes = [self.volumes[index] for index in indices]
        return [
            RateJob(
                volume.facts.data_bytes,
                volume.limit,
                volume.options.seconds_by_rate(),
                lag_seconds=volume.facts.timings.status_delay_seconds.p90,
            )
            for volume in volumes
        ]

    def _turns(self, indices: tuple[int, ...]) -> list[Turn] | None:
        """What does not fit does not fit with more volumes either."""
        if indices not in self._known_turns:
            if any(others.issubset(indices) for others in self._do_not_fit):
                return None
            taken = turns(self._jobs(indices), self.quotas.rate_mib_s)
            self._known_turns[indices] = taken
            if taken is None:
                self._do_not_fit.append(frozenset(indices))
        return self._known_turns[indices]

    def _enabled(self, places: Mapping[tuple[str, str], Sequence[int]]) -> int:
        """How many snapshots in a zone get fast snapshot restore by this restore."""
        return sum(not self.volumes[members[0]].facts.fast_restore_runs for members in places.values())

    def readers(self, choices: Choices) -> dict[str, list[int]]:
        """By instance, or by EBS card. A volume without an instance's id shares none."""
        found: dict[str, list[int]] = {}
        for index, resource in choices.items():
            if resource in BUSY:
                found.setdefault(self.volumes[index].facts.reads_through or str(index), []).append(index)
        return found

    def _members(self, choices: Choices) -> dict[tuple[str, str], list[int]]:
        """By snapshot and zone."""
        found: dict[tuple[str, str], list[int]] = {}
        for index, resource in choices.items():
            if resource is SharedResource.FAST:
                found.setdefault(self.volumes[index].facts.place, []).append(index)
        return found


def _sharing(estimate: Estimate, volume: PricedVolume, sharers: int, position: int) -> Estimate:
    """The estimate of one of several written volumes; their parts add up to the price."""
    lines = cost.blocks(volume.facts.written_blocks, volume.options.book)
    sunk = (part for part in estimate.parts if part.sunk)
    return replace(estimate, parts=(*sunk, *(cost.shared(line, sharers, position) for line in lines)))


def _sum(estimates: Iterable[Estimate]) -> Decimal:
    return sum((estimate.decidable_usd for estimate in estimates), ZERO)


def _key(estimates: Iterable[Estimate]) -> tuple[Decimal, float, float]:
    ready = [(estimate.decidable_usd, estimate.times.ready_p90) for estimate in estimates]
    return (
        sum((usd for usd, _ in ready), ZERO),
        max(seconds for _, seconds in ready),
        math.fsum(seconds for _, seconds in ready),
    )
