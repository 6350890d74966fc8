"""How long each strategy takes and what it costs, from facts alone; a table with one estimator each."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from types import MappingProxyType

from rewarm.domain import cost, priors
from rewarm.domain.model import (
    GIB,
    MIB,
    Boost,
    FastSnapshotRestore,
    InstanceEbsLimits,
    PriceBook,
    Strategy,
    VolumeSettings,
)
from rewarm.domain.timings import PRIORS, Basis, Timings
from rewarm.domain.units import duration_text
from rewarm.domain.volume_types import SSD_IO_KIB, VolumeSpeed

MIN_RATE_MIB_S = 100
MAX_RATE_MIB_S = 300
"""botocore: ec2 CreateVolume VolumeInitializationRate, 100-300 MiB/s."""
FSR_MAX_SIZE_GIB = 16_384
FSR_MAX_IOPS = 64_000
FSR_MAX_MIB_S = 1_000
"""EBS user guide, "Fast snapshot restore": up to 16 TiB; full benefit to 64,000 IOPS and 1,000 MiB/s."""


@dataclass(frozen=True, slots=True)
class CloneSource:
    """A living volume that CopyVolumes could copy."""

    volume_id: str
    size_gib: int
    speed: VolumeSpeed
    being_copied: bool = False
    """EBS user guide, "Copy volumes": one copy of a volume at a time."""


@dataclass(frozen=True, slots=True)
class VolumeFacts:
    """What is known of one volume and its target before anything is made."""

    data_bytes: int
    written_bytes: int
    written_blocks: int
    snapshot_size_gib: int
    speed: VolumeSpeed
    instance_limits: InstanceEbsLimits | None
    """None where the volume goes to no instance."""
    agent_available: bool
    verified: bool
    """The volume is measured at the end, which takes time too."""
    settings: VolumeSettings | None = None
    """What the volume is to have; the boost goes above it. None: no boost."""
    snapshot_id: str = ""
    availability_zone: str = ""
    instance_id: str | None = None
    max_warm_up_mib_s: int | None = None
    fast_restore: FastSnapshotRestore | None = None
    fast_restore_quota_left: int = 5
    """Snapshots that may still be enabled in this Region."""
    rate_quota_left_mib_s: int = 5_000
    """What running creations leave of the Region's initialization rate."""
    clone_source: CloneSource | None = None
    """The source volume, where it lives in the target's zone."""
    clone_quota_left: int = 5
    timings: Timings = PRIORS
    volumes_of_snapshot: int = 1
    """Volumes of this restore that come from the same snapshot in the same zone."""
    snapshots_of_restore: int = 1
    """Of this restore: snapshots for which fast snapshot restore is not enabled yet."""
    volumes_of_restore: int = 1
    written_beside: tuple[int, ...] = ()
    """Written bytes of this restore's other volumes on the same instance, ascending."""


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds from now."""

    usable_p50: float
    usable_p90: float
    ready_p50: float
    ready_p90: float


@dataclass(frozen=True, slots=True)
class Estimate:
    """One strategy with its numbers."""

    strategy: Strategy
    times: Times
    parts: tuple[cost.CostPart, ...]
    rate_mib_s: int | None = None
    boost: Boost | None = None
    basis: Basis = PRIORS.basis

    @property
    def cost_usd(self) -> Decimal:
        """Everything."""
        return cost.total(self.parts)

    @property
    def decidable_usd(self) -> Decimal:
        """Without what is spent whatever is chosen; this is what a budget can be held against."""
        return cost.total(part for part in self.parts if not part.sunk)


@dataclass(frozen=True, slots=True)
class Infeasible:
    """A strategy that cannot be had here, and why."""

    strategy: Strategy
    reason: str


@dataclass(frozen=True, slots=True)
class Limits:
    """What the request allows; None where it does not say."""

    deadline_seconds: float | None = None
    budget_usd: Decimal | None = None


Estimator = Callable[[VolumeFacts, PriceBook, Limits], Estimate | Infeasible]


def background(facts: VolumeFacts, book: PriceBook, limits: Limits) -> Estimate | Infeasible:
    """EBS loads by itself; nobody knows how fast."""
    del limits
    tib = max(1.0, facts.data_bytes / (1024 * GIB)) if facts.data_bytes else 0.0
    usable = _usable(facts)
    loading = (priors.BACKGROUND_P50_SECONDS_PER_TIB * tib, priors.BACKGROUND_P90_SECONDS_PER_TIB * tib)
    return Estimate(Strategy.BACKGROUND, _ready(facts, usable, loading), _list_only(facts, book))


def warm_up_agent(facts: VolumeFacts, book: PriceBook, limits: Limits) -> Estimate | Infeasible:
    """The agent reads every written block once, as fast as volume, instance and S3 allow."""
    del limits
    if facts.instance_limits is None:
        return Infeasible(Strategy.WARM_UP_AGENT, "there is no target instance on which the agent could read")
    if not facts.agent_available:
        return Infeasible(
            Strategy.WARM_UP_AGENT, "there is no agent for the instance's platform and architecture"
        )
    expected, promised = warm_up_rates(facts)
    loading = (
        priors.DELIVERY_P50_SECONDS + facts.written_bytes / MIB / expected + priors.METRIC_DELAY_P50_SECONDS,
        priors.DELIVERY_P90_SECONDS + facts.written_bytes / MIB / promised + priors.METRIC_DELAY_P90_SECONDS,
    )
    return Estimate(Strategy.WARM_UP_AGENT, _ready(facts, _usable(facts), loading), _list_only(facts, book))


def warm_up_rates(facts: VolumeFacts) -> tuple[float, float]:
    """MiB/s expected and promised: the lowest of volume, instance, S3 and the user's own limit."""
    limits = facts.instance_limits or InstanceEbsLimits(None, None, None, None)
    ceiling = float(facts.max_warm_up_mib_s or math.inf)
    expected = min(
        facts.speed.burst_mib_s,
        priors.FIRST_TOUCH_MIB_S,
        _instance_mib_s(limits.maximum_throughput_mib_s, limits.maximum_iops),
        ceiling,
    )
    sustained = min(
        facts.speed.sustained_mib_s,
        priors.FIRST_TOUCH_MIB_S / priors.FIRST_TOUCH_P90_FACTOR,
        _instance_mib_s(limits.baseline_throughput_mib_s, limits.baseline_iops),
        ceiling,
    )
    return expected, min(expected, sustained)


