"""How long each strategy takes and what it costs, from facts alone; a table with one estimator each."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping
from decimal import Decimal
from types import MappingProxyType

from rewarm.domain.model import BLOCK_BYTES, DELTA_SECONDS, GIB, MIB, PriceBook, Strategy
from rewarm.domain.plan import cost
from rewarm.domain.plan.estimates import (
    Estimate,
    EstimateLimits,
    Estimator,
    Infeasible,
    Outcome,
    Times,
    cold_measurement,
    listing,
    ready_p90_if,
    timed,
    within_limit,
)
from rewarm.domain.plan.facts import VolumeFacts
from rewarm.domain.plan.warm_up import (
    OwnRate,
    boosted_warm_up,
    instance_rate,
    no_agent,
    shared_seconds,
    warm_up_agent,
)
from rewarm.domain.time.measured import Phase
from rewarm.domain.time.timings import MB_S, Quantiles
from rewarm.domain.units import duration_text
from rewarm.domain.volume.volume_types import VolumeLimits

MIN_RATE_MIB_S = 100
MAX_RATE_MIB_S = 300
"""botocore: ec2 CreateVolume VolumeInitializationRate, 100-300 MiB/s."""
TIB_GIB = 1_024
CLONE_GROWS_TO_TIB = 16
CLONE_SPEED = VolumeLimits(3_000, 125.0, 125.0)
"""EBS user guide, "Copy volumes": the baseline until it is initialized; what comes on top is not promised."""

BLOCKS_PER_SECOND = 1_000
"""GetSnapshotBlock requests that EBS allows for a snapshot; by default an account has as many or more."""
FETCH_SHARE = Quantiles(480 * MB_S * MIB / BLOCK_BYTES / 1_000, 422 * MB_S * MIB / BLOCK_BYTES / 1_000)
"""Share of these that is reached: published are 480 and 422 MB/s (2021)."""
FSR_MAX_SIZE_GIB = 16_384
FSR_MAX_IOPS = 64_000
FSR_MAX_MIB_S = 1_000
"""EBS user guide, "Fast snapshot restore": up to 16 TiB; full benefit to 64,000 IOPS and 1,000 MiB/s. For
faster volumes "we recommend that you initialize the volume to receive its full performance"."""


def background(facts: VolumeFacts, book: PriceBook, limits: EstimateLimits) -> Outcome:
    """EBS loads by itself; nobody knows how fast."""
    del limits
    tib = facts.data_bytes / (TIB_GIB * GIB)
    least = facts.timings.background_least_seconds
    each = facts.timings.background_seconds_per_tib
    known = facts.timings.basis_of(Strategy.BACKGROUND)
    lag = facts.timings.status_delay_seconds
    loading = Quantiles(max(least.p50, each.p50 * tib) + lag.p50, max(least.p90, each.p90 * tib) + lag.p90)
    times = timed(facts, ((Phase.LOAD, loading if facts.data_bytes else Quantiles(0, 0)),))
    return Estimate(Strategy.BACKGROUND, times, (listing(facts, book),), basis=known)


def provisioned_rate(facts: VolumeFacts, book: PriceBook, limits: EstimateLimits) -> Outcome:
    """The lowest rate that meets the deadline (price grows with the rate), else the highest affordable."""
    most = most_rate(facts)
    if most < MIN_RATE_MIB_S:
        return Infeasible(
            Strategy.PROVISIONED_RATE,
            f"the Region's quota leaves {facts.rate_quota_left_mib_s:,} MiB/s, which is {most} MiB/s for "
            f"each of {facts.volumes_of_restore} volumes; the lowest rate is {MIN_RATE_MIB_S}",
        )
    rate = most
    if limits.deadline_seconds is None:
        rate = MIN_RATE_MIB_S
    else:
        rate = min(most, _lowest_rate(rate_p90(facts), limits.deadline_seconds))
    estimate = at_rate(facts, book, rate)
    budget = limits.budget_usd
    if budget is None or estimate.decidable_usd <= budget:
        return estimate
    return at_rate(facts, book, _highest_affordable_rate(facts, book, budget, most))


def most_rate(facts: VolumeFacts) -> int:
    """Each volume of the restore gets an even part of what the Region's quota leaves."""
    return min(MAX_RATE_MIB_S, facts.rate_quota_left_mib_s // max(1, facts.volumes_of_restore))


def at_rate(facts: VolumeFacts, book: PriceBook, rate_mib_s: int) -> Estimate:
    """One of 100 to 300 MiB/s."""
    parts = (listing(facts, book), cost.provisioned_rate(book, facts.data_bytes, rate_mib_s))
    times = rate_times(facts, rate_mib_s)
    known = facts.timings.basis_of(Strategy.PROVISIONED_RATE)
    return Estimate(Strategy.PROVISIONED_RATE, times, parts, rate_mib_s, basis=known)


def rate_times(facts: VolumeFacts, rate_mib_s: int) -> Times:
    """Times with this rate. EBS loads by itself, so neither volume nor instance limit it."""
    share = facts.timings.rate_delivered
    lag = facts.timings.status_delay_seconds
    expected = facts.data_bytes / MIB / rate_mib_s / share.p50 + lag.p50
    return timed(facts, ((Phase.LOAD, Quantiles(expected, _promised_loading(facts, rate_mib_s))),))


def rate_p90(facts: VolumeFacts) -> Callable[[int], float]:
    """P90 by rate, for those who compare many."""
    ready = ready_p90_if(rate_times(facts, MAX_RATE_MIB_S), Phase.LOAD)
    return lambda rate_mib_s: ready(_promised_loading(facts, rate_mib_s))


def _promised_loading(facts: VolumeFacts, rate_mib_s: int) -> float:
    timings = facts.timings
    seconds = facts.data_bytes / MIB / rate_mib_s / timings.rate_delivered.p90
    return seconds + timings.status_delay_seconds.p90


def _lowest_rate(ready: Callable[[int], float], deadline_seconds: float) -> int:
    """The lowest rate in time; one above the highest if none is. `ready` gives the P90 of a rate."""
    rates = range(MIN_RATE_MIB_S, MAX_RATE_MIB_S + 1)
    return MIN_RATE_MIB_S + bisect_left(rates, -deadline_seconds, key=lambda rate: -ready(rate))


def _highest_affordable_rate(facts: VolumeFacts, book: PriceBook, budget: Decimal, most: int) -> int:
    """The highest affordable rate; the lowest one if none is, and the caller sees the price."""
    rates = range(MIN_RATE_MIB_S, most + 1)
    affordable = bisect_right(
        rates, budget, key=lambda rate: cost.provisioned_rate_usd(book, facts.data_bytes, rate)
    )
    return rates[max(0, affordable - 1)]


def volume_clone(facts: VolumeFacts, book: PriceBook, limits: EstimateLimits) -> Outcome:
    """A copy of the source volume as it is now, by EBS itself."""
    source = facts.clone_source
    refusal = _clone_refusal(facts, book, limits)
    if source is None or refusal is not None:
        return Infeasible(Strategy.VOLUME_CLONE, refusal or "")
    timings = facts.timings
    tib = source.size_gib / TIB_GIB
    first = timings.clone_first_tib_seconds
    following = timings.clone_next_tib_seconds
    more = max(0, math.ceil(tib) - 1)
    loading = Quantiles(first.p50 + following.p50 * more, first.p90 + following.p90 * more)
    if tib > CLONE_GROWS_TO_TIB:
        loading = timings.clone_most_seconds
    lag = timings.status_delay_seconds
    iops = min(speed.iops for speed in (CLONE_SPEED, source.speed, facts.speed))
    mib_s = min(speed.sustained_mib_s for speed in (CLONE_SPEED, source.speed, facts.speed))
    return Estimate(
        Strategy.VOLUME_CLONE,
        timed(facts, ((Phase.LOAD, Quantiles(loading.p50 + lag.p50, loading.p90 + lag.p90)),)),
        (listing(facts, book), cost.volume_clone(book, source.size_gib)),
        basis=timings.basis_of(Strategy.VOLUME_CLONE),
        note=f"it holds what is on {source.volume_id} now, not the snapshot's data, and until it is "
        f"initialized the plan counts on its baseline of {iops:,} IOPS and {mib_s:,.0f} MiB/s, above which "
        f"EBS may go where source and copy have more{_unpriced(book)}",
    )


def _unpriced(book: PriceBook) -> str:
    return "" if book.clone_usd_per_gib is not None else "; AWS bills the copy too, at a price not known here"


def _clone_refusal(facts: VolumeFacts, book: PriceBook, limits: EstimateLimits) -> str | None:
    source = facts.clone_source
    if source is None:
        return "the source volume is not alive in the target's Availability Zone"
    if source.being_copied:
        return f"{source.volume_id} is being copied already, and EBS makes one copy at a time"
    if facts.clones_of_restore > facts.clone_quota_left:
        return (
            f"the Region's quota leaves {facts.clone_quota_left} copies, and this restore would need "
            f"{facts.clones_of_restore}"
        )
    if facts.settings is not None and facts.settings.size_gib < source.size_gib:
        return f"the source volume has grown to {source.size_gib:,} GiB, and a copy cannot be smaller"
    if book.clone_usd_per_gib is None and limits.budget_usd is not None:
        return "AWS names no price for volume clones here, so no budget can be kept"
    return None


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
        note=fast_restore_limit(facts.speed) or "",
    )


