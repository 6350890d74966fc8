"""The pictures of a restore: progress of the initialization, plan against actual, latency before and after.

For a drill also those of its runbook one after the other: how long each took, against the objective of its
day.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, MultipleLocator

from rewarm.charts.marks import time_axis
from rewarm.charts.svg import COLOURS, style, to_svg
from rewarm.domain.value import Value

SIZES = {"wide": 9.6, "narrow": 4.4}
"""Width in inches: text keeps its size, so a phone gets its own picture."""
TICK_SECONDS = (1, 5, 10, 30, 60, 120, 300, 600, 1_800, 3_600, 7_200, 21_600, 43_200, 86_400)
PHASE_TICKS = (0.1, 1, 10, 60, 600, 3_600, 6 * 3_600, 86_400, 10 * 86_400)
LEAST_SHOWN_SECONDS = 0.1
PHASES = ("plan", "prepare", "create", "attach", "measure", "initialize", "verify", "report", "boot")
"""The parts of a restore; the place of each gives it its colour on every page."""
Pictures = dict[str, str]
"""By width of the page: `wide` and `narrow`."""


class Band(Value):
    """A part of the restore, from and until (seconds after the start)."""

    name: str
    start: float
    end: float


class Going(Value):
    """How the initialization of a volume went on; times are seconds after the start."""

    percents: Sequence[tuple[float, float]]
    rates: Sequence[tuple[float, float]]
    bands: Sequence[Band] = field(default_factory=tuple)


class PhaseBar(Value):
    """A part of the restore: estimated and as it was; None where one of them is missing."""

    name: str
    p50_seconds: float | None
    p90_seconds: float | None
    actual_seconds: float | None


def phase_colour(number: int) -> str:
    """Of the part of a restore with this place in PHASES."""
    return COLOURS[f"phase-{number}"]


def going_on(going: Going, name: str, label: str) -> Pictures:
    """Progress above, rate below; empty where nothing was seen."""
    if not going.percents:
        return {}
    return {size: to_svg(_going_on(going, size), f"{name}-{size}", label) for size in SIZES}


def phases(bars: Sequence[PhaseBar], name: str, label: str) -> Pictures:
    """Estimate and actual, one line for each part; empty where nothing was measured."""
    shown = [bar for bar in bars if bar.p90_seconds or bar.actual_seconds]
    if not any(bar.actual_seconds for bar in shown):
        return {}
    return {size: to_svg(_phases(shown, size), f"{name}-{size}", label) for size in SIZES}


def latency(measured: Mapping[str, Any], name: str, label: str) -> Pictures:
    """Histograms of `before` and `after`, each a Measurement as JSON or None; empty without any."""
    if not any(value and value.get("histogram") for value in measured.values()):
        return {}
    return {size: to_svg(_latency(measured, size), f"{name}-{size}", label) for size in SIZES}


def hot_map(parts: Sequence[Sequence[float]], name: str, label: str) -> Pictures:
    """Written share and share that is read first, of equal parts of a volume; empty without any."""
    if not parts:
        return {}
    return {size: to_svg(_hot_map(parts, size), f"{name}-{size}", label) for size in SIZES}


def tick_seconds(span_seconds: float, most: int) -> int:
    """The distance of at most so many ticks: seconds, minutes or hours as people count them."""
    return next((step for step in TICK_SECONDS if span_seconds / step <= most), TICK_SECONDS[-1])


def clock(seconds: float, _position: int) -> str:
    """`2:05` is two minutes, `1:02:05` an hour."""
    minutes, second = divmod(round(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02d}:{second:02d}" if hours else f"{minute}:{second:02d}"


def clock_axis(axes: Axes, span_seconds: float, size: str, label: str) -> None:
    """From the start, with ticks as people count time."""
    axes.set(xlim=(0, span_seconds), xlabel=label)
    axes.xaxis.set_major_formatter(FuncFormatter(clock))
    axes.xaxis.set_major_locator(MultipleLocator(tick_seconds(span_seconds, 8 if size == "wide" else 4)))


def draw_bands(axes: Axes, bands: Sequence[Band], colours: Mapping[str, str]) -> None:
    """Shaded from top to bottom."""
    for band in bands:
        axes.axvspan(band.start, band.end, color=colours[band.name], alpha=0.28, linewidth=0)


def legend(figure: Figure, colours: Mapping[str, str], *, columns: int) -> None:
    """What the shades mean, below the picture."""
    patches = [Patch(color=colour, alpha=0.5, label=name) for name, colour in colours.items()]
    if patches:
        figure.legend(handles=patches, loc="outside lower center", ncols=columns, fontsize=9)


def _going_on(going: Going, size: str) -> Figure:
    colours = {band.name: phase_colour(PHASES.index(band.name)) for band in going.bands}
    end = max([at for at, _ in going.percents] + [band.end for band in going.bands] + [1.0])
    with style():
        figure = Figure(figsize=(SIZES[size], 4.4 if size == "wide" else 5.2), layout="constrained")
        top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=[2, 1])
        for axes in (top, bottom):
            draw_bands(axes, going.bands, colours)
        seconds, percents = zip(*going.percents, strict=True)
        top.plot(seconds, percents, color=COLOURS["accent"], linewidth=2, marker="o", markersize=3)
        top.set(ylim=(0, 104), ylabel="initialized, %")
        _draw_rates(bottom, going.rates)
        clock_axis(bottom, end, size, "time after the start")
        legend(figure, colours, columns=7 if size == "wide" else 3)
    return figure


def _draw_rates(axes: Axes, rates: Sequence[tuple[float, float]]) -> None:
    seconds = [at for at, _ in rates]
    values = [rate for _, rate in rates]
    axes.fill_between(seconds, values, step="pre", color=COLOURS["rate"], alpha=0.35, linewidth=0)
    axes.plot(seconds, values, color=COLOURS["rate"], linewidth=1.5, drawstyle="steps-pre")
    axes.set(ylabel="MiB/s", ylim=(0, max([*values, 1.0]) * 1.15))
    axes.yaxis.set_major_locator(MaxNLocator(3))


def _phases(bars: Sequence[PhaseBar], size: str) -> Figure:
    times = [time for bar in bars for time in (bar.p50_seconds, bar.p90_seconds, bar.actual_seconds) if time]
    with style():
        figure = Figure(figsize=(SIZES[size], 1.3 + 0.36 * len(bars)), layout="constrained")
        axes = figure.subplots()
        time_axis(axes, max(LEAST_SHOWN_SECONDS, min(times)), max(times), label="logarithmic")
        # Fewer ticks than elsewhere, so that their labels do not touch.
        low, high = axes.get_xlim()
        axes.xaxis.set_major_locator(FixedLocator([at for at in PHASE_TICKS if low <= at <= high]))
        for row, bar in enumerate(bars):
            p50 = bar.p50_seconds or bar.p90_seconds
            p90 = bar.p90_seconds
            if p50 and p90:
                axes.plot(
                    (p50, p90),
                    (row, row),
                    color=COLOURS["accent"],
                    linewidth=7,
                    alpha=0.45,
                    solid_capstyle="butt",
                )
                axes.plot(p50, row, marker="|", color=COLOURS["accent"], markersize=11, markeredgewidth=2)
            if bar.actual_seconds:
                shown = max(LEAST_SHOWN_SECONDS, bar.actual_seconds)
                axes.plot(shown, row, marker="D", color=COLOURS["after"], markersize=7, zorder=4)
        axes.set_yticks(range(len(bars)), [bar.name for bar in bars])
        axes.set_ylim(len(bars) - 0.5, -0.5)
        axes.grid(visible=False, axis="y")
    return figure


def _hot_map(parts: Sequence[Sequence[float]], size: str) -> Figure:
    percents = [[100 * share for share in part] for part in parts]
    step = 100 / len(parts)
    places = [step * place for place in range(len(parts))]
    with style():
        figure = Figure(figsize=(SIZES[size], 2.2), layout="constrained")
        axes = figure.subplots()
        for column, (colour, words) in enumerate((("muted", "written"), ("accent", "read first"))):
            heights = [percent[column] for percent in percents]
            axes.bar(places, heights, step, align="edge", color=COLOURS[colour], label=words, linewidth=0)
        axes.set(xlim=(0, 100), ylim=(0, 104), xlabel="place on the volume, %", ylabel="%")
        figure.legend(loc="outside lower center", ncols=2, fontsize=9)
    return figure


def _latency(measured: Mapping[str, Any], size: str) -> Figure:
    edges = sorted(
        {_edge(bin_) for value in measured.values() for bin_ in (value or {}).get("histogram", [])}
    )
    with style():
        figure = Figure(figsize=(SIZES[size], 2.8), layout="constrained")
        axes = figure.subplots()
        for shift, (phase, value) in zip((-0.2, 0.2), measured.items(), strict=True):
            if not value:
                continue
            counts = {_edge(bin_): bin_["count"] for bin_ in value.get("histogram", [])}
            total = sum(counts.values()) or 1
            shares = [100 * counts.get(edge, 0) / total for edge in edges]
            positions = [index + shift for index in range(len(edges))]
            axes.bar(positions, shares, width=0.38, color=COLOURS[phase.lower()], label=phase.lower())
        labels = ["more" if edge == float("inf") else f"{edge:g}" for edge in edges]
        crowded = size == "narrow" and len(edges) > 6
        axes.set_xticks(range(len(edges)), labels, rotation=45 if crowded else 0)
        axes.set(xlabel="latency of a 4 KiB read, up to … ms", ylabel="% of reads", ylim=(0, 100))
        axes.grid(visible=False, axis="x")
        # Not over the bars, which a box in the picture would hide.
        figure.legend(loc="outside upper right", ncols=2, fontsize=9)
    return figure


def _edge(bin_of_reads: Mapping[str, Any]) -> float:
    return float("inf") if bin_of_reads.get("upToMs") is None else float(bin_of_reads["upToMs"])


MARKS = {"passed": ("o", "after"), "late": ("D", "bad"), "failed": ("X", "bad")}
"""Marker and colour by the outcome; the marker says the same where colours are not seen."""
MOST_SHOWN = {"wide": 30, "narrow": 10}
HEIGHT_INCHES = 3.2


class DrillMark(Value):
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
    figures = [figure for drill in drills for figure in (drill.seconds, drill.objective_seconds)]
    most = max((figure for figure in figures if figure is not None), default=60.0)
    axes.set(xlim=(-0.5, len(drills) - 0.5), ylim=(0, 1.15 * most), ylabel="recovery time")
    axes.yaxis.set_major_formatter(FuncFormatter(clock))
    axes.yaxis.set_major_locator(MultipleLocator(tick_seconds(most, 6)))
    step = max(1, -(-len(drills) // (6 if size == "wide" else 2)))
    places = range(len(drills) - 1, -1, -step)
    axes.set_xticks(list(places), [drills[place].day for place in places])
