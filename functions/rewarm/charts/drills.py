"""The drills of a runbook one after the other: how long each took, against the objective of its day."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MultipleLocator

from rewarm.charts.restore import SIZES, Pictures, clock, tick_seconds
from rewarm.charts.svg import COLOURS, style, to_svg

MARKS = {"passed": ("o", "after"), "late": ("D", "bad"), "failed": ("X", "bad")}
"""Marker and colour by the outcome; the marker says the same where colours are not seen."""
MOST_SHOWN = {"wide": 30, "narrow": 10}
HEIGHT_INCHES = 3.2


@dataclass(frozen=True, slots=True)
class DrillMark:
    """One drill. A drill that failed has no time."""

    day: str
    outcome: str
    seconds: float | None
    objective_seconds: float | None


def trend(drills: Sequence[DrillMark], name: str, label: str) -> Pictures:
    """The latest drills, the newest at the right; empty for a first one: there is nothing to compare."""
    if len(drills) < 2:
        return {}
    return {
        size: to_svg(_trend(drills[-most:], size), f"{name}-{size}", label)
        for size, most in MOST_SHOWN.items()
    }


def _trend(drills: Sequence[DrillMark], size: str) -> Figure:
    with style():
        figure = Figure(figsize=(SIZES[size], HEIGHT_INCHES), layout="constrained")
        axes = figure.subplots()
        _axes(axes, drills, size)
        times = [float("nan") if drill.seconds is None else drill.seconds for drill in drills]
        axes.plot(range(len(drills)), times, color=COLOURS["accent"], linewidth=1.2, zorder=2)
        limits = [drill.objective_seconds or float("nan") for drill in drills]
        axes.step(
            range(len(drills)), limits, where="mid", color=COLOURS["bad"], linestyle="--", linewidth=1.4,
            label="objective", gid="objective",
        )  # fmt: skip
        for outcome, (marker, colour) in MARKS.items():
            found = [(place, drill) for place, drill in enumerate(drills) if drill.outcome == outcome]
            if found:
                heights = [drill.seconds or 0.0 for _, drill in found]
                axes.plot(
                    [place for place, _ in found], heights, marker, color=COLOURS[colour], markersize=8,
                    label=outcome, gid=f"drills-{outcome}", zorder=3, clip_on=False,
                )  # fmt: skip
        figure.legend(loc="outside lower center", ncols=4, fontsize=9)
    return figure


def _axes(axes: Axes, drills: Sequence[DrillMark], size: str) -> None:
    """A place for each drill: they may be a day apart, or a year."""
    most = max(
        [value for one in drills for value in (one.seconds, one.objective_seconds) if value is not None],
        default=60.0,
    )
    axes.set(xlim=(-0.5, len(drills) - 0.5), ylim=(0, 1.15 * most), ylabel="recovery time")
    axes.yaxis.set_major_formatter(FuncFormatter(clock))
    axes.yaxis.set_major_locator(MultipleLocator(tick_seconds(most, 6)))
    step = max(1, -(-len(drills) // (6 if size == "wide" else 2)))
    places = range(len(drills) - 1, -1, -step)
    axes.set_xticks(list(places), [drills[place].day for place in places])
