"""Fast snapshot restore: optimizing, volume creation credits, and one price for all volumes of a snapshot."""

from __future__ import annotations

from rewarm.domain.model import PriceBook, Strategy
from rewarm.domain.plan import cost
from rewarm.domain.plan.estimates import (
    Estimate,
    EstimateLimits,
    Infeasible,
    Outcome,
    cold_measurement,
    listing,
    timed,
)
from rewarm.domain.plan.facts import VolumeFacts
from rewarm.domain.time.measured import Phase
from rewarm.domain.time.timings import Quantiles

FSR_MAX_SIZE_GIB = 16_384
FSR_MAX_IOPS = 64_000
FSR_MAX_MIB_S = 1_000
"""EBS user guide, "Fast snapshot restore": up to 16 TiB; full benefit to 64,000 IOPS and 1,000 MiB/s."""


def fast_snapshot_restore(facts: VolumeFacts, book: PriceBook, limits: EstimateLimits) -> Outcome:
    """Full speed at once, after EBS has optimized the snapshot and a credit is there; an even share of it."""
    del limits
    refusal = _refusal(facts)
    if refusal is not None:
        return Infeasible(Strategy.FAST_SNAPSHOT_RESTORE, refusal)
    times = timed(facts, cold_measurement(facts), ((Phase.PREPARE, fsr_lead(facts)),))
    part = (
        cost.already_enabled_elsewhere()
        if facts.fast_restore_runs
        else cost.fast_snapshot_restore(book, times.ready_p90, facts.volumes_of_snapshot)
    )
    parts = (listing(facts, book), part)
    return Estimate(
        Strategy.FAST_SNAPSHOT_RESTORE,
        times,
        parts,
        basis=facts.timings.basis_of(Strategy.FAST_SNAPSHOT_RESTORE),
    )


def fsr_lead(facts: VolumeFacts) -> Quantiles:
    """Until `enabled` and a credit: the middle one of this restore's volumes is expected, the last promised.

    Filling is taken to begin only when it is enabled (AWS names no moment), so that nothing comes later.
    """
    timings = facts.timings
    optimizing = timings.fsr_optimizing_seconds_per_tib
    enabled = facts.fast_restore is not None and facts.fast_restore.state == "enabled"
    tib = 0.0 if enabled else facts.snapshot_size_gib / 1024
    balance = (facts.fast_restore.credits if facts.fast_restore else None) or 0.0
    each = 3_600 / fsr_credits_per_hour(facts.snapshot_size_gib)
    last = facts.volumes_of_snapshot
    waits = [max(0.0, turn - balance) * each for turn in range(1, last + 1)]
    poll = timings.fsr_poll_seconds
    return Quantiles(
        optimizing.p50 * tib + sum(waits) / last + poll.p50, optimizing.p90 * tib + waits[-1] + poll.p90
    )


def fsr_credits_per_hour(size_gib: int) -> float:
    """EBS user guide, "Volume creation credits": MIN(10, 1,024 / size)."""
    return min(10.0, 1024 / max(1, size_gib))


def _refusal(facts: VolumeFacts) -> str | None:
    if facts.snapshot_size_gib > FSR_MAX_SIZE_GIB:
        return (
            f"the snapshot has {facts.snapshot_size_gib:,} GiB; at most {FSR_MAX_SIZE_GIB:,} GiB are possible"
        )
    if facts.fast_restore is not None and facts.fast_restore.state == "disabling":
        return "fast snapshot restore of this snapshot is being disabled in this zone just now"
    if not facts.fast_restore_runs and facts.snapshots_of_restore > facts.fast_restore_quota_left:
        return (
            f"the quota of snapshots with fast snapshot restore leaves {facts.fast_restore_quota_left} "
            f"in this Region, and this restore would need {facts.snapshots_of_restore}"
        )
    if facts.speed.iops > FSR_MAX_IOPS or facts.speed.sustained_mib_s > FSR_MAX_MIB_S:
        return (
            f"the volume has {facts.speed.iops:,} IOPS and {facts.speed.sustained_mib_s:,.0f} MiB/s; "
            f"the benefit ends at {FSR_MAX_IOPS:,} IOPS and {FSR_MAX_MIB_S:,} MiB/s"
        )
    return None
