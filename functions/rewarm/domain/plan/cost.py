"""What a strategy costs, with the sums written out; prices come as a book, money is Decimal.

Storage of the new volume is the same whatever the strategy, so it is not part of these prices.

The actual price of a part is counted by the time that it really took. AWS's own bill comes a day later.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import field, replace
from decimal import ROUND_DOWN, Decimal

from rewarm.domain.model import BLOCK_BYTES, Boost, PriceBook, Strategy, VolumeSettings
from rewarm.domain.units import (
    MICRO_DOLLAR,
    count_text,
    duration_text,
    elapsed_text,
    gib,
    price_text,
    round_usd,
    usd_text,
)
from rewarm.domain.value import Value

BLOCKS_PER_LIST_REQUEST = 10_000
"""The most that one answer holds (botocore: ebs ListSnapshotBlocks MaxResults 100-10,000)."""
HOURS_A_MONTH = 730
"""EBS pricing page, in its examples: a month has 730 hours."""
BASE_IOPS = {"gp3": 3_000}
BASE_THROUGHPUT_MIB_S = 125
"""EBS user guide, "General Purpose SSD volumes": what each gp3 volume has at no extra price."""
LIST_BLOCKS = "ListSnapshotBlocks requests"
RATE_STEPS_MIB_S = (200, 300)
"""Published articles of 2025: one price for 100 to 200 MiB/s, and one for 201 to 300."""
FSR_MINIMUM_MINUTES = 60
"""EBS user guide, "Fast snapshot restore": billed by the minute, with a minimum of one hour."""

PACKS_KEPT_DAYS = 2
"""S3 deletes a pack after a day, in the course of the next one."""
DAYS_A_MONTH = 30
GET_BLOCKS, PACKS = "GetSnapshotBlock requests", "Packs in the bucket"
COPY_RUNS = "Function runs that copy blocks"
RUN_BLOCKS, RUN_MB, RUN_SECONDS = 512, 1_769, Decimal("6.4")
"""The blocks of a run, the function's memory, and how long it takes: ten of them fetch the published 422 MB/s
(2021). UNVERIFIED, as AWS promises no rate."""
TRANSITIONS_A_RUN = 2
"""The start of a child execution and its one state. AWS's pricing page counts "each time a step of your
workflow is executed". Whether a start is one is UNVERIFIED; it counts, so that no bill is above its plan."""

AS_PLANNED = "as planned: time has no part in it"
NEVER_MADE = "no volume was made"
UNKNOWN = "how long it lasted is not known here; AWS's bill has it"


class CostPart(Value):
    """One line of a price, with the sum that gives it."""

    item: str
    usd: Decimal = field(metadata={"ge": 0})
    arithmetic: str
    seconds: float | None = field(
        default=None,
        metadata={"description": "For how long it is counted; null where time has no part in it."},
    )
    sunk: bool = field(
        default=False,
        metadata={"description": "Spent whatever is chosen; no budget is held against it."},
    )


def total(parts: Iterable[CostPart]) -> Decimal:
    """The sum of the parts."""
    return sum((part.usd for part in parts), Decimal(0))


def list_blocks(book: PriceBook, written_blocks: int) -> CostPart:
    """EBS direct APIs: the map of written blocks is listed for every restore, so no choice avoids it."""
    requests = max(1, math.ceil(written_blocks / BLOCKS_PER_LIST_REQUEST))
    usd = round_usd(requests * book.list_blocks_usd_per_thousand / 1000)
    price = price_text(book.list_blocks_usd_per_thousand)
    arithmetic = f"{count_text(requests, 'request')} x {price} / 1,000"
    return CostPart(LIST_BLOCKS, usd, arithmetic, sunk=True)


def provisioned_rate(book: PriceBook, data_bytes: int, rate_mib_s: int) -> CostPart:
    """EBS user guide, "Provisioned Rate for Volume Initialization": snapshot data x rate, billed in full."""
    data_gib = gib(data_bytes)
    usd = provisioned_rate_usd(book, data_bytes, rate_mib_s)
    arithmetic = f"{data_gib:.3f} GiB x {rate_mib_s} MiB/s x {price_text(book.rate_usd_per_gib_mib_s)}"
    return CostPart("Provisioned initialization rate", usd, arithmetic)


