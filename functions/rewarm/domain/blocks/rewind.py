"""What it takes to put a volume back to a snapshot by writing just the blocks that differ, and which way.

There are three ways. First: EC2 makes a snapshot of the volume as it is, the evidence, and EBS lists what
differs in it. A rewind to the evidence undoes the rewind. Second: the agent compares the device with the good
snapshot, and keeps the old bytes in an undo log. So it waits for no snapshot. Third: the agent compares the
device, and writes once the evidence is completed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import product

from rewarm.domain.blocks.rewind_facts import RewindFacts, RewindLoad, RewindManner, loads
from rewarm.domain.blocks.shards import SAMPLES_OF_A_LOOK
from rewarm.domain.model import BLOCK_BYTES, MIB, PriceBook
from rewarm.domain.plan import cost
from rewarm.domain.plan.estimators import BLOCKS_PER_SECOND, FETCH_SHARE
from rewarm.domain.plan.warm_up import instance_mib_s
from rewarm.domain.time.timings import GUESS_WEIGHT, MB_S, Quantiles, Timings, WeightedValue, shrunk
from rewarm.domain.units import count_text, gib, price_text, round_usd
from rewarm.domain.value import Value

LIST_CHANGED = "ListChangedBlocks requests"
SAMPLES = 256
"""Blocks that are not written, and are compared with the snapshot, where EBS lists what differs."""


class RewindEstimate(Value):
    """What a rewind takes and costs by one way: expected, and what nine of ten stay below."""

    way: RewindManner
    expected: RewindLoad
    most: RewindLoad
    phases: Phases
    """In seconds; one after the other."""
    parts: tuple[cost.CostPart, ...]
    most_usd: Decimal
    kept_usd_a_month: Decimal
    """For the snapshot or the log."""

    @property
    def seconds(self) -> Quantiles:
        """From the call until the volume is given back."""
        return Quantiles(
            math.fsum(part.p50 for _, part in self.phases), math.fsum(part.p90 for _, part in self.phases)
        )

    @property
    def usd(self) -> Decimal:
        """All requests and the packs; what is kept is paid by the month, for as long as it is kept."""
        return cost.total(self.parts)


def with_evidence(timings: Timings, pending: Sequence[float]) -> Timings:
    """The timings with what earlier snapshots of the volume teach; the prior is a guess in a wide range."""
    seen = [WeightedValue(seconds) for seconds in pending]
    return replace(timings, evidence_seconds=shrunk(seen, timings.evidence_seconds, GUESS_WEIGHT))


def rewind(facts: RewindFacts, book: PriceBook, way: RewindManner) -> RewindEstimate:
    """The estimate for a volume that can be rewound this way."""
    expected, most = loads(facts)
    parts, most_parts = (_parts(facts, way, load, book) for load in (expected, most))
    first = 0 if way.reads_device else expected.first_blocks
    month = book.snapshot_usd_per_gib_month if way.waits else book.packs_usd_per_gib_month
    blocks = 0 if facts.is_equal and way.waits else expected.blocks - first
    kept = round_usd(gib(blocks * BLOCK_BYTES) * month)
    times = phases(facts, way, expected, most)
    return RewindEstimate(way, expected, most, times, parts, cost.total(most_parts), kept)


def choose(ways: Sequence[Sequence[RewindEstimate]], max_usd: Decimal | None) -> list[RewindEstimate]:
    """One way for each volume, so that the last is ready as soon as the budget for all of them allows.

    Where no mix is within the budget, the cheapest. At most eight volumes have three ways each.
    """

    def rank(mix: Sequence[RewindEstimate]) -> tuple[Decimal, float, float, Decimal]:
        usd = sum((estimate.usd for estimate in mix), Decimal(0))
        over = Decimal(0) if max_usd is None or usd <= max_usd else usd
        seconds = [estimate.seconds.p50 for estimate in mix]
        return over, max(seconds, default=0.0), math.fsum(seconds), usd

    best = min(product(*ways), key=rank)
    return list(best)


def _parts(
    facts: RewindFacts, way: RewindManner, load: RewindLoad, book: PriceBook
) -> tuple[cost.CostPart, ...]:
    """A comparison fetches every written block of the snapshot, whatever differs.

    Otherwise Rewarm reads EBS's list for the plan, for the first part, and once the evidence is completed.
    Separate requests find some blocks that the list does not name, which are compared too.
    """
    planned = facts.changed.requests
    each = book.get_blocks_usd_per_thousand
    if way.reads_device:
        fetched = max(0, facts.written_blocks - facts.logged)
        changed = [_requests(LIST_CHANGED, planned, book)] if planned else []
        whole = pages(facts.written_blocks)
        listed = [] if facts.alone else [_requests(cost.LIST_BLOCKS, whole, book)]
        return (*changed, *listed, cost.fetched_blocks(fetched, each), cost.packs(fetched, book))
    samples = max(0, min(SAMPLES, facts.written_blocks - load.fetched))
    changed = [_requests(LIST_CHANGED, planned + pages(load.first_blocks) + pages(load.blocks), book)]
    looks = [_requests(cost.LIST_BLOCKS, -(-samples // SAMPLES_OF_A_LOOK), book)] if samples else []
    requests = cost.fetched_blocks(load.fetched + samples, each)
    return (*changed, *looks, requests, cost.packs(load.fetched, book))


def _requests(item: str, count: int, book: PriceBook) -> cost.CostPart:
    each = book.list_blocks_usd_per_thousand
    arithmetic = f"{count_text(count, 'request')} x {price_text(each)} / 1,000"
    return cost.CostPart(item, round_usd(count * each / 1_000), arithmetic)


def pages(blocks: int) -> int:
    """Requests that list this number of blocks, at least one."""
    return max(1, math.ceil(blocks / cost.BLOCKS_PER_LIST_REQUEST))


UPLOAD_MIB_S = Quantiles(85 * MB_S, 85 * MB_S / 2)
"""Rates of one upload of old bytes: S3 gives a request 85 to 90 MB/s (S3 user guide, "Performance design
patterns"). Half of that on a bad day is a choice."""
Phases = tuple[tuple[str, Quantiles], ...]


class _Day(Value):
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
        """Seconds in which the agent reads or writes this number of blocks."""
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
    timings = facts.timings
    limits = facts.instance_limits
    share = timings.warm_up_share
    start = timings.copy_start_seconds
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
    fetching = load.fetched / day.fetched_a_second
    once = day.moving(load.blocks)
    early = fetching * load.first_blocks / load.blocks if load.first_blocks else 0.0
    first = day.copy_start + early if load.first_blocks else 0.0
    writing = max(fetching - early, once)
    checked = max(fetching - early, 2 * once)
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
    once = day.moving(day.load.blocks)
    fetched = day.copy_start + day.fetched_blocks / day.fetched_a_second
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