def fast_restore_limit(speed: VolumeLimits) -> str | None:
    """Where the full benefit ends, in words; None where the volume is not above that."""
    if speed.iops <= FSR_MAX_IOPS and speed.sustained_mib_s <= FSR_MAX_MIB_S:
        return None
    return (
        f"its full benefit ends at {FSR_MAX_IOPS:,} IOPS and {FSR_MAX_MIB_S:,} MiB/s, and the volume has "
        f"{speed.iops:,} IOPS and {speed.sustained_mib_s:,.0f} MiB/s"
    )


def fsr_lead(facts: VolumeFacts) -> Quantiles:
    """Seconds until `enabled` and a credit for this restore's last volume: who gets the first is not known.

    Filling is taken to begin only when it is enabled (AWS names no moment), so that nothing comes later.
    """
    optimizing = _optimizing(facts)
    poll = facts.timings.fsr_poll_seconds
    balance = (facts.fast_restore.credits if facts.fast_restore else None) or 0.0
    each = 3_600 / fsr_credits_per_hour(facts.snapshot_size_gib)
    wait = max(0.0, facts.volumes_of_snapshot - balance) * each
    return Quantiles(optimizing.p50 + wait + poll.p50, optimizing.p90 + wait + poll.p90)


def _optimizing(facts: VolumeFacts) -> Quantiles:
    """The time left. If it takes longer than promised, a tenth of it is promised from now on."""
    found = facts.fast_restore
    tib = facts.snapshot_size_gib / TIB_GIB
    if found is not None and found.state == "enabled":
        return Quantiles(0.0, 0.0)
    each = facts.timings.fsr_optimizing_seconds_per_tib
    passed = found.optimizing_seconds if found else 0.0
    whole = Quantiles(each.p50 * tib, each.p90 * tib)
    least = whole.p90 - whole.p50
    return Quantiles(max(0.0, whole.p50 - passed), max(least, whole.p90 - passed))


