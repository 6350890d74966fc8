"""Sizes, times and prices: conversions, and how people read them."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime
from decimal import ROUND_HALF_UP, Decimal

from rewarm.domain.model import GIB, MIB

SHOWN_CHARACTERS = 120
MICRO_DOLLAR = Decimal("0.000001")
LEAST_SHOWN_USD = Decimal("0.0001")


def iso(instant: datetime) -> str:
    """UTC, ending in Z; milliseconds only where there are some, so that the text read again gives itself."""
    has_fraction = instant.microsecond >= 1_000
    text = instant.astimezone(UTC).isoformat(timespec="milliseconds" if has_fraction else "seconds")
    return text.replace("+00:00", "Z")


def gib(size_bytes: int) -> Decimal:
    """GiB, exact."""
    return Decimal(size_bytes) / GIB


def ceil_seconds(seconds: float) -> int:
    """Whole seconds, never fewer than given."""
    return math.ceil(seconds)


def round_usd(amount: Decimal) -> Decimal:
    """To the millionth of a dollar; EBS direct API requests cost that little."""
    return amount.quantize(MICRO_DOLLAR, rounding=ROUND_HALF_UP)


def usd_text(amount: Decimal) -> str:
    """`$0.90`, `$0.0035`: two decimals, or as many as a small amount needs; `under $0.0001`."""
    if 0 < amount < LEAST_SHOWN_USD:
        return f"under ${LEAST_SHOWN_USD}"
    for decimals in (2, 3, 4, 5):
        text = f"{amount:.{decimals}f}"
        if abs(Decimal(text) - amount) <= abs(amount) / 50:
            break
    return f"${text}"


def price_text(price: Decimal) -> str:
    """A price of one unit, exact: `$0.90`, `$0.000012`."""
    whole, _, decimals = f"{price.normalize():f}".partition(".")
    return f"${whole}.{decimals:0<2}"


def count_text(number: int, thing: str) -> str:
    """`1 request`, `1,200 requests`."""
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"


def size_text(size_bytes: int) -> str:
    """`512 KiB`, `1.5 GiB`, `2 TiB`."""
    for unit, name in ((1 << 40, "TiB"), (GIB, "GiB"), (MIB, "MiB"), (1 << 10, "KiB")):
        if size_bytes >= unit:
            return f"{size_bytes / unit:.1f}".removesuffix(".0") + f" {name}"
    return f"{size_bytes} bytes"


def duration_text(seconds: float) -> str:
    """`45 s`, `12 min`, `1 h 05 min`, `2 d 3 h`; rounded up, for an estimate must not be too short."""
    whole = ceil_seconds(seconds)
    if whole < 100:
        return f"{whole} s"
    minutes = math.ceil(whole / 60)
    if minutes < 60:
        return f"{minutes} min"
    hours, rest = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {rest:02d} min" if rest else f"{hours} h"
    return f"{hours // 24} d {hours % 24} h" if hours % 24 else f"{hours // 24} d"


def elapsed_text(seconds: float) -> str:
    """`45 s`, `5 min 09 s`, `1 h 05 min`: a time that was measured is not rounded up."""
    whole = round(seconds)
    if whole < 100:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    return duration_text(60 * round(seconds / 60))


def clock_text(instant: datetime) -> str:
    """`2026-11-21 03:05 UTC`: the worst day is no day for time zones."""
    return instant.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")


def shown(value: object) -> str:
    """Returns a value from outside as JSON, cut where it is too long for a sentence."""
    return cut(printable(json.dumps(value, default=str, ensure_ascii=False)))


def printable(text: str) -> str:
    """Returns the text with control characters, and what is no character at all, as escapes."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)


def cut(text: str) -> str:
    """Returns at most SHOWN_CHARACTERS of the text, and `…` where more follow."""
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]}…"
