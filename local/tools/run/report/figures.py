"""The picture of a run: readiness over time, beside what the Region counted of the instance's reads."""

from __future__ import annotations

from collections.abc import Iterable

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from local.tools.run.recording import RestoreRecord, StateVisit
from local.tools.run.wording import PHASES, phase_of
from rewarm.charts.restore import SIZES, Band, clock_axis, draw_bands, legend, phase_colour
from rewarm.charts.svg import COLOURS, style, to_svg

MINUTE_SECONDS = 60.0


def readiness(restore: RestoreRecord, name: str) -> dict[str, str]:
    """Progress, VolumeReadOps per minute and the phases over lab time, by width of the page."""
    label = f"Readiness over time of {restore.restore_id}"
    return {size: to_svg(*_named(_readiness(restore, size), f"{name}-{size}", label)) for size in SIZES}


def bands(visits: Iterable[StateVisit], started_at: float, ended_at: float) -> list[Band]:
    """The phases of the first volume and of the restore around it, joined where one follows itself."""
    found: list[Band] = []
    for visit in sorted(visits, key=lambda visit: visit.entered_at):
        phase = phase_of(visit)
        if phase is None or visit.execution not in {"restore", "volume 0"}:
            continue
        start = visit.entered_at - started_at
        end = (visit.left_at if visit.left_at is not None else ended_at) - started_at
        if found and found[-1].name == phase:
            found[-1] = Band(phase, found[-1].start, max(end, found[-1].end))
        else:
            if found:
                found[-1] = Band(found[-1].name, found[-1].start, max(start, found[-1].start))
            found.append(Band(phase, start, end))
    return found


def progress_points(restore: RestoreRecord) -> list[tuple[float, float]]:
    """(seconds, percent): from the samples and from what every poll said, in the order of time."""
    points = [(sample.at - restore.started_at, sample.percent) for sample in restore.samples]
    points += [
        (visit.left_at - restore.started_at, float(visit.payload["progressPercent"]))
        for visit in restore.visits
        if visit.state == "Poll Initialization" and visit.payload and visit.left_at is not None
    ]
    return sorted(points)


def readiness_curve(restore: RestoreRecord, ended_at: float) -> list[tuple[float, float]]:
    """The progress from the start, at 0 %, to the end: one poll that finds all of it done is a curve too."""
    points = progress_points(restore)
    return [(0.0, 0.0), *points, (ended_at - restore.started_at, points[-1][1])] if points else []


def _named(figure: Figure, name: str, label: str) -> tuple[Figure, str, str]:
    return figure, name, label


def _readiness(restore: RestoreRecord, size: str) -> Figure:
    ended_at = restore.ended_at if restore.ended_at is not None else restore.started_at
    found = bands(restore.visits, restore.started_at, ended_at)
    present = {band.name for band in found}
    colours = {phase: _phase_colour(phase) for phase in PHASES if phase in present}
    with style():
        figure = Figure(figsize=(SIZES[size], 4.6 if size == "wide" else 5.4), layout="constrained")
        top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=[2, 1])
        for axes in (top, bottom):
            draw_bands(axes, found, colours)
        points = readiness_curve(restore, ended_at)
        seconds, percents = [at for at, _ in points], [percent for _, percent in points]
        top.plot(seconds, percents, color=COLOURS["accent"], linewidth=2, drawstyle="steps-post")
        top.set(ylim=(0, 104), ylabel="initialized, %")
        _draw_read_ops(bottom, restore)
        span = max(ended_at - restore.started_at, 1.0)
        clock_axis(bottom, span, size, "lab time after the start")
        legend(figure, colours, columns=7 if size == "wide" else 3)
    return figure


def _draw_read_ops(axes: Axes, restore: RestoreRecord) -> None:
    """One bar per minute, as CloudWatch keeps them; minutes begin by the clock and not with the restore."""
    starts = [minute.at - restore.started_at for minute in restore.read_ops]
    axes.bar(
        starts,
        [minute.read_ops for minute in restore.read_ops],
        width=MINUTE_SECONDS,
        align="edge",
        color=COLOURS["rate"],
        edgecolor=COLOURS["grid"],
        linewidth=0.5,
    )
    most = max((minute.read_ops for minute in restore.read_ops), default=0.0)
    axes.set(ylabel="VolumeReadOps\na minute", ylim=(0, max(most * 1.1, 10)))
    axes.yaxis.set_major_locator(MaxNLocator(3, integer=True))


def _phase_colour(phase: str) -> str:
    return phase_colour(list(PHASES).index(phase))
