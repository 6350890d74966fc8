"""The warm-up agent, as the volume is or with a boost: every written block read once, by the instance."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, replace
from decimal import Decimal

from rewarm.domain import cost
from rewarm.domain.estimates import (
    Estimate,
    Infeasible,
    Limits,
    Outcome,
    Times,
    cold_measurement,
    listing,
    timed,
)
from rewarm.domain.facts import VolumeFacts
from rewarm.domain.measured import Phase
from rewarm.domain.model import MIB, Boost, InstanceEbsLimits, PriceBook, Strategy, VolumeSettings
from rewarm.domain.timings import Quantiles
from rewarm.domain.volume_types import SSD_IO_KIB, VOLUME_TYPES, VolumeSpeed

BURST_SECONDS = 1_800
"""EC2 user guide, "EBS-optimized instance types": the maximum for 30 minutes at least once in 24 hours. It is
expected once; nobody knows if today's is still there, so the baseline alone is promised."""
IOPS_PER_MIB_S = 1024 // SSD_IO_KIB
"""Also the least that gp3 needs: 0.25 MiB/s for each IOPS (EBS user guide, "General Purpose SSD volumes")."""
IO_THROUGHPUT_MIB_S = {"io1": 1_000, "io2": 4_000}
_NO_LIMITS = InstanceEbsLimits(None, None, None, None)


@dataclass(frozen=True, slots=True)
class InstanceRate:
    """MiB/s of all volumes together: the maximum for a while, then the baseline."""

    burst_mib_s: float
    burst_seconds: float
    baseline_mib_s: float


def warm_up_agent(facts: VolumeFacts, book: PriceBook, limits: Limits) -> Outcome:
    """The agent reads as fast as volume, instance and S3 allow."""
    del limits
    refusal = _no_agent(facts)
    if refusal is not None:
        return Infeasible(Strategy.WARM_UP_AGENT, refusal)
    return _estimate(Strategy.WARM_UP_AGENT, facts, facts.speed, (listing(facts, book),))


def boosted_warm_up(facts: VolumeFacts, book: PriceBook, limits: Limits) -> Outcome:
    """The lowest boost that meets the deadline (its price grows with it), else the fastest affordable."""
    steps = boost_steps(facts)
    if isinstance(steps, str):
        return Infeasible(Strategy.BOOSTED_WARM_UP, steps)
    unpriced = _unpriced(facts, book, steps)
    if unpriced is not None:
        return Infeasible(Strategy.BOOSTED_WARM_UP, unpriced)
    best = len(steps) - 1
    if limits.deadline_seconds is not None:
        best = min(best, _first_in_time(facts, steps, limits.deadline_seconds))
    budget = limits.budget_usd
    estimate = at_boost(facts, book, steps[best])
    if budget is None or estimate.decidable_usd <= budget:
        return estimate
    affordable = bisect_right(steps, budget, key=lambda mib_s: _boost_usd(facts, book, mib_s))
    return at_boost(facts, book, steps[max(0, affordable - 1)])


def boost_steps(facts: VolumeFacts) -> range | str:
    """Every boost that makes a promise better, in MiB/s; or why there is none."""
    refusal = _no_agent(facts)
    if refusal is not None:
        return refusal
    settings = facts.settings
    if settings is None or settings.volume_type not in {"gp3", "io1", "io2"}:
        name = f"a {settings.volume_type} volume" if settings else "the volume"
        return f"{name} has no performance setting that could be raised for a while"
    if settings.multi_attach:
        return "the performance of a volume for several instances is left alone"
    able = _able_mib_s(settings)
    first = math.floor(facts.speed.sustained_mib_s) + 1
    most = range(first, min(able, _most_of_use(facts)) + 1)
    if not most:
        if first > able:
            return f"{facts.speed.sustained_mib_s:,.0f} MiB/s is all that this volume type and size allow"
        return (
            f"the volume's {facts.speed.sustained_mib_s:,.0f} MiB/s is as much as instance and S3 can be "
            "relied on for, so more would be wasted"
        )
    fastest = _ready_p90(facts, most[-1])
    if warm_up_times(facts, facts.speed).ready_p90 <= fastest:
        return "the volumes beside it on the instance leave no throughput for more"
    return range(first, most[bisect_left(most, -fastest, key=lambda mib_s: -_ready_p90(facts, mib_s))] + 1)


