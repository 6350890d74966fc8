"""How long the parts of a rewind take, one after the other."""

from __future__ import annotations

from dataclasses import dataclass

from rewarm.domain.blocks.rewind_facts import RewindFacts, RewindLoad, RewindManner
from rewarm.domain.model import BLOCK_BYTES, MIB
from rewarm.domain.plan.estimators import BLOCKS_PER_SECOND, FETCH_SHARE
from rewarm.domain.plan.warm_up import instance_mib_s
from rewarm.domain.time.timings import MB_S, Quantiles

UPLOAD_MIB_S = Quantiles(85 * MB_S, 85 * MB_S / 2)
"""Of one upload of old bytes: S3 gives 85 to 90 MB/s to a request (S3 user guide, "Performance design
patterns"). The half on a bad day is a choice."""
Phases = tuple[tuple[str, Quantiles], ...]


@dataclass(frozen=True, slots=True)
class _Day:
    """What is to be moved, and how fast everything is: as expected, or on a bad day."""

    compared_blocks: int
    fetched_blocks: int
    load: RewindLoad
    mib_s: float
    fetched_a_second: float
    upload_mib_s: float
    copy_start: float
    evidence: float

    def moving(self, blocks: int) -> float:
        """Seconds in which the agent reads or writes so many blocks."""
        return blocks * BLOCK_BYTES / MIB / self.mib_s


def phases(facts: RewindFacts, way: RewindManner, expected: RewindLoad, most: RewindLoad) -> Phases:
    """P50 and P90 of each part, in seconds: P50 with what is expected, P90 with the most on a bad day."""
    usual, bad = (
        _compared(day, way) if way.reads_device else _listed(day) for day in _days(facts, expected, most)
    )
    timings = facts.timings
    parts = [(name, Quantiles(seconds, bad[name])) for name, seconds in usual.items()]
    return (("deliver", timings.delivery_seconds), *parts, ("compare", timings.verify_seconds))


def _days(facts: RewindFacts, expected: RewindLoad, most: RewindLoad) -> tuple[_Day, _Day]:
    """Volume, instance and the request limit the agent; EBS and S3 limit what is fetched and kept."""
    timings, limits = facts.timings, facts.instance_limits
    share, start = timings.warm_up_share, timings.copy_start_seconds
    evidence = Quantiles(0.0, 0.0) if facts.is_equal else timings.evidence_seconds
    maximum = instance_mib_s(limits.maximum_throughput_mib_s, limits.maximum_iops)
    baseline = instance_mib_s(limits.baseline_throughput_mib_s, limits.baseline_iops)
    burst = min(facts.speed.burst_mib_s, maximum, facts.max_mib_s)
    sustained = min(facts.speed.sustained_mib_s, baseline, facts.max_mib_s)
    fetched = max(0, facts.written_blocks - facts.logged)
    usually, mostly = (load.blocks if facts.alone else facts.volume_blocks for load in (expected, most))
    fetching = BLOCKS_PER_SECOND * FETCH_SHARE.p50, BLOCKS_PER_SECOND * FETCH_SHARE.p90
    return (
        _Day(
            usually,
            fetched,
            expected,
            share.p50 * burst,
            fetching[0],
            UPLOAD_MIB_S.p50,
            start.p50,
            evidence.p50,
        ),
        _Day(
            mostly,
            fetched,
            most,
            share.p90 * sustained,
            fetching[1],
            UPLOAD_MIB_S.p90,
            start.p90,
            evidence.p90,
        ),
    )


def _listed(day: _Day) -> dict[str, float]:
    """The agent reads each block back while it writes the next ones; both count for the volume's limits.

    What differs in the newest snapshot is fetched while the evidence is pending, and nothing is written until
    that is completed. The evidence's own blocks can be listed then, so the start of their copy is waited for.
    """
    load = day.load
    fetching, once = load.fetched / day.fetched_a_second, day.moving(load.blocks)
    early = fetching * load.first_blocks / load.blocks if load.first_blocks else 0.0
    first = day.copy_start + early if load.first_blocks else 0.0
    writing, checked = max(fetching - early, once), max(fetching - early, 2 * once)
    return {
        "evidence": max(day.evidence, first),
        "copy": day.copy_start,
        "write": writing,
        "read-back": checked - writing,
    }


def _compared(day: _Day, way: RewindManner) -> dict[str, float]:
    """All written blocks of the snapshot are fetched while the agent reads the whole device.

    Where a snapshot is waited for, fetching begins while it is pending, and the agent's reading after that.
    The old bytes of what differs are read once more and uploaded before anything is written in their place.
    """
    waited = day.evidence if way.waits else 0.0
    once, fetched = day.moving(day.load.blocks), day.copy_start + day.fetched_blocks / day.fetched_a_second
    upload = day.load.blocks * BLOCK_BYTES / MIB / day.upload_mib_s
    begins = max(waited, day.copy_start)
    found = max(begins + day.moving(day.compared_blocks), fetched)
    return {
        **({"evidence": waited} if way.waits else {}),
        "copy": begins - waited,
        "read": found - begins,
        **({} if way.waits else {"keep": once + upload}),
        "write": once,
        "read-back": once,
    }
