"""What a strategy costs, with the sums written out; prices come as a book, money is Decimal.

Storage of the new volume is the same whatever the strategy, so it is not part of these prices.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from rewarm.domain.model import PriceBook
from rewarm.domain.units import count_text, gib, price_text, round_usd, usd_text

BLOCKS_PER_LIST_REQUEST = 10_000
"""The most that one answer holds (botocore: ebs ListSnapshotBlocks MaxResults 100-10,000)."""
FSR_MINIMUM_MINUTES = 60
"""EBS user guide, "Fast snapshot restore": billed by the minute, with a minimum of one hour."""


@dataclass(frozen=True, slots=True)
class CostPart:
    """One line of a price. `sunk` is spent whatever is chosen."""

    item: str
    usd: Decimal
    arithmetic: str
    sunk: bool = False


def total(parts: Iterable[CostPart]) -> Decimal:
    """The sum of the parts."""
    return sum((part.usd for part in parts), Decimal(0))


def list_blocks(book: PriceBook, written_blocks: int) -> CostPart:
    """EBS direct APIs: the map of written blocks is listed for every restore, so no choice avoids it."""
    requests = max(1, math.ceil(written_blocks / BLOCKS_PER_LIST_REQUEST))
    usd = round_usd(requests * book.list_blocks_usd_per_thousand / 1000)
    price = price_text(book.list_blocks_usd_per_thousand)
    arithmetic = f"{count_text(requests, 'request')} x {price} / 1,000"
    return CostPart("ListSnapshotBlocks requests", usd, arithmetic, sunk=True)


def provisioned_rate(book: PriceBook, data_bytes: int, rate_mib_s: int) -> CostPart:
    """EBS user guide, "Provisioned Rate for Volume Initialization": snapshot data x rate, billed in full."""
    data_gib = gib(data_bytes)
    usd = round_usd(data_gib * rate_mib_s * book.rate_usd_per_gib_mib_s)
    arithmetic = f"{data_gib:.3f} GiB x {rate_mib_s} MiB/s x {price_text(book.rate_usd_per_gib_mib_s)}"
    return CostPart("Provisioned initialization rate", usd, arithmetic)


def fast_snapshot_restore(book: PriceBook, enabled_seconds: float, sharers: int = 1) -> CostPart:
    """From the call that enables it to its release; several volumes of one snapshot and zone share one price.

    AWS says "billed for each minute that it is enabled" and leaves open whether enabling and optimizing
    count; counted here, so that the bill is never higher than the plan.
    """
    minutes = max(FSR_MINIMUM_MINUTES, math.ceil(enabled_seconds / 60))
    usd = round_usd(book.fsr_usd_per_hour * minutes / 60 / sharers)
    arithmetic = f"{minutes:,} min / 60 x {price_text(book.fsr_usd_per_hour)}"
    if sharers > 1:
        arithmetic += f" / {sharers} volumes of the same snapshot"
    return CostPart("Fast snapshot restore", usd, arithmetic)


def already_enabled_elsewhere() -> CostPart:
    """Somebody else has enabled it, and pays for it."""
    return CostPart("Fast snapshot restore", Decimal(0), "enabled already, so nothing is added")


def in_words(parts: Iterable[CostPart]) -> str:
    """All sums on one line."""
    return "; ".join(f"{part.item}: {part.arithmetic} = {usd_text(part.usd)}" for part in parts)