def at_boost(facts: VolumeFacts, book: PriceBook, mib_s: int) -> Estimate:
    """One of `boost_steps`."""
    boost, speed = _boosted(facts, mib_s)
    part = cost.boost(book, _settings(facts), boost, warm_up_times(facts, speed).ready_p90)
    estimate = _estimate(Strategy.BOOSTED_WARM_UP, facts, speed, (listing(facts, book), part))
    return replace(estimate, boost=boost)


def warm_up_times(facts: VolumeFacts, speed: VolumeSpeed) -> Times:
    """With a volume of this speed."""
    timings = facts.timings
    reading = Quantiles(_seconds(facts, *_expected(facts, speed)), _seconds(facts, *_promised(facts, speed)))
    loading = (
        *cold_measurement(facts),
        (Phase.DELIVER, timings.delivery_seconds),
        (Phase.READ, reading),
        (Phase.SETTLE, timings.metric_delay_seconds),
    )
    return timed(facts, loading)


def _estimate(
    strategy: Strategy, facts: VolumeFacts, speed: VolumeSpeed, parts: tuple[cost.CostPart, ...]
) -> Estimate:
    return Estimate(
        strategy,
        warm_up_times(facts, speed),
        parts,
        basis=facts.timings.basis_of(strategy),
        read_limit_mib_s=read_limit_mib_s(facts, speed),
    )


def read_limit_mib_s(facts: VolumeFacts, speed: VolumeSpeed) -> float:
    """What volume, instance and the user allow the agent on the whole, expected; S3 aside."""
    own, instance = min(speed.burst_mib_s, _ceiling(facts)), _instance(facts, expected=True)
    return facts.written_bytes / MIB / _seconds(facts, own, instance) if facts.written_bytes else own


def _seconds(facts: VolumeFacts, own_mib_s: float, instance: InstanceRate) -> float:
    beside = tuple(size / MIB for size in facts.written_beside)
    return shared_seconds(facts.written_bytes / MIB, own_mib_s, instance, beside)


def _expected(facts: VolumeFacts, speed: VolumeSpeed) -> tuple[float, InstanceRate]:
    """The volume's own rate, and the instance's for all of them."""
    share = facts.timings.warm_up_share.p50
    own = min(share * min(speed.burst_mib_s, _ceiling(facts)), facts.timings.first_touch_mib_s.p50)
    return own, _instance(facts, expected=True, share=share)


def _promised(facts: VolumeFacts, speed: VolumeSpeed) -> tuple[float, InstanceRate]:
    share = facts.timings.warm_up_share.p90
    slowest = min(speed.sustained_mib_s, speed.burst_mib_s, _ceiling(facts))
    own = min(share * slowest, facts.timings.first_touch_mib_s.p90)
    return own, _instance(facts, expected=False, share=share)


def _ceiling(facts: VolumeFacts) -> float:
    return float(facts.max_warm_up_mib_s or math.inf)


def _instance(facts: VolumeFacts, *, expected: bool, share: float = 1.0) -> InstanceRate:
    limits = facts.instance_limits or _NO_LIMITS
    baseline = _instance_mib_s(limits.baseline_throughput_mib_s, limits.baseline_iops)
    maximum = _instance_mib_s(limits.maximum_throughput_mib_s, limits.maximum_iops)
    if not expected or math.isinf(maximum) or maximum <= baseline:
        return InstanceRate(share * baseline, 0, share * baseline)
    return InstanceRate(share * maximum, BURST_SECONDS, share * baseline)


def _instance_mib_s(throughput_mib_s: float | None, iops: int | None) -> float:
    by_iops = iops / IOPS_PER_MIB_S if iops else math.inf
    return min(throughput_mib_s or math.inf, by_iops)


