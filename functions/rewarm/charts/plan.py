"""Cost against time to full speed: one mark a strategy, deadline and budget as lines, the choice marked."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

from rewarm.charts.marks import MARKS, Label, Obstacles, place, price_axis, time_axis
from rewarm.charts.svg import COLOURS, style, to_document
from rewarm.domain.units import duration_text
from rewarm.domain.value import Value

WIDTH_INCHES, PANEL_INCHES = 9.6, 4.6
TIME_LABEL = "time to full speed (logarithmic): mark at P50, bar to P90, which the deadline is held against"


class Point(Value):
    """A strategy that is possible."""

    strategy: str
    name: str
    """With its rate or its boost, as it is written beside the mark."""
    ready_p50_seconds: float
    ready_p90_seconds: float
    usd: float
    price: str
    chosen: bool


class Panel(Value):
    """One volume, or several that are alike in everything that is drawn."""

    title: str
    points: Sequence[Point]
    impossible: Sequence[str]
    """Strategies that are not possible here."""
    deadline_seconds: float | None = None
    budget_usd: float | None = None


def draw(panels: Sequence[Panel]) -> Figure:
    """One panel below the other."""
    with style():
        size = (WIDTH_INCHES, PANEL_INCHES * len(panels))
        figure = Figure(figsize=size, layout="constrained")
        for axes, panel in zip(figure.subplots(len(panels), 1, squeeze=False)[:, 0], panels, strict=True):
            _axes(axes, panel)
            _marks(axes, panel)
            _lines(axes, panel)
        figure.draw_without_rendering()
        for axes, panel in zip(figure.axes, panels, strict=True):
            place(axes, [_label(point) for point in panel.points], _obstacles(axes, panel))
    return figure


def document(panels: Sequence[Panel]) -> str:
    """An SVG file."""
    return to_document(draw(panels), "Cost against time to full speed", " ".join(map(_described, panels)))


def _axes(axes: Axes, panel: Panel) -> None:
    times = [
        second for point in panel.points for second in (point.ready_p50_seconds, point.ready_p90_seconds)
    ]
    times += [panel.deadline_seconds] if panel.deadline_seconds else []
    time_axis(axes, min(times), max(times), label=TIME_LABEL)
    price_axis(axes, max([panel.budget_usd or 0.0, *(point.usd for point in panel.points)]))
    axes.set_title(panel.title, loc="left", fontsize=11, fontweight="bold", pad=22)
    if panel.impossible:
        words = f"not possible here: {', '.join(panel.impossible)}"
        axes.text(1, 1.02, words, transform=axes.transAxes, ha="right", fontsize=9, color=COLOURS["muted"])


def _marks(axes: Axes, panel: Panel) -> None:
    """The chosen one last, so that it lies on top."""
    for point in sorted(panel.points, key=lambda point: point.chosen):
        look = MARKS[point.strategy]
        times = (point.ready_p50_seconds, point.ready_p90_seconds)
        axes.plot(
            times, (point.usd, point.usd), color=look.colour, linewidth=3, solid_capstyle="butt", zorder=3
        )
        axes.plot(
            times[1], point.usd, marker="|", color=look.colour, markersize=11, markeredgewidth=2, zorder=3
        )
        axes.plot(
            times[0], point.usd, marker=look.marker, color=look.colour, markersize=look.size,
            markeredgecolor=COLOURS["card"], markeredgewidth=0.8, zorder=4, gid=f"point-{point.strategy}",
        )  # fmt: skip
        if point.chosen:
            axes.plot(
                times[0], point.usd, marker="o", markersize=17, markerfacecolor="none", zorder=5,
                markeredgecolor=COLOURS["text"], markeredgewidth=1.6, gid="choice",
            )  # fmt: skip


def _lines(axes: Axes, panel: Panel) -> None:
    """What is beyond them is shaded."""
    if panel.deadline_seconds is not None:
        words = f"deadline {duration_text(panel.deadline_seconds)}"
        axes.axvline(
            panel.deadline_seconds, color=COLOURS["bad"], linewidth=1.4, linestyle="--", gid="deadline"
        )
        axes.axvspan(
            panel.deadline_seconds, axes.get_xlim()[1], color=COLOURS["bad"], alpha=0.06, linewidth=0
        )
        axes.text(
            panel.deadline_seconds, 1.015, words, transform=axes.get_xaxis_transform(),
            ha="center", va="bottom", fontsize=9, color=COLOURS["bad"],
        )  # fmt: skip
    if panel.budget_usd is not None:
        axes.axhline(panel.budget_usd, color=COLOURS["bad"], linewidth=1.4, linestyle=":", gid="budget")
        axes.axhspan(panel.budget_usd, axes.get_ylim()[1], color=COLOURS["bad"], alpha=0.06, linewidth=0)
        axes.text(
            1.008, panel.budget_usd, f"budget\n${panel.budget_usd:,.2f}",
            transform=axes.get_yaxis_transform(), va="center", fontsize=9, color=COLOURS["bad"],
        )  # fmt: skip


def _label(point: Point) -> Label:
    times = f"{duration_text(point.ready_p50_seconds)} to {duration_text(point.ready_p90_seconds)}"
    chosen = "chosen: " if point.chosen else ""
    return Label(
        x=point.ready_p50_seconds,
        y=point.usd,
        text=f"{chosen}{point.name}\n{point.price}, {times}",
        colour=MARKS[point.strategy].colour,
        bold=point.chosen,
    )


def _obstacles(axes: Axes, panel: Panel) -> Obstacles:
    """Where the marks, their bars and the budget's line are, in pixels."""
    to_pixels = axes.transData.transform
    frame = axes.get_window_extent()
    boxes = []
    for point in panel.points:
        left, right = to_pixels([(point.ready_p50_seconds, point.usd), (point.ready_p90_seconds, point.usd)])
        boxes.append(Bbox.from_extents(left[0] - 9, left[1] - 7, right[0] + 3, right[1] + 7))
    if panel.budget_usd is not None:
        level = to_pixels((1, panel.budget_usd))[1]
        boxes.append(Bbox.from_extents(frame.x0, level - 2, frame.x1, level + 2))
    return Obstacles(boxes, [to_pixels((panel.deadline_seconds, 0))[0]] if panel.deadline_seconds else [])


def _described(panel: Panel) -> str:
    """The same in words, for those who hear the picture."""
    points = "; ".join(
        f"{point.name}{' (chosen)' if point.chosen else ''}: {point.price}, full speed after "
        f"{duration_text(point.ready_p50_seconds)} (P50) to {duration_text(point.ready_p90_seconds)} (P90)"
        for point in panel.points
    )
    deadline = f" Deadline {duration_text(panel.deadline_seconds)}." if panel.deadline_seconds else ""
    return f"{panel.title}. {points}.{deadline}"
