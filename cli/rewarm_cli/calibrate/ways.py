"""What is measured, how long it takes and what it costs at most, before anything is made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

HOURS_PER_MONTH = 720
LIFE_HOURS = Decimal(2)
"""The longest life of what is made: if this program is killed, the sweeper ends it within 35 minutes."""
RATE_MIB_S = 100
"""The lowest rate, because a small snapshot is loaded too fast to measure at a higher one."""
METRIC_CALLS = 400
USD_PER_METRIC = Decimal("0.00001")
"""0.01 USD for 1,000 metrics: commonly quoted, but found in no source of AWS's."""
WAYS = ("volume", "rate", "fsr")


@dataclass(frozen=True, slots=True)
class Prices:
    """In US dollars, as the stack knows them."""

    fsr_per_hour: Decimal
    rate_per_gib_mib_s: Decimal
    storage_per_gib_month: Decimal


@dataclass(frozen=True, slots=True)
class Way:
    """One part of a calibration."""

    name: str
    says: str
    minutes: int
    usd: Decimal
    reason: str = ""
    """Why it is left out; empty if it is done."""

    @property
    def is_done(self) -> bool:
        """Whether it fits into the limit and was asked for."""
        return not self.reason


def considered(size_gib: int, prices: Prices, most_usd: Decimal, wanted: Sequence[str] = WAYS) -> list[Way]:
    """All ways in the order in which they are paid for, each with why it is left out."""
    ways: list[Way] = []
    spent = Decimal(0)
    for name in WAYS:
        says, minutes, usd = _costs(size_gib, prices)[name]
        reason = ""
        if name not in wanted:
            reason = "not asked for"
        elif spent + usd > most_usd:
            reason = f"{spent + usd:.2f} USD would be more than the limit of {most_usd:.2f} USD"
        elif name != "volume" and not ways[0].is_done:
            reason = "it needs the snapshot of the first way"
        spent += usd if not reason else 0
        ways.append(Way(name, says, minutes, usd, reason))
    return ways


def _costs(size_gib: int, prices: Prices) -> Mapping[str, tuple[str, int, Decimal]]:
    """For each way: what it does, its minutes, and the most that it costs."""
    stored = prices.storage_per_gib_month * size_gib * LIFE_HOURS / HOURS_PER_MONTH
    return {
        "volume": (
            f"fills a gp3 volume of {size_gib} GiB, and reads one of two volumes of its snapshot",
            32,
            # Three volumes and a snapshot, which costs less than a volume.
            4 * stored + METRIC_CALLS * USD_PER_METRIC,
        ),
        "rate": (
            f"makes one more volume at an initialization rate of {RATE_MIB_S} MiB/s",
            3,
            stored + prices.rate_per_gib_mib_s * size_gib * RATE_MIB_S,
        ),
        "fsr": (
            "enables fast snapshot restore in one zone; AWS bills an hour at least",
            15,
            # It is enabled for 25 minutes at most, and for 35 more if this program is killed.
            prices.fsr_per_hour,
        ),
    }