def provisioned_rate_usd(book: PriceBook, data_bytes: int, rate_mib_s: int) -> Decimal:
    """The sum alone, for those who compare many rates."""
    return round_usd(gib(data_bytes) * rate_mib_s * book.rate_usd_per_gib_mib_s)


def more_by_steps(book: PriceBook, data_bytes: int, rate_mib_s: int) -> Decimal:
    """What the rate costs more if two steps are billed, each at the price of its highest rate.

    Articles of 2025 publish the price as steps, EBS's user guide as a product with the rate.
    """
    step = min(top for top in RATE_STEPS_MIB_S if rate_mib_s <= top)
    linear = provisioned_rate_usd(book, data_bytes, rate_mib_s)
    return provisioned_rate_usd(book, data_bytes, step) - linear


def fast_snapshot_restore(
    book: PriceBook, enabled_seconds: float, sharers: int = 1, position: int = 0
) -> CostPart:
    """From the call that enables it to its release; several volumes of one snapshot and zone share one price.

    AWS says "billed for each minute that it is enabled" and leaves open whether enabling and optimizing
    count. They count here, so that the bill is never higher than the plan. The shares add up to the price.
    """
    minutes = max(FSR_MINIMUM_MINUTES, math.ceil(enabled_seconds / 60))
    whole = round_usd(book.fsr_usd_per_hour * minutes / 60)
    arithmetic = f"{minutes:,} min / 60 x {price_text(book.fsr_usd_per_hour)}"
    line = CostPart("Fast snapshot restore", whole, arithmetic, seconds=minutes * 60.0)
    return shared(line, sharers, position)


def shared(line: CostPart, sharers: int, position: int = 0) -> CostPart:
    """The part of one of the volumes of a snapshot that pay the line together; the parts add up to it."""
    if sharers == 1:
        return line
    upper, lower = (_down(line.usd * place / sharers) for place in (position + 1, position))
    arithmetic = f"{line.arithmetic} / {sharers} volumes of the same snapshot"
    return replace(line, usd=upper - lower, arithmetic=arithmetic)


def fast_snapshot_restore_month(book: PriceBook) -> Decimal:
    """What it costs to keep it enabled, for each snapshot in each zone."""
    return round_usd(book.fsr_usd_per_hour * HOURS_A_MONTH)


def storage_month(book: PriceBook, volume_type: str, size_gib: int) -> Decimal | None:
    """What the storage of a volume costs, without what is provisioned beside it; None without a price."""
    price = book.storage_usd_per_gib_month.get(volume_type)
    return None if price is None else round_usd(size_gib * price)


def snapshot_month(book: PriceBook, size_gib: int) -> Decimal:
    """What a snapshot costs at most: one that shares no block with another one."""
    return round_usd(size_gib * book.snapshot_usd_per_gib_month)


def _down(amount: Decimal) -> Decimal:
    return amount.quantize(MICRO_DOLLAR, rounding=ROUND_DOWN)


def shared_fast_restore(usd: Decimal, sharers: int, enabled_seconds: float) -> CostPart:
    """A volume's part of a price that volumes of several restores of a fleet share."""
    minutes = max(FSR_MINIMUM_MINUTES, math.ceil(enabled_seconds / 60))
    return CostPart("Fast snapshot restore", usd, _part_of_fleet(sharers), seconds=minutes * 60.0)


def _part_of_fleet(sharers: int) -> str:
    return f"its part of the fleet's plan, for {count_text(sharers, 'volume')} of the same snapshot"


def already_enabled_elsewhere() -> CostPart:
    """Somebody else has enabled it, and pays for it."""
    return CostPart("Fast snapshot restore", Decimal(0), "enabled already, so nothing is added")