def fsr_credits_per_hour(size_gib: int) -> float:
    """EBS user guide, "Volume creation credits": MIN(10, 1,024 / size)."""
    return min(10.0, 1024 / max(1, size_gib))


def _refusal(facts: VolumeFacts) -> str | None:
    if facts.of_drill:
        return "a drill changes nothing of the snapshot, which is the source's"
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
    # Nobody should pay for a part of the benefit. If it is paid already, a part is better than nothing.
    return None if facts.fast_restore_runs else fast_restore_limit(facts.speed)


def direct_write(facts: VolumeFacts, book: PriceBook, limits: EstimateLimits) -> Outcome:
    """An empty volume, to which the agent writes every block; EBS need not initialize it (EBS user guide).

    It is usable once all blocks are written and read back. Volumes of a snapshot pay its blocks together.
    """
    del limits
    refusal = _no_writer(facts)
    if refusal is not None:
        return Infeasible(Strategy.DIRECT_WRITE, refusal)
    writing = _writing(facts)
    delivery = facts.timings.delivery_seconds
    if writing.p90 > DELTA_SECONDS:
        # The agent would begin again with the first block, once it can load no more of them.
        most = duration_text(DELTA_SECONDS)
        p90 = duration_text(writing.p90)
        return Infeasible(
            Strategy.DIRECT_WRITE, f"it would write for {p90} (P90), and packs can be loaded for {most}"
        )
    lines = cost.blocks(facts.written_blocks, book)
    loading = ((Phase.WRITE, Quantiles(delivery.p50 + writing.p50, delivery.p90 + writing.p90)),)
    return Estimate(
        Strategy.DIRECT_WRITE,
        timed(facts, loading, usable_when_loaded=True),
        (listing(facts, book), *(cost.shared(line, facts.writers_of_snapshot) for line in lines)),
        note="nothing can be read from it before",
    )


