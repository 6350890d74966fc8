"""What it takes to put a volume back to a snapshot by writing just the blocks that differ, and which way.

There are three ways. A snapshot of the volume as it is now, the evidence, is made first and kept, and EBS
lists what differs in it: a rewind to it undoes the rewind. Or the agent compares the whole device with the
good snapshot, and keeps the old bytes of what it writes in an undo log; no snapshot is waited for. Or it
compares the device, and writes once the evidence is completed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import product

from rewarm.domain.blocks.rewind_facts import RewindFacts, RewindLoad, RewindManner, loads
from rewarm.domain.blocks.rewind_times import Phases, phases
from rewarm.domain.blocks.shards import SAMPLES_OF_A_LOOK
from rewarm.domain.model import BLOCK_BYTES, PriceBook
from rewarm.domain.plan import cost
from rewarm.domain.time.timings import GUESS_WEIGHT, Quantiles, Timings, WeightedValue, shrunk
from rewarm.domain.units import count_text, gib, price_text, round_usd

LIST_CHANGED = "ListChangedBlocks requests"
SAMPLES = 256
"""Blocks that are not written, and are compared with the snapshot, where EBS lists what differs."""


@dataclass(frozen=True, slots=True)
class RewindEstimate:
    """What a rewind takes and costs by one way: expected, and what nine of ten stay below."""

    way: RewindManner
    expected: RewindLoad
    most: RewindLoad
    phases: Phases
    """In seconds; one after the other."""
    parts: tuple[cost.CostLine, ...]
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
    """Of a volume that can be rewound this way."""
    expected, most = loads(facts)
    parts, most_parts = (_parts(facts, way, load, book) for load in (expected, most))
    first = 0 if way.reads_device else expected.first_blocks
    month = book.snapshot_usd_per_gib_month if way.waits else cost.PACKS_USD_PER_GIB_MONTH
    blocks = 0 if facts.is_equal and way.waits else expected.blocks - first
    kept = round_usd(gib(blocks * BLOCK_BYTES) * month)
    times = phases(facts, way, expected, most)
    return RewindEstimate(way, expected, most, times, parts, cost.total(most_parts), kept)


def choose(ways: Sequence[Sequence[RewindEstimate]], max_usd: Decimal | None) -> list[RewindEstimate]:
    """One way for each volume, so that the last is ready as soon as the budget for all of them allows.

    Where no mix is within the budget, the cheapest. At most eight volumes have three ways each.
    """

    def rank(mix: Sequence[RewindEstimate]) -> tuple[Decimal, float, float, Decimal]:
        usd = sum((one.usd for one in mix), Decimal(0))
        over = Decimal(0) if max_usd is None or usd <= max_usd else usd
        seconds = [one.seconds.p50 for one in mix]
        return over, max(seconds, default=0.0), math.fsum(seconds), usd

    best = min(product(*ways), key=rank)
    return list(best)


def _parts(
    facts: RewindFacts, way: RewindManner, load: RewindLoad, book: PriceBook
) -> tuple[cost.CostLine, ...]:
    """Of a comparison every written block of the snapshot, whatever differs.

    EBS's list is read for the plan, for the first part, and once the evidence is there; some blocks that it
    does not name are compared too, and found by requests of their own.
    """
    planned, each = facts.changed.requests, book.get_blocks_usd_per_thousand
    if way.reads_device:
        fetched = max(0, facts.written_blocks - facts.logged)
        changed = [_requests(LIST_CHANGED, planned, book)] if planned else []
        whole = pages(facts.written_blocks)
        listed = [] if facts.alone else [_requests(cost.LIST_BLOCKS, whole, book)]
        return (*changed, *listed, cost.fetched_blocks(fetched, each), cost.packs(fetched))
    samples = max(0, min(SAMPLES, facts.written_blocks - load.fetched))
    changed = [_requests(LIST_CHANGED, planned + pages(load.first_blocks) + pages(load.blocks), book)]
    looks = [_requests(cost.LIST_BLOCKS, -(-samples // SAMPLES_OF_A_LOOK), book)] if samples else []
    return (*changed, *looks, cost.fetched_blocks(load.fetched + samples, each), cost.packs(load.fetched))


def _requests(item: str, count: int, book: PriceBook) -> cost.CostLine:
    each = book.list_blocks_usd_per_thousand
    arithmetic = f"{count_text(count, 'request')} x {price_text(each)} / 1,000"
    return cost.CostLine(item, round_usd(count * each / 1_000), arithmetic)


def pages(blocks: int) -> int:
    """Requests that list so many blocks: one at least."""
    return max(1, math.ceil(blocks / cost.BLOCKS_PER_LIST_REQUEST))