def boost(book: PriceBook, settings: VolumeSettings, raised: Boost, seconds: float) -> CostPart:
    """What is above the settings, by the hour, until it is lowered. EBS bills provisioned IOPS
    and throughput by the second, at a price for a month (EBS pricing).
    """
    more_iops, more_mib_s = _above(settings, raised)
    terms = [
        f"{more:,} {unit} x {price_text(prices[raised.volume_type])}"
        for more, unit, prices in (
            (more_mib_s, "MiB/s", book.throughput_usd_per_mib_s_month),
            (more_iops, "IOPS", book.iops_usd_per_month),
        )
        if more
    ]
    hours = math.ceil(seconds) / 3_600
    arithmetic = f"({' + '.join(terms)}) a month / {HOURS_A_MONTH} h x {hours:.2f} h"
    usd = boost_usd(book, settings, raised, seconds)
    return CostPart("Boosted performance", usd, arithmetic, seconds=float(math.ceil(seconds)))


def boost_usd(book: PriceBook, settings: VolumeSettings, raised: Boost, seconds: float) -> Decimal:
    """The sum alone, for those who compare many boosts."""
    more_iops, more_mib_s = _above(settings, raised)
    kind = raised.volume_type
    month = Decimal(0)
    if more_iops:
        month += more_iops * book.iops_usd_per_month[kind]
    if more_mib_s:
        month += more_mib_s * book.throughput_usd_per_mib_s_month[kind]
    return round_usd(month * math.ceil(seconds) / (HOURS_A_MONTH * 3_600))


def missing_boost_price(book: PriceBook, settings: VolumeSettings, raised: Boost) -> str | None:
    """The name of a price that the boost needs and the book has not."""
    more_iops, more_mib_s = _above(settings, raised)
    if more_iops and raised.volume_type not in book.iops_usd_per_month:
        return f"IOPS of {raised.volume_type}"
    if more_mib_s and raised.volume_type not in book.throughput_usd_per_mib_s_month:
        return f"throughput of {raised.volume_type}"
    return None


def _above(settings: VolumeSettings, raised: Boost) -> tuple[int, int]:
    iops = raised.iops - (settings.iops or BASE_IOPS.get(settings.volume_type, 0))
    if raised.throughput_mib_s is None:
        return max(0, iops), 0
    mib_s = raised.throughput_mib_s - (settings.throughput_mib_s or BASE_THROUGHPUT_MIB_S)
    return max(0, iops), max(0, mib_s)


def fetched_blocks(blocks: int, usd_per_thousand: Decimal) -> CostPart:
    """The price of reading this number of blocks of a snapshot."""
    return CostPart(
        GET_BLOCKS,
        round_usd(blocks * usd_per_thousand / 1_000),
        f"{count_text(blocks, 'block')} x {price_text(usd_per_thousand)} / 1,000",
    )


def packs(blocks: int, book: PriceBook) -> CostPart:
    """The price of this number of blocks in the bucket, uncompressed: nobody knows how much zstd saves."""
    size = gib(blocks * BLOCK_BYTES)
    month = book.packs_usd_per_gib_month
    return CostPart(
        PACKS,
        round_usd(size * month * PACKS_KEPT_DAYS / DAYS_A_MONTH),
        f"{size:.3f} GiB x {price_text(month)} a month x {PACKS_KEPT_DAYS} / {DAYS_A_MONTH} days",
    )


def copy_runs(blocks: int, book: PriceBook) -> CostPart:
    """The price of the functions that copy this number of blocks, each run by a child execution."""
    runs = math.ceil(blocks / RUN_BLOCKS)
    second = book.functions_usd_per_gb_second
    million = book.functions_usd_per_million
    thousand = book.transitions_usd_per_thousand
    each = RUN_SECONDS * RUN_MB / 1_024 * second + million / 1_000_000 + TRANSITIONS_A_RUN * thousand / 1_000
    arithmetic = (
        f"{count_text(runs, 'run')} x ({RUN_SECONDS} s x {RUN_MB:,} / 1,024 GB x {price_text(second)} + "
        f"{price_text(million)} / 1,000,000 + {TRANSITIONS_A_RUN} x {price_text(thousand)} / 1,000)"
    )
    return CostPart(COPY_RUNS, round_usd(runs * each), arithmetic)


