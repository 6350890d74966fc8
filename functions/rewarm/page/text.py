"""How times, amounts and figures are written on the page."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from rewarm.domain.model import Boost
from rewarm.domain.units import duration_text, elapsed_text, size_text, usd_text
from rewarm.domain.words import schedule as words

NONE = "-"


def parsed(value: Any) -> datetime | None:
    """An instant as the contracts write it; None where it is missing or none."""
    try:
        return datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None


def clock_text(value: Any) -> str:
    """`2026-11-21 03:05:09 UTC`."""
    at = parsed(value)
    return at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC") if at else NONE


def seconds_text(seconds: float | None) -> str:
    """A duration that was measured: `7.3 s`, `4 min 05 s`, `1 h 02 min`; whole seconds as messages: `7 s`."""
    if seconds is None:
        return NONE
    return elapsed_text(seconds) if isinstance(seconds, int) or seconds >= 100 else f"{seconds:.1f} s"


def offset_text(seconds: float | None) -> str:
    """`+0:07`, `+1:02:05`: how long after the start."""
    if seconds is None:
        return NONE
    minutes, second = divmod(round(max(0.0, seconds)), 60)
    hours, minute = divmod(minutes, 60)
    return f"+{hours}:{minute:02d}:{second:02d}" if hours else f"+{minute}:{second:02d}"


def estimate_text(seconds: float | None) -> str:
    """A duration that was estimated."""
    return NONE if seconds is None else duration_text(seconds)


def money(amount: Any) -> str:
    """US dollars."""
    return NONE if amount is None else usd_text(Decimal(str(amount)))


def milliseconds(value: float | None) -> str:
    """`91 ms`, `0.61 ms`."""
    if value is None:
        return NONE
    return f"{value:.0f} ms" if value >= 10 else f"{value:.2f} ms"


def number(value: float | None) -> str:
    """`1,630`."""
    return NONE if value is None else f"{value:,.0f}"


def rate(value: float | None) -> str:
    """`118.0 MiB/s`."""
    return NONE if value is None else f"{value:,.1f} MiB/s"


def percent(value: float | None) -> str:
    """`71 %`, `99.9 %`."""
    return NONE if value is None else f"{value:.1f}".removesuffix(".0") + " %"


def size(value: int | None) -> str:
    """`1.5 GiB`."""
    return NONE if value is None else size_text(value)


def strategy_text(plan: dict[str, Any], *, separator: str = " ") -> str:
    """The strategy, with its rate or its boost where it has one."""
    rate = plan.get("initializationRateMibS")
    boost = plan.get("boost") or {}
    boosted = Boost(boost["volumeType"], boost["iops"], boost.get("throughputMibS")) if boost else None
    return words.strategy_text(plan["strategy"], rate, boosted, separator)
