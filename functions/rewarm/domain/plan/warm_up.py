"""The warm-up agent: every written block read once, by the instance, beside the restore's other volumes.

With a boost, the volume has more performance than it is to keep, until it is warm.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from rewarm.domain.model import MIB, Boost, InstanceEbsLimits, PriceBook, Strategy, VolumeSettings
from rewarm.domain.plan import cost, estimates
from rewarm.domain.plan.estimates import Estimate, EstimateLimits, Infeasible, Outcome, Times
from rewarm.domain.plan.facts import NO_WAIT, VolumeFacts
from rewarm.domain.time.measured import Phase
from rewarm.domain.time.timings import MB_S, PROVISIONED_IOPS, Quantiles
from rewarm.domain.value import Value
from rewarm.domain.volume.performance import LOOKS_AGAIN, change_lasts
from rewarm.domain.volume.volume_types import SSD_IO_KIB, VOLUME_TYPES, VolumeLimits

BURST_SECONDS = 1_800
"""EC2 user guide, "EBS-optimized instance types": the maximum for 30 minutes at least once in 24 hours. It is
expected once; nobody knows if today's is still there, so the baseline alone is promised."""
IOPS_PER_MIB_S = 1024 // SSD_IO_KIB
_NO_LIMITS = InstanceEbsLimits(None, None, None, None)

RAISED = frozenset({"gp3", "io1", "io2"})
"""Types with a setting that ModifyVolume takes back without another type."""
IO_THROUGHPUT_MIB_S = {"io1": 1_000, "io2": 4_000}
"""EBS user guide, "Amazon EBS volume types": the most of the types that have no throughput setting."""


RAISE_SECONDS = Quantiles(60, 900)
"""From ModifyVolume until a volume that is there has the higher settings. In published measurements they
show in the next minute. EBS reaches `optimizing` within minutes; a quarter of an hour is a choice."""

DD_MIB_S = 100 * 1_024 / (53 * 60 + 52)
"""`dd bs=1M` read a whole gp3 volume of 100 GiB (3,000 IOPS, 125 MB/s) in 53 min 52 s (published 2025)."""
FIO_MIB_S, FIO_IO_MIB_S = 100 * MB_S, 700 * MB_S
"""fio, tuned: about 100 MB/s (published 2024). For io1 and io2 the least that was published for io2."""


class OwnRate(NamedTuple):
    """What a volume gives by itself, in MiB/s; never written blocks are not fetched from S3."""

    mib_s: float
    unwritten_mib_s: float = math.inf
    unwritten_share: float = 0.0
    """Share of all bytes."""

    def within(self, instance_mib_s: float) -> float:
        """MiB/s on the whole, if the instance gives the volume so much."""
        written = min(self.mib_s, instance_mib_s)
        if not self.unwritten_share:
            return written
        unwritten = min(self.unwritten_mib_s, instance_mib_s)
        return 1 / ((1 - self.unwritten_share) / written + self.unwritten_share / unwritten)


class InstanceRate(Value):
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
    return reading_estimate(Strategy.WARM_UP_AGENT, facts, facts.speed, (estimates.listing(facts, book),))


def by_hand_seconds(facts: VolumeFacts, beside: tuple[float, ...]) -> dict[str, float]:
    """By program, how long a person takes who reads the whole device on the instance, from the plan on.

    `beside` has the MiB of the other devices there, ascending. Neither program knows which blocks were
    written. Each speed was published once, so there is no P90; the instance bursts as for the agent's P50.
    Empty without an instance, and where AWS names no throughput of it.
    """
    limits = facts.instance_limits
    settings = facts.settings
    if limits is None or limits.baseline_throughput_mib_s is None:
        return {}
    provisioned = settings is not None and settings.volume_type in PROVISIONED_IOPS
    instance = instance_rate(facts, expected=True)
    mib = facts.whole_bytes / MIB
    usable = estimates.timed(replace(facts, queue_seconds=NO_WAIT), ()).usable_p50
    speeds = {"dd": DD_MIB_S, "fio": FIO_IO_MIB_S if provisioned else FIO_MIB_S}
    return {
        name: usable + shared_seconds(mib, OwnRate(min(mib_s, facts.speed.burst_mib_s)), instance, beside)
        for name, mib_s in speeds.items()
    }