def shared_seconds(mib: float, own_mib_s: float, instance: InstanceRate, beside: tuple[float, ...]) -> float:
    """How long one volume takes while the instance's throughput is shared evenly with those beside it.

    `beside` is ascending; each of them counts until it has had its own amount.
    """
    if math.isinf(instance.baseline_mib_s) or (not beside and own_mib_s <= instance.baseline_mib_s):
        return mib / own_mib_s
    seconds = done = level = 0.0
    finished = 0
    while done < mib:
        bursting = seconds < instance.burst_seconds
        total = instance.burst_mib_s if bursting else instance.baseline_mib_s
        share = total / (1 + len(beside) - finished)
        rate = min(own_mib_s, share)
        step = (mib - done) / rate
        if bursting:
            step = min(step, instance.burst_seconds - seconds)
        if finished < len(beside):
            until_next = (beside[finished] - level) / share
            if until_next <= step:
                step, finished = until_next, finished + 1
        elif not bursting or seconds + step < instance.burst_seconds:
            return seconds + step
        seconds, done, level = seconds + step, done + rate * step, level + share * step
    return seconds


def _no_agent(facts: VolumeFacts) -> str | None:
    if facts.instance_limits is None:
        return "there is no target instance on which the agent could read"
    if not facts.agent_available:
        return "there is no agent for the instance's platform and architecture"
    return None


def _most_of_use(facts: VolumeFacts) -> int:
    """The volume's throughput above which no promise gets better: instance, S3 or the user end it."""
    share = facts.timings.warm_up_share.p90
    instance = _instance(facts, expected=False).baseline_mib_s
    return math.ceil(min(facts.timings.first_touch_mib_s.p90 / share, instance, _ceiling(facts)))


def _able_mib_s(settings: VolumeSettings) -> int:
    """The most that the type allows at this size, by throughput and by IOPS."""
    kind = VOLUME_TYPES[settings.volume_type]
    most_iops = min(kind.max_iops or 0, max(kind.min_iops or 0, (kind.iops_per_gib or 0) * settings.size_gib))
    ceiling = kind.max_throughput_mib_s or IO_THROUGHPUT_MIB_S[settings.volume_type]
    return min(ceiling, most_iops // IOPS_PER_MIB_S)


def _boosted(facts: VolumeFacts, mib_s: int) -> tuple[Boost, VolumeSpeed]:
    settings = _settings(facts)
    iops = max(settings.iops or cost.BASE_IOPS.get(settings.volume_type, 0), mib_s * IOPS_PER_MIB_S)
    throughput = mib_s if settings.volume_type == "gp3" else None
    return Boost(settings.volume_type, iops, throughput), VolumeSpeed(iops, float(mib_s), float(mib_s))


def _settings(facts: VolumeFacts) -> VolumeSettings:
    if facts.settings is None:
        raise ValueError("a boost goes above settings, and there are none")
    return facts.settings


def _ready_p90(facts: VolumeFacts, mib_s: int) -> float:
    return warm_up_times(facts, VolumeSpeed(0, float(mib_s), float(mib_s))).ready_p90


def _boost_usd(facts: VolumeFacts, book: PriceBook, mib_s: int) -> Decimal:
    boost, speed = _boosted(facts, mib_s)
    return cost.boost_usd(book, _settings(facts), boost, warm_up_times(facts, speed).ready_p90)


def _first_in_time(facts: VolumeFacts, steps: range, deadline_seconds: float) -> int:
    """The index of the lowest boost that meets the deadline; one past the last where none does."""
    return bisect_left(steps, -deadline_seconds, key=lambda mib_s: -_ready_p90(facts, mib_s))


def _unpriced(facts: VolumeFacts, book: PriceBook, steps: range) -> str | None:
    """Where a price is missing the boost would look free."""
    boost, _ = _boosted(facts, steps[-1])
    missing = cost.missing_boost_price(book, _settings(facts), boost)
    return None if missing is None else f"the price book has no price for {missing}"