def moved_by_agent(facts: VolumeFacts, strategy: Strategy) -> int:
    """What the agent reads and writes through the instance by this strategy, in bytes."""
    if strategy.writes_with_agent:
        return facts.write_bytes
    return facts.read_bytes if strategy.reads_with_agent else 0


def promised_writing_mib_s(facts: VolumeFacts) -> tuple[float, float]:
    """What the volume takes at most, and what its instance gives all volumes together."""
    share = facts.timings.warm_up_share.p90
    most = float(facts.max_warm_up_mib_s or math.inf)
    own = share * min(facts.speed.sustained_mib_s, facts.speed.burst_mib_s, most)
    return own, instance_rate(facts, expected=False, share=share).baseline_mib_s


def _writing(facts: VolumeFacts) -> Quantiles:
    """Limited by what EBS hands out of the snapshot, or by volume and instance.

    All snapshots of the restore share the account's limit. It is taken as if all of them were written.
    """
    share = facts.timings.warm_up_share
    most = float(facts.max_warm_up_mib_s or math.inf)
    mib = facts.write_bytes / MIB
    beside = tuple([size / MIB for size in facts.write_beside])
    blocks_per_second = BLOCKS_PER_SECOND / max(1, facts.snapshots_read)
    expected = OwnRate(share.p50 * min(facts.speed.burst_mib_s, most))
    promised = OwnRate(promised_writing_mib_s(facts)[0])
    return Quantiles(
        max(
            facts.written_blocks / (blocks_per_second * FETCH_SHARE.p50),
            shared_seconds(mib, expected, instance_rate(facts, expected=True, share=share.p50), beside),
        ),
        max(
            facts.written_blocks / (blocks_per_second * FETCH_SHARE.p90),
            shared_seconds(mib, promised, instance_rate(facts, expected=False, share=share.p90), beside),
        ),
    )


def _no_writer(facts: VolumeFacts) -> str | None:
    refusal = facts.writing_left_out or no_agent(facts)
    if refusal is not None:
        return refusal
    if facts.of_drill:
        return "a drill's functions may write to no volume"
    if facts.starts_instance:
        return "its instance is started with the volume, and would find it empty"
    if facts.settings is not None and facts.settings.size_gib != facts.snapshot_size_gib:
        return "the volume is to be larger than the snapshot, and the agent writes just to one of its size"
    if facts.settings is not None and facts.settings.multi_attach:
        return "several instances may attach the volume, and another one could write meanwhile"
    return None if facts.agent_writes else "writing was never tried on Windows"


ESTIMATORS: Mapping[Strategy, Estimator] = MappingProxyType(
    {
        strategy: within_limit(strategy, estimator)
        for strategy, estimator in (
            (Strategy.WARM_UP_AGENT, warm_up_agent),
            (Strategy.BACKGROUND, background),
            (Strategy.BOOSTED_WARM_UP, boosted_warm_up),
            (Strategy.PROVISIONED_RATE, provisioned_rate),
            (Strategy.FAST_SNAPSHOT_RESTORE, fast_snapshot_restore),
            (Strategy.DIRECT_WRITE, direct_write),
            (Strategy.VOLUME_CLONE, volume_clone),
        )
    }
)
"""In this order where price and time are the same: what we can watch first, what costs money last."""