def warm_up_times(facts: VolumeFacts, speed: VolumeLimits) -> Times:
    """The times with a volume of this speed."""
    timings = facts.timings
    reading = _reading(facts, speed)
    if facts.is_there and speed != facts.speed:
        slow = _reading(facts, facts.speed)
        reading = Quantiles(
            _once_raised(slow.p50, reading.p50, RAISE_SECONDS.p50),
            _once_raised(slow.p90, reading.p90, RAISE_SECONDS.p90),
        )
    # Random reads prove it if the volume is measured; else the restore waits for VolumeReadOps.
    settle = () if estimates.measured(facts) else ((Phase.SETTLE, timings.metric_delay_seconds),)
    return estimates.timed(facts, ((Phase.DELIVER, timings.delivery_seconds), (Phase.READ, reading), *settle))


def _reading(facts: VolumeFacts, speed: VolumeLimits) -> Quantiles:
    return Quantiles(_seconds(facts, *_expected(facts, speed)), _seconds(facts, *_promised(facts, speed)))


def _once_raised(slow_seconds: float, fast_seconds: float, raise_seconds: float) -> float:
    """Seconds of reading that begins at the old speed; what is read by the raise is not read again."""
    if slow_seconds <= raise_seconds:
        return slow_seconds
    return raise_seconds + fast_seconds * (1 - raise_seconds / slow_seconds)


def reading_estimate(
    strategy: Strategy, facts: VolumeFacts, speed: VolumeLimits, parts: tuple[cost.CostPart, ...]
) -> Estimate:
    """The estimate of a strategy that lets the agent read from a volume of this speed."""
    return Estimate(
        strategy,
        warm_up_times(facts, speed),
        parts,
        basis=facts.timings.basis_of(strategy),
        read_limit_mib_s=read_limit_mib_s(facts, speed)
        if facts.is_rate_typical and (speed == facts.speed or not facts.is_there)
        else None,
    )


def read_limit_mib_s(facts: VolumeFacts, speed: VolumeLimits) -> float:
    """What volume, instance and the user allow the agent on the whole, expected; S3 aside."""
    own = OwnRate(min(speed.burst_mib_s, _ceiling(facts)))
    instance = instance_rate(facts, expected=True)
    return facts.written_bytes / MIB / _seconds(facts, own, instance) if facts.written_bytes else own.mib_s


def _seconds(facts: VolumeFacts, own: OwnRate, instance: InstanceRate) -> float:
    beside = tuple([size / MIB for size in facts.read_beside])
    return shared_seconds(facts.read_bytes / MIB, own, instance, beside)


def promised_p90(facts: VolumeFacts) -> Callable[[float], float]:
    """P90 by the volume's throughput, for those who compare many."""
    times = warm_up_times(facts, facts.speed)
    ready = estimates.ready_p90_if(times, Phase.READ)
    instance, share = _promised_instance(facts)
    ceiling = _ceiling(facts)
    first_touch = _from_s3(facts).p90

    def reading(mib_s: float) -> float:
        return _seconds(facts, _own(facts, share * min(mib_s, ceiling), first_touch), instance)

    if not facts.is_there:
        return lambda mib_s: ready(reading(mib_s))
    slow = _reading(facts, facts.speed).p90
    return lambda mib_s: ready(_once_raised(slow, reading(mib_s), RAISE_SECONDS.p90))


def promised_p90_beside(facts: VolumeFacts) -> Callable[[tuple[int, ...]], float]:
    """P90 by the bytes that are read beside it, ascending, for those who compare many."""
    ready = estimates.ready_p90_if(warm_up_times(facts, facts.speed), Phase.READ)
    own, instance = _promised(facts, facts.speed)
    mib = facts.read_bytes / MIB
    return lambda beside: ready(shared_seconds(mib, own, instance, tuple([size / MIB for size in beside])))


def most_of_use_mib_s(facts: VolumeFacts) -> float:
    """The volume's throughput above which no promise gets better: instance, S3 or the user limit it."""
    share = facts.timings.warm_up_share.p90
    instance = instance_rate(facts, expected=False).baseline_mib_s
    from_s3 = math.inf if _never_written(facts) else _from_s3(facts).p90 / share
    return min(from_s3, instance, _ceiling(facts))


def _expected(facts: VolumeFacts, speed: VolumeLimits) -> tuple[OwnRate, InstanceRate]:
    """The volume's own rate, and the instance's for all of them."""
    share = facts.timings.warm_up_share.p50
    own = _own(facts, share * min(speed.burst_mib_s, _ceiling(facts)), _from_s3(facts).p50)
    return own, instance_rate(facts, expected=True, share=share)


def _promised(facts: VolumeFacts, speed: VolumeLimits) -> tuple[OwnRate, InstanceRate]:
    instance, share = _promised_instance(facts)
    slowest = min(speed.sustained_mib_s, speed.burst_mib_s, _ceiling(facts))
    return _own(facts, share * slowest, _from_s3(facts).p90), instance


