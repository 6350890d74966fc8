"""The warm-up agent: every written block read once, by the instance, beside the restore's other volumes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from rewarm.domain.model import MIB, InstanceEbsLimits, PriceBook, Strategy
from rewarm.domain.plan import cost
from rewarm.domain.plan.estimates import (
    Estimate,
    EstimateLimits,
    Infeasible,
    Outcome,
    Times,
    cold_measurement,
    listing,
    ready_p90_if,
    timed,
)
from rewarm.domain.plan.facts import VolumeFacts
from rewarm.domain.time.measured import Phase
from rewarm.domain.time.timings import Quantiles
from rewarm.domain.volume.volume_types import SSD_IO_KIB, VolumeSpeed

BURST_SECONDS = 1_800
"""EC2 user guide, "EBS-optimized instance types": the maximum for 30 minutes at least once in 24 hours. It is
expected once; nobody knows if today's is still there, so the baseline alone is promised."""
IOPS_PER_MIB_S = 1024 // SSD_IO_KIB
_NO_LIMITS = InstanceEbsLimits(None, None, None, None)


@dataclass(frozen=True, slots=True)
class InstanceRate:
    """MiB/s of all volumes together: the maximum for a while, then the baseline."""

    burst_mib_s: float
    burst_seconds: float
    baseline_mib_s: float


def warm_up_agent(facts: VolumeFacts, book: PriceBook, limits: EstimateLimits) -> Outcome:
    """The agent reads as fast as volume, instance and S3 allow."""
    del limits
    refusal = no_agent(facts)
    if refusal is not None:
        return Infeasible(Strategy.WARM_UP_AGENT, refusal)
    return reading_estimate(Strategy.WARM_UP_AGENT, facts, facts.speed, (listing(facts, book),))


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


def reading_estimate(
    strategy: Strategy, facts: VolumeFacts, speed: VolumeSpeed, parts: tuple[cost.CostLine, ...]
) -> Estimate:
    """Of a strategy that lets the agent read from a volume of this speed."""
    return Estimate(
        strategy,
        warm_up_times(facts, speed),
        parts,
        basis=facts.timings.basis_of(strategy),
        read_limit_mib_s=read_limit_mib_s(facts, speed) if facts.is_rate_typical else None,
    )


def read_limit_mib_s(facts: VolumeFacts, speed: VolumeSpeed) -> float:
    """What volume, instance and the user allow the agent on the whole, expected; S3 aside."""
    own, instance = min(speed.burst_mib_s, _ceiling(facts)), _instance(facts, expected=True)
    return facts.written_bytes / MIB / _seconds(facts, own, instance) if facts.written_bytes else own


def _seconds(facts: VolumeFacts, own_mib_s: float, instance: InstanceRate) -> float:
    beside = tuple([size / MIB for size in facts.read_beside])
    return shared_seconds(facts.read_bytes / MIB, own_mib_s, instance, beside)


def promised_p90(facts: VolumeFacts) -> Callable[[float], float]:
    """P90 by the volume's throughput, for those who compare many."""
    times = warm_up_times(facts, facts.speed)
    ready, instance, share = ready_p90_if(times, Phase.READ), *_promised_instance(facts)
    ceiling, first_touch = _ceiling(facts), facts.timings.first_touch_mib_s.p90
    return lambda mib_s: ready(
        _seconds(facts, _own(facts, share * min(mib_s, ceiling), first_touch), instance)
    )


def most_of_use_mib_s(facts: VolumeFacts) -> float:
    """The volume's throughput above which no promise gets better: instance, S3 or the user end it."""
    share = facts.timings.warm_up_share.p90
    instance = _instance(facts, expected=False).baseline_mib_s
    from_s3 = math.inf if _never_written(facts) else facts.timings.first_touch_mib_s.p90 / share
    return min(from_s3, instance, _ceiling(facts))


def _expected(facts: VolumeFacts, speed: VolumeSpeed) -> tuple[float, InstanceRate]:
    """The volume's own rate, and the instance's for all of them."""
    share = facts.timings.warm_up_share.p50
    own = _own(facts, share * min(speed.burst_mib_s, _ceiling(facts)), facts.timings.first_touch_mib_s.p50)
    return own, _instance(facts, expected=True, share=share)


def _promised(facts: VolumeFacts, speed: VolumeSpeed) -> tuple[float, InstanceRate]:
    instance, share = _promised_instance(facts)
    slowest = min(speed.sustained_mib_s, speed.burst_mib_s, _ceiling(facts))
    return _own(facts, share * slowest, facts.timings.first_touch_mib_s.p90), instance


def _own(facts: VolumeFacts, volume_mib_s: float, first_touch_mib_s: float) -> float:
    """Blocks that were never written come at the volume's rate, since nothing is fetched for them from S3."""
    cold_mib_s = min(volume_mib_s, first_touch_mib_s)
    unwritten = _never_written(facts)
    if not unwritten:
        return cold_mib_s
    return facts.read_bytes / (facts.written_bytes / cold_mib_s + unwritten / volume_mib_s)


def _never_written(facts: VolumeFacts) -> int:
    return facts.read_bytes - facts.written_bytes


def _promised_instance(facts: VolumeFacts) -> tuple[InstanceRate, float]:
    share = facts.timings.warm_up_share.p90
    return _instance(facts, expected=False, share=share), share


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
    finished, bursting = 0, instance.burst_seconds > 0
    while True:  # each pass but the last ends the burst or finishes one of `beside`
        total = instance.burst_mib_s if bursting else instance.baseline_mib_s
        share = total / (1 + len(beside) - finished)
        rate = min(own_mib_s, share)
        until_done = (mib - done) / rate
        until_next = (beside[finished] - level) / share if finished < len(beside) else math.inf
        until_baseline = instance.burst_seconds - seconds if bursting else math.inf
        step = min(until_done, until_next, until_baseline)
        if step == until_done:
            return seconds + step
        seconds, done, level = seconds + step, done + rate * step, level + share * step
        if step == until_next:
            finished += 1
        else:
            bursting = False


def no_agent(facts: VolumeFacts) -> str | None:
    """Why the agent cannot read; None where it can."""
    if facts.instance_limits is None:
        return "there is no target instance on which the agent could read"
    if not facts.agent_available:
        return "there is no agent for the instance's platform and architecture"
    return None