def blocks(count: int, book: PriceBook) -> tuple[CostPart, ...]:
    """Requests, packs and function runs for all volumes to which these blocks of a snapshot are written."""
    each = book.get_blocks_usd_per_thousand
    return (fetched_blocks(count, each), packs(count, book), copy_runs(count, book))


def shared_blocks(usd: Decimal, count: int, sharers: int, book: PriceBook) -> tuple[CostPart, ...]:
    """A volume's part of the price of blocks that volumes of several restores of a fleet share."""
    requests, *others = blocks(count, book)
    arithmetic = _part_of_fleet(sharers)
    left = usd
    lines = []
    for line in others:
        part = min(left, _down(line.usd / sharers))
        lines.append(replace(line, usd=part, arithmetic=arithmetic))
        left -= part
    return (replace(requests, usd=left, arithmetic=arithmetic), *lines)


def volume_clone(book: PriceBook, size_gib: int) -> CostPart:
    """CopyVolumes; AWS's pages name no price that could be shipped, so it is the user's figure or unknown."""
    price = book.clone_usd_per_gib
    if price is None:
        return CostPart("Volume clone", Decimal(0), "AWS names no price here, so it is not counted")
    return CostPart("Volume clone", round_usd(price * size_gib), f"{size_gib:,} GiB x {price_text(price)}")


COPY, TRANSFER = "Time-based snapshot copy", "Data transfer from "
COPY_USD_PER_GIB = {
    minutes: Decimal(usd)
    for minutes, usd in (
        (15, "0.020"),
        (30, "0.018"),
        (60, "0.016"),
        (120, "0.014"),
        (240, "0.012"),
        (480, "0.010"),
        (960, "0.005"),
    )
}
"""EBS user guide, "Time-based copies": fixed rates, from each of these minutes up to the next."""


def timed_copy(data_bytes: int, minutes: int) -> CostPart:
    """A copy that asks for this duration; billed for each GiB of snapshot data."""
    price = COPY_USD_PER_GIB[max(start for start in COPY_USD_PER_GIB if start <= minutes)]
    data_gib = gib(data_bytes)
    arithmetic = f"{data_gib:.3f} GiB x {price_text(price)} (within {duration_text(minutes * 60)})"
    return CostPart(COPY, round_usd(data_gib * price), arithmetic)


def transfer(usd_per_gib: Decimal | None, data_bytes: int, source_region: str) -> CostPart:
    """Between Regions, beside the copy itself (EBS user guide, "Time-based copies": Pricing and billing)."""
    item = f"{TRANSFER}{source_region}"
    data_gib = gib(data_bytes)
    if usd_per_gib is None:
        return CostPart(item, Decimal(0), "its price is not known here, so it is not counted")
    return CostPart(
        item, round_usd(data_gib * usd_per_gib), f"{data_gib:.3f} GiB x {price_text(usd_per_gib)}"
    )


def in_words(parts: Iterable[CostPart]) -> str:
    """All sums on one line."""
    return "; ".join(f"{part.item}: {part.arithmetic} = {usd_text(part.usd)}" for part in parts)


def billed(
    strategy: Strategy,
    item: str,
    planned_usd: Decimal,
    planned_seconds: float | None,
    *,
    is_made: bool,
    actual_seconds: float | None,
) -> tuple[Decimal | None, str]:
    """US dollars, None if they cannot be known, and how that is counted.

    A provisioned rate is billed in full once the volume is there, and requests when they are made. Fast
    snapshot restore is billed by the minute, for at least an hour, and performance by the second (see above).
    """
    if planned_seconds is None:
        return (planned_usd, AS_PLANNED) if is_made or item == LIST_BLOCKS else (Decimal(0), NEVER_MADE)
    if actual_seconds is None:
        return None, UNKNOWN
    counted = float(math.ceil(max(0.0, actual_seconds)))
    if strategy is Strategy.FAST_SNAPSHOT_RESTORE:
        counted = 60.0 * max(FSR_MINIMUM_MINUTES, math.ceil(actual_seconds / 60))
    usd = round_usd(planned_usd * Decimal(counted) / Decimal(planned_seconds)) if planned_seconds else None
    return usd, f"for {elapsed_text(counted)}; planned were {elapsed_text(planned_seconds)}"