def _instance_mib_s(throughput_mib_s: float | None, iops: int | None) -> float:
    by_iops = iops * SSD_IO_KIB / 1024 if iops else math.inf
    return min(throughput_mib_s or math.inf, by_iops)


def provisioned_rate(facts: VolumeFacts, book: PriceBook, limits: Limits) -> Estimate | Infeasible:
    """The lowest rate that meets the deadline (price grows with the rate), else the highest affordable."""
    most = min(MAX_RATE_MIB_S, facts.rate_quota_left_mib_s // max(1, facts.volumes_of_restore))
    if most < MIN_RATE_MIB_S:
        return Infeasible(
            Strategy.PROVISIONED_RATE,
            f"the Region's quota of {facts.rate_quota_left_mib_s} MiB/s leaves {most} MiB/s for each of "
            f"{facts.volumes_of_restore} volumes; the lowest rate is {MIN_RATE_MIB_S}",
        )
    needed = _lowest_rate(facts, limits.deadline_seconds, most)
    estimate = _at_rate(facts, book, needed if needed is not None else most)
    budget = limits.budget_usd
    if budget is None or estimate.decidable_usd <= budget:
        return estimate
    return _at_rate(facts, book, _highest_affordable_rate(facts, book, budget, most))


def _at_rate(facts: VolumeFacts, book: PriceBook, rate_mib_s: int) -> Estimate:
    seconds = facts.data_bytes / MIB / rate_mib_s
    loading = (
        seconds + priors.STATUS_DELAY_P50_SECONDS,
        seconds / priors.RATE_DELIVERED_P90 + priors.STATUS_DELAY_P90_SECONDS,
    )
    parts = (*_list_only(facts, book), cost.provisioned_rate(book, facts.data_bytes, rate_mib_s))
    return Estimate(Strategy.PROVISIONED_RATE, _ready(facts, _usable(facts), loading), parts, rate_mib_s)


def _lowest_rate(facts: VolumeFacts, deadline_seconds: float | None, most: int) -> int | None:
    """None where even the highest rate is too slow."""
    if deadline_seconds is None:
        return MIN_RATE_MIB_S
    idle = _ready(facts, _usable(facts), (0.0, float(priors.STATUS_DELAY_P90_SECONDS))).ready_p90
    left = deadline_seconds - idle
    if left <= 0:
        return MIN_RATE_MIB_S if facts.data_bytes == 0 and left == 0 else None
    rate = max(MIN_RATE_MIB_S, math.ceil(facts.data_bytes / MIB / priors.RATE_DELIVERED_P90 / left))
    return rate if rate <= most else None


def _highest_affordable_rate(facts: VolumeFacts, book: PriceBook, budget: Decimal, most: int) -> int:
    """The lowest rate where none is affordable; the caller sees the price."""
    rates = range(MIN_RATE_MIB_S, most + 1)
    affordable = bisect_right(
        rates, budget, key=lambda rate: cost.provisioned_rate(book, facts.data_bytes, rate).usd
    )
    return rates[max(0, affordable - 1)]


def fast_snapshot_restore(facts: VolumeFacts, book: PriceBook, limits: Limits) -> Estimate | Infeasible:
    """Full speed at once, after EBS has optimized the snapshot and a credit is there."""
    del limits
    refusal = _fsr_refusal(facts)
    if refusal is not None:
        return Infeasible(Strategy.FAST_SNAPSHOT_RESTORE, refusal)
    lead = fsr_lead_seconds(facts)
    usable = _usable(facts)
    p50, p90 = usable[0] + lead, usable[1] + lead * priors.FSR_P90_FACTOR + priors.FSR_POLL_SECONDS
    times = _ready(facts, (p50, p90), (0.0, 0.0))
    running = facts.fast_restore is not None and facts.fast_restore.state in {
        "enabling",
        "optimizing",
        "enabled",
    }
    part = (
        cost.already_enabled_elsewhere()
        if running
        else cost.fast_snapshot_restore(book, times.ready_p90, facts.volumes_of_snapshot)
    )
    return Estimate(Strategy.FAST_SNAPSHOT_RESTORE, times, (*_list_only(facts, book), part))


def _fsr_refusal(facts: VolumeFacts) -> str | None:
    if facts.snapshot_size_gib > FSR_MAX_SIZE_GIB:
        return (
            f"the snapshot has {facts.snapshot_size_gib:,} GiB; at most {FSR_MAX_SIZE_GIB:,} GiB are possible"
        )
    if facts.fast_restore is not None and facts.fast_restore.state == "disabling":
        return "fast snapshot restore of this snapshot is being disabled in this zone just now"
    if facts.fast_restore_quota_left < 1:
        return "the account's quota of snapshots with fast snapshot restore is 0 in this Region"
    if facts.speed.iops > FSR_MAX_IOPS or facts.speed.sustained_mib_s > FSR_MAX_MIB_S:
        return (
            f"the volume has {facts.speed.iops:,} IOPS and {facts.speed.sustained_mib_s:,.0f} MiB/s; "
            f"the benefit ends at {FSR_MAX_IOPS:,} IOPS and {FSR_MAX_MIB_S:,} MiB/s"
        )
    return None


def fsr_lead_seconds(facts: VolumeFacts) -> float:
    """Until `enabled` and one credit for each volume. Filling is taken to begin only when it is enabled."""
    state = facts.fast_restore.state if facts.fast_restore else None
    optimizing = 0.0
    if state != "enabled":
        optimizing = facts.snapshot_size_gib / 1024 * priors.FSR_OPTIMIZING_SECONDS_PER_TIB
    balance = (facts.fast_restore.credits if facts.fast_restore else None) or 0.0
    missing = max(0.0, facts.volumes_of_snapshot - balance)
    return optimizing + missing / fsr_credits_per_hour(facts.snapshot_size_gib) * 3_600


def fsr_credits_per_hour(size_gib: int) -> float:
    """EBS user guide, "Volume creation credits": MIN(10, 1,024 / size)."""
    return min(10.0, 1024 / max(1, size_gib))


def _list_only(facts: VolumeFacts, book: PriceBook) -> tuple[cost.CostPart, ...]:
    return (cost.list_blocks(book, facts.written_blocks),)


def _usable(facts: VolumeFacts) -> tuple[float, float]:
    attach = facts.instance_limits is not None
    return (
        float(priors.CREATE_P50_SECONDS + (priors.ATTACH_P50_SECONDS if attach else 0)),
        float(priors.CREATE_P90_SECONDS + (priors.ATTACH_P90_SECONDS if attach else 0)),
    )


def _ready(facts: VolumeFacts, usable: tuple[float, float], loading: tuple[float, float]) -> Times:
    verify = facts.verified and facts.instance_limits is not None
    return Times(
        usable_p50=usable[0],
        usable_p90=usable[1],
        ready_p50=usable[0] + loading[0] + (priors.VERIFY_P50_SECONDS if verify else 0),
        ready_p90=usable[1] + loading[1] + (priors.VERIFY_P90_SECONDS if verify else 0),
    )


def in_words(estimate: Estimate) -> str:
    """`fast-snapshot-restore (full speed within 1 h 20 min in 9 of 10 cases)`."""
    rate = f" at {estimate.rate_mib_s} MiB/s" if estimate.rate_mib_s else ""
    ready = duration_text(estimate.times.ready_p90)
    return f"{estimate.strategy}{rate} (full speed within {ready} in 9 of 10 cases)"


ESTIMATORS: Mapping[Strategy, Estimator] = MappingProxyType(
    {
        Strategy.WARM_UP_AGENT: warm_up_agent,
        Strategy.BACKGROUND: background,
        Strategy.PROVISIONED_RATE: provisioned_rate,
        Strategy.FAST_SNAPSHOT_RESTORE: fast_snapshot_restore,
    }
)
"""In this order where price and time are the same: what we can watch first, what costs money last."""
