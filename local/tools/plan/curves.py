"""Pictures of how times and costs grow: one curve a strategy, panels side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from rewarm.charts.marks import MARKS, price_axis, seconds_tick, seconds_ticks
from rewarm.charts.svg import COLOURS, style, to_document
from rewarm.domain.units import duration_text, usd_text

WIDTH_INCHES, PANEL_INCHES = 9.6, 3.9
CLEARLY_PAID_USD = 0.05
"""Where every curve is above this price, the axis need not start at zero."""


@dataclass(frozen=True, slots=True)
class Curve:
    """The curve of one strategy. `ys` has None where it is not possible; `faint` marks its second curve."""

    strategy: str
    name: str
    ys: Sequence[float | None]
    faint: bool = False


@dataclass(frozen=True, slots=True)
class Panel:
    """The axes for one quantity; `kind` is `seconds` or `usd`."""

    title: str
    kind: str
    curves: Sequence[Curve]


@dataclass(frozen=True, slots=True)
class Picture:
    """Panels with the same x axis; `x_names` are the labels of its steps."""

    title: str
    x_label: str
    xs: Sequence[float]
    x_names: Sequence[str]
    panels: Sequence[Panel]
    logarithmic: bool = True


def document(picture: Picture) -> str:
    """Returns the picture as an SVG file, with a description in words."""
    words = "; ".join(f"{panel.title}: {_described(picture, panel)}" for panel in picture.panels)
    return to_document(draw(picture), picture.title, words)


def draw(picture: Picture) -> Figure:
    """Returns the figure: panels side by side, one legend below."""
    with style():
        figure = Figure(figsize=(WIDTH_INCHES, PANEL_INCHES), layout="constrained")
        for axes, panel in zip(
            figure.subplots(1, len(picture.panels), squeeze=False)[0], picture.panels, strict=True
        ):
            _panel(axes, picture, panel)
        handles = [_line(curve) for curve in picture.panels[0].curves]
        figure.legend(handles=handles, loc="outside lower center", ncols=3, fontsize=9, handlelength=3.2)
        figure.suptitle(picture.title, x=0.012, ha="left", fontsize=11, fontweight="bold")
    return figure


def _panel(axes: Axes, picture: Picture, panel: Panel) -> None:
    known = [value for curve in panel.curves for value in curve.ys if value is not None]
    if panel.kind == "usd":
        price_axis(axes, max(known))
        if min(known) > CLEARLY_PAID_USD:
            axes.set_ylim(min(known) / 2, max(known) * 2)
        axes.set_ylabel("")
    else:
        _time(axes, min(known), max(known))
    for curve in panel.curves:
        line = _line(curve)
        axes.plot(
            picture.xs, [float("nan") if y is None else y for y in curve.ys],
            color=line.get_color(), linestyle=MARKS[curve.strategy].dash, linewidth=1.8,
            alpha=line.get_alpha(), marker=line.get_marker(), markersize=line.get_markersize(),
            markeredgecolor=COLOURS["card"], markeredgewidth=0.6, gid=f"{panel.kind}-{curve.name}",
        )  # fmt: skip
    if picture.logarithmic:
        axes.set_xscale("log")
    axes.xaxis.set_major_locator(FixedLocator(list(picture.xs)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xticks(list(picture.xs), list(picture.x_names), fontsize=8.5)
    axes.set_xlabel(picture.x_label)
    axes.set_title(panel.title, loc="left", fontsize=10)


def _time(axes: Axes, least: float, most: float) -> None:
    low, high = least / 1.7, most * 1.7
    axes.set_yscale("log")
    axes.set_ylim(low, high)
    axes.yaxis.set_major_locator(FixedLocator(seconds_ticks(low, high)))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(seconds_tick))


def _line(curve: Curve) -> Line2D:
    look = MARKS[curve.strategy]
    return Line2D(
        [], [], color=look.colour, linestyle=look.dash, marker=look.marker, label=curve.name,
        markersize=look.size * 0.8, alpha=0.5 if curve.faint else 1.0, markeredgecolor=COLOURS["card"],
        markeredgewidth=0.6,
    )  # fmt: skip


def _described(picture: Picture, panel: Panel) -> str:
    ends = []
    for curve in panel.curves:
        points = [(name, y) for name, y in zip(picture.x_names, curve.ys, strict=True) if y is not None]
        if points:
            (first, low), (last, high) = points[0], points[-1]
            ends.append(
                f"{curve.name} from {_words(panel, low)} at {first} to {_words(panel, high)} at {last}"
            )
    return ", ".join(ends)


def _words(panel: Panel, value: float) -> str:
    return usd_text(Decimal(f"{value:.6f}")) if panel.kind == "usd" else duration_text(value)
