"""How a strategy looks in every picture: colour, mark and dash, each enough alone (print, colour vision)."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from rewarm.charts.svg import COLOURS

LEAST_USD = 0.001
"""Below this the price axis is linear, so that "nothing" has a place on it."""
_DOLLARS = (0, *(10.0**power for power in range(-3, 7)))
_SECONDS = (
    10, 30, 60, 180, 600, 1_800, 3_600, 3 * 3_600, 8 * 3_600, 86_400, 3 * 86_400, 10 * 86_400, 30 * 86_400,
    90 * 86_400, 365 * 86_400,
)  # fmt: skip
_CLOSE_SECONDS = (
    10, 20, 30, 60, 120, 180, 300, 600, 1_200, 1_800, 3_600, 2 * 3_600, 3 * 3_600, 5 * 3_600, 8 * 3_600,
    12 * 3_600, 86_400, 2 * 86_400, 3 * 86_400, 5 * 86_400, 10 * 86_400, 20 * 86_400, 30 * 86_400,
    90 * 86_400, 365 * 86_400,
)  # fmt: skip
_FEW_TICKS = 5
_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


@dataclass(frozen=True, slots=True)
class Mark:
    """Of one strategy. `dash` is matplotlib's line style."""

    colour: str
    marker: str
    dash: Any
    size: float


MARKS = MappingProxyType(
    {
        name: Mark(COLOURS[f"strategy-{name}"], marker, dash, size)
        for name, marker, dash, size in (
            ("background", "o", (0, (1, 1.5)), 7.5),
            ("warm-up-agent", "^", "-", 8.5),
            ("provisioned-rate", "s", (0, (5, 1.5)), 7.5),
            ("fast-snapshot-restore", "D", (0, (6, 1.5, 1, 1.5)), 7.0),
            ("volume-clone", "P", (0, (3, 1, 1, 1, 1, 1)), 8.5),
            ("boosted-warm-up", "v", (0, (2, 1)), 8.5),
        )
    }
)
"""By the strategy's name; a test holds that each has one, and none shares it."""


def time_axis(axes: Axes, least_seconds: float, most_seconds: float, *, label: str) -> None:
    """Logarithmic, with ticks as people count time."""
    low, high = least_seconds / 1.7, most_seconds * 1.7
    axes.set_xscale("log")
    axes.set_xlim(low, high)
    axes.xaxis.set_major_locator(FixedLocator(seconds_ticks(low, high)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(seconds_tick))
    axes.set_xlabel(label)


def price_axis(axes: Axes, most_usd: float) -> None:
    """Logarithmic from LEAST_USD up, linear below it; with room for words above the dearest."""
    high = max(most_usd * 8, 100 * LEAST_USD)
    axes.set_yscale("symlog", linthresh=LEAST_USD, linscale=0.5)
    axes.set_ylim(-0.35 * LEAST_USD, high)
    axes.yaxis.set_major_locator(FixedLocator([usd for usd in _DOLLARS if usd <= high]))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(dollars_tick))
    axes.set_ylabel("extra cost, US dollars (logarithmic)")


def seconds_ticks(low: float, high: float) -> list[float]:
    """Where people look for a mark; closer together on an axis that would have few."""
    far, close = ([float(at) for at in ticks if low <= at <= high] for ticks in (_SECONDS, _CLOSE_SECONDS))
    return far if len(far) >= _FEW_TICKS else close


def seconds_tick(seconds: float, _position: int) -> str:
    """`10 min`, `3 h`."""
    size, name = next((unit for unit in _UNITS if seconds >= unit[0]), _UNITS[-1])
    return f"{seconds / size:g} {name}"


def dollars_tick(usd: float, _position: int) -> str:
    """`$0.01`, `$100`."""
    if usd >= 1 or usd == 0:
        return f"${usd:,.0f}"
    return f"${usd:.2f}" if usd >= 0.01 else f"${usd:g}"