def promised_rates(facts: VolumeFacts, mib_s: float) -> tuple[OwnRate, float]:
    """What a volume of this throughput takes, and the MiB/s that its instance gives all volumes together."""
    own, instance = _promised(facts, VolumeLimits(0, mib_s, mib_s))
    return own, instance.baseline_mib_s


def _from_s3(facts: VolumeFacts) -> Quantiles:
    return facts.timings.from_s3_mib_s(facts.settings.volume_type if facts.settings else "")


def _own(facts: VolumeFacts, volume_mib_s: float, first_touch_mib_s: float) -> OwnRate:
    unwritten = _never_written(facts)
    share = unwritten / facts.read_bytes if unwritten else 0.0
    return OwnRate(min(volume_mib_s, first_touch_mib_s), volume_mib_s, share)


def _never_written(facts: VolumeFacts) -> int:
    return facts.read_bytes - facts.written_bytes


def _promised_instance(facts: VolumeFacts) -> tuple[InstanceRate, float]:
    share = facts.timings.warm_up_share.p90
    return instance_rate(facts, expected=False, share=share), share


def _ceiling(facts: VolumeFacts) -> float:
    return float(facts.max_warm_up_mib_s or math.inf)


def instance_rate(facts: VolumeFacts, *, expected: bool, share: float = 1.0) -> InstanceRate:
    """What the volumes on the instance have together: once at its maximum, or by its baseline alone."""
    limits = facts.instance_limits or _NO_LIMITS
    baseline = instance_mib_s(limits.baseline_throughput_mib_s, limits.baseline_iops)
    maximum = instance_mib_s(limits.maximum_throughput_mib_s, limits.maximum_iops)
    if not expected or math.isinf(maximum) or maximum <= baseline:
        return InstanceRate(share * baseline, 0, share * baseline)
    return InstanceRate(share * maximum, BURST_SECONDS, share * baseline)


def instance_mib_s(throughput_mib_s: float | None, iops: int | None) -> float:
    """What both limits of an instance allow; infinite where AWS names neither."""
    by_iops = iops / IOPS_PER_MIB_S if iops else math.inf
    return min(throughput_mib_s or math.inf, by_iops)


def shared_seconds(mib: float, own: OwnRate, instance: InstanceRate, beside: tuple[float, ...]) -> float:
    """How long one volume takes while the instance's throughput is shared evenly with those beside it.

    `beside` is ascending; each of them counts until it has had its own amount.
    """
    alone = own.within(math.inf)
    baseline = instance.baseline_mib_s
    if math.isinf(baseline) or (not beside and own.within(baseline) == alone):
        return mib / alone
    seconds = done = level = 0.0
    finished = 0
    bursting = instance.burst_seconds > 0
    is_held_up = False
    while True:  # each pass but the last ends the burst or finishes one of `beside`
        total = instance.burst_mib_s if bursting else instance.baseline_mib_s
        share = total / (1 + len(beside) - finished)
        rate = own.within(share)
        is_held_up = is_held_up or rate != alone
        until_done = (mib - done) / rate
        until_next = (beside[finished] - level) / share if finished < len(beside) else math.inf
        until_baseline = instance.burst_seconds - seconds if bursting else math.inf
        step = min(until_done, until_next, until_baseline)
        if step == until_done:
            # Added up, it would differ in the last bit from what it takes alone, which may be its limit.
            return seconds + step if is_held_up else mib / alone
        seconds = seconds + step
        done = done + rate * step
        level = level + share * step
        if step == until_next:
            finished += 1
        else:
            bursting = False


def no_agent(facts: VolumeFacts) -> str | None:
    """Why the agent cannot read; None where it can."""
    if facts.instance_limits is None:
        return "there is no target instance on which the agent could read"
    if not facts.instance_limits.nvme:
        return "the instance type has no NVMe, so no program on it can tell which volume a device is"
    if not facts.agent_available:
        return "there is no agent for the instance's platform and architecture"
    if facts.instance_limits.baseline_throughput_mib_s is None:
        return "AWS names no EBS throughput of the instance type, so no time can be promised"
    return None


