"""What it takes to put a volume back to a snapshot by writing just the blocks that differ.

The blocks between the good snapshot and the newest completed one are listed. What was written since then lies
between the bounds that VolumeWriteBytes and VolumeWriteOps give. A snapshot of the volume as it is now, the
evidence, is made first and kept: a rewind to it undoes the rewind. While it is pending, the first part is
fetched and written.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from rewarm.domain.blocks.changed import ChangedCount
from rewarm.domain.model import BLOCK_BYTES, MIB, InstanceEbsLimits, PriceBook
from rewarm.domain.plan import cost
from rewarm.domain.plan.estimators import BLOCKS_PER_SECOND, FETCH_SHARE
from rewarm.domain.plan.warm_up import instance_mib_s
from rewarm.domain.time.timings import (
    GUESS_WEIGHT,
    PRIORS,
    Quantiles,
    Timings,
    WeightedValue,
    shrunk,
)
from rewarm.domain.units import count_text, gib, price_text, round_usd
from rewarm.domain.volume.volume_types import VolumeSpeed

LIST_CHANGED = "ListChangedBlocks requests"


@dataclass(frozen=True, slots=True)
class WrittenSince:
    """VolumeWriteOps and VolumeWriteBytes since the newest completed snapshot was started."""

    ops: float
    size_bytes: float


@dataclass(frozen=True, slots=True)
class RewindFacts:
    """A living volume, and what has changed on it since the good snapshot."""

    volume_bytes: int
    speed: VolumeSpeed
    instance_limits: InstanceEbsLimits
    changed: ChangedCount
    since: WrittenSince | None
    """None where CloudWatch does not say: then all of the volume may have changed."""
    timings: Timings = PRIORS


@dataclass(frozen=True, slots=True)
class RewindLoad:
    """What is expected, or at most, to be written. The first part differs already in the newest snapshot."""

    first_blocks: int
    blocks: int
    zeros: int

    @property
    def fetched(self) -> int:
        """Blocks that have to be read from the snapshot."""
        return self.blocks - self.zeros


@dataclass(frozen=True, slots=True)
class RewindEstimate:
    """What a rewind takes and costs: expected, and what nine of ten stay below."""

    expected: RewindLoad
    most: RewindLoad
    phases: tuple[tuple[str, Quantiles], ...]
    """In seconds; one after the other."""
    parts: tuple[cost.CostLine, ...]
    most_usd: Decimal
    evidence_usd_a_month: Decimal

    @property
    def seconds(self) -> Quantiles:
        """From the call until the volume is given back."""
        return Quantiles(
            math.fsum(part.p50 for _, part in self.phases), math.fsum(part.p90 for _, part in self.phases)
        )

    @property
    def usd(self) -> Decimal:
        """All requests and the packs; the evidence is paid by the month, for as long as it is kept."""
        return cost.total(self.parts)


def with_evidence(timings: Timings, pending: Sequence[float]) -> Timings:
    """The timings with what earlier snapshots of the volume teach; the prior is a guess in a wide range."""
    seen = [WeightedValue(seconds) for seconds in pending]
    return replace(timings, evidence_seconds=shrunk(seen, timings.evidence_seconds, GUESS_WEIGHT))


def rewind(facts: RewindFacts, book: PriceBook) -> RewindEstimate:
    """Of a volume that can be rewound."""
    expected, most = _loads(facts)
    requests = facts.changed.requests
    parts, most_parts = _parts(expected, requests, book), _parts(most, requests, book)
    evidence = (expected.blocks - expected.first_blocks) * BLOCK_BYTES
    return RewindEstimate(
        expected,
        most,
        _phases(facts, expected, most),
        parts,
        cost.total(most_parts),
        round_usd(gib(evidence) * book.snapshot_usd_per_gib_month),
    )


def _loads(facts: RewindFacts) -> tuple[RewindLoad, RewindLoad]:
    """What was written since fills so many blocks at least. At most, each operation met another one; few
    cross from one block to the next. Expected is the middle of the two magnitudes: a choice.

    Blocks that changed before and since are counted twice: rather too many.
    """
    volume = math.ceil(facts.volume_bytes / BLOCK_BYTES)
    found, since = facts.changed, facts.since
    unlisted = math.ceil(volume * (1 - found.listed_share))
    likely = round(min(volume, found.blocks / found.listed_share)) if found.listed_share else volume
    full = math.ceil(since.size_bytes / BLOCK_BYTES) if since else 0
    touched = full + math.ceil(since.ops) if since else volume
    between = round(math.sqrt(full * touched))

    def load(first: int, later: int) -> RewindLoad:
        return RewindLoad(first, min(volume, first + later), found.zeros)

    return load(likely, between), load(min(volume, found.blocks + unlisted), touched)


def _phases(facts: RewindFacts, expected: RewindLoad, most: RewindLoad) -> tuple[tuple[str, Quantiles], ...]:
    """The agent reads each block back while it writes the next ones; both count for the volume's limits."""
    timings, share = facts.timings, facts.timings.warm_up_share
    limits = facts.instance_limits
    maximum = instance_mib_s(limits.maximum_throughput_mib_s, limits.maximum_iops)
    baseline = instance_mib_s(limits.baseline_throughput_mib_s, limits.baseline_iops)
    rates = (
        share.p50 * min(facts.speed.burst_mib_s, maximum),
        share.p90 * min(facts.speed.sustained_mib_s, baseline),
    )
    fetch = [BLOCKS_PER_SECOND * one for one in (FETCH_SHARE.p50, FETCH_SHARE.p90)]
    writing, checked, first = [], [], []
    for load, mib_s, blocks_s in zip((expected, most), rates, fetch, strict=True):
        once = load.blocks * BLOCK_BYTES / MIB / mib_s
        writing.append(max(load.fetched / blocks_s, once))
        checked.append(max(load.fetched / blocks_s, 2 * once))
        first.append(checked[-1] * load.first_blocks / load.blocks if load.blocks else 0.0)
    evidence = timings.evidence_seconds
    return (
        ("deliver", timings.delivery_seconds),
        ("evidence", Quantiles(max(0.0, evidence.p50 - first[0]), max(0.0, evidence.p90 - first[1]))),
        ("write", Quantiles(*writing)),
        ("read-back", Quantiles(checked[0] - writing[0], checked[1] - writing[1])),
        ("compare", timings.verify_seconds),
    )


def _parts(load: RewindLoad, planned: int, book: PriceBook) -> tuple[cost.CostLine, ...]:
    """The list is read for the plan, for the first part, and once the evidence is there."""
    lists = planned + pages(load.first_blocks) + pages(load.blocks)
    return (
        cost.CostLine(
            LIST_CHANGED,
            round_usd(lists * book.list_blocks_usd_per_thousand / 1_000),
            f"{count_text(lists, 'request')} x {price_text(book.list_blocks_usd_per_thousand)} / 1,000",
        ),
        cost.fetched_blocks(load.fetched, book.get_blocks_usd_per_thousand),
        cost.packs(load.fetched),
    )


def pages(blocks: int) -> int:
    """Requests of ListChangedBlocks that list so many blocks: one at least."""
    return max(1, math.ceil(blocks / cost.BLOCKS_PER_LIST_REQUEST))