class Boosts(Value):
    """What a volume may be raised to."""

    facts: VolumeFacts
    settings: VolumeSettings
    steps_mib_s: range
    """Throughputs of which each makes the promise better than the one before."""
    ready_p90: Callable[[float], float]

    def at(self, mib_s: int) -> Boost:
        """0.25 MiB/s for each IOPS is gp3's rule, and what 256 KiB an I/O come to (EBS user guide)."""
        kind = self.settings.volume_type
        had = self.settings.iops or cost.BASE_IOPS.get(kind, 0)
        return Boost(kind, max(had, mib_s * IOPS_PER_MIB_S), mib_s if kind == "gp3" else None)

    def billed_seconds(self, mib_s: float) -> float:
        """Until it is lowered. EC2 takes that change of a volume that was raised only once it has finished
        the raise, and the sweeper asks for it then.
        """
        ready = self.ready_p90(mib_s)
        if not self.facts.is_there:
            return ready
        held = change_lasts(self.settings.size_gib, self.facts.modification_rule)
        return max(ready, (held + LOOKS_AGAIN).total_seconds())


def boosted_warm_up(facts: VolumeFacts, book: PriceBook, limits: EstimateLimits) -> Outcome:
    """The lowest boost that meets the deadline (its price grows with it), else the fastest affordable.

    Without a deadline the fastest too: who names this strategy wants speed, and it costs cents.
    """
    boosts = boosts_of(facts, book)
    if isinstance(boosts, str):
        return Infeasible(Strategy.BOOSTED_WARM_UP, boosts)
    steps = boosts.steps_mib_s
    best = len(boosts.steps_mib_s) - 1
    if limits.deadline_seconds is not None:
        in_time = bisect_left(steps, -limits.deadline_seconds, key=lambda mib_s: -boosts.ready_p90(mib_s))
        best = min(best, in_time)
    estimate = at_boost(boosts, book, steps[best])
    budget = limits.budget_usd
    if budget is None or estimate.decidable_usd <= budget:
        return estimate
    affordable = bisect_right(
        steps,
        budget,
        key=lambda mib_s: cost.boost_usd(
            book, boosts.settings, boosts.at(mib_s), boosts.billed_seconds(mib_s)
        ),
    )
    return at_boost(boosts, book, steps[max(0, affordable - 1)])


def at_boost(boosts: Boosts, book: PriceBook, mib_s: int) -> Estimate:
    """One of its steps."""
    facts = boosts.facts
    boost = boosts.at(mib_s)
    part = cost.boost(book, boosts.settings, boost, boosts.billed_seconds(mib_s))
    speed = VolumeLimits(boost.iops, float(mib_s), float(mib_s))
    parts = (estimates.listing(facts, book), part)
    return replace(reading_estimate(Strategy.BOOSTED_WARM_UP, facts, speed, parts), boost=boost)


def boosts_of(facts: VolumeFacts, book: PriceBook) -> Boosts | str:
    """What the volume may be raised to, or why it may not."""
    settings = facts.settings
    in_place = (facts.warm_because or facts.boost_refusal) if facts.is_there else None
    refusal = in_place or no_agent(facts) or _not_raised(settings)
    if settings is None or refusal is not None:
        return refusal or ""
    able = _able_mib_s(settings)
    had = facts.speed.sustained_mib_s
    first = math.floor(had) + 1
    if first > able:
        return f"{had:,.0f} MiB/s is all that this type and size of volume allow"
    steps = range(first, math.ceil(min(able, most_of_use_mib_s(facts))) + 1)
    if not steps:
        return (
            f"the volume's {had:,.0f} MiB/s is as much as instance and S3 can be relied on for, "
            "so more would be wasted"
        )
    ready = promised_p90(facts)
    fastest = ready(steps[-1])
    if ready(had) <= fastest:
        return "what reads beside it on the instance, or the little data, leaves nothing to gain"
    last = steps[bisect_left(steps, -fastest, key=lambda mib_s: -ready(mib_s))]
    boosts = Boosts(facts, settings, range(first, last + 1), ready)
    missing = cost.missing_boost_price(book, settings, boosts.at(last))
    return boosts if missing is None else f"the price book has no price for {missing}"


def _not_raised(settings: VolumeSettings | None) -> str | None:
    if settings is None or settings.volume_type not in RAISED:
        name = VOLUME_TYPES[settings.volume_type].noun if settings else "the volume"
        return f"{name} has no performance setting that could be raised for a while"
    if settings.multi_attach:
        return "the performance of a volume for several instances is left alone"
    return None


def _able_mib_s(settings: VolumeSettings) -> int:
    """The most that the type allows at this size, by throughput and by IOPS."""
    kind = VOLUME_TYPES[settings.volume_type]
    most_iops = min(kind.max_iops or 0, max(kind.min_iops or 0, (kind.iops_per_gib or 0) * settings.size_gib))
    ceiling = kind.max_throughput_mib_s or IO_THROUGHPUT_MIB_S[settings.volume_type]
    return min(ceiling, most_iops // IOPS_PER_MIB_S)
