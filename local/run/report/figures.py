"""The pictures of a restore: readiness over time, the agent's reading, latency before and after."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, MaxNLocator, MultipleLocator

from local.run.recording import Json, RestoreRecord, StateVisit
from local.run.wording import PHASES, phase_of
from rewarm.charts.svg import COLOURS, style, to_svg

MINUTE_SECONDS = 60.0
SIZES = {"wide": 9.6, "narrow": 4.4}
"""Width in inches: text keeps its size, so a phone gets a picture of its own."""
TICK_SECONDS = (1, 5, 10, 30, 60, 120, 300, 600, 1_800, 3_600, 7_200, 21_600, 86_400)


@dataclass(frozen=True, slots=True)
class Band:
    """A phase, from and until (seconds after the start)."""

    phase: str
    start: float
    end: float


def readiness(restore: RestoreRecord, name: str) -> dict[str, str]:
    """Progress, VolumeReadOps per minute and the phases over lab time, by width of the page."""
    label = f"Readiness over time of {restore.restore_id}"
    return {size: to_svg(*_named(_readiness(restore, size), f"{name}-{size}", label)) for size in SIZES}


def reading(restore: RestoreRecord, name: str) -> dict[str, str]:
    """Rate and progress while the volume was initialized; empty where the samples are too few."""
    if len(reading_points(restore)) < 3:
        return {}
    label = f"Rate of initialization of {restore.restore_id}"
    return {size: to_svg(*_named(_reading(restore, size), f"{name}-{size}", label)) for size in SIZES}


def latency(restore: RestoreRecord, name: str) -> dict[str, str]:
    """Histogram of read latency before and after; empty where nothing was measured."""
    measured = {phase: restore.measured(phase) for phase in ("Before", "After")}
    if not any(value and value.get("histogram") for value in measured.values()):
        return {}
    label = f"Read latency of {restore.restore_id} before and after"
    return {size: to_svg(*_named(_latency(measured, size), f"{name}-{size}", label)) for size in SIZES}


def bands(visits: Iterable[StateVisit], started_at: float, ended_at: float) -> list[Band]:
    """The phases of the first volume and of the restore around it, joined where one follows itself."""
    found: list[Band] = []
    for visit in sorted(visits, key=lambda visit: visit.entered_at):
        phase = phase_of(visit)
        if phase is None or visit.execution not in {"restore", "volume 0"}:
            continue
        start = visit.entered_at - started_at
        end = (visit.left_at if visit.left_at is not None else ended_at) - started_at
        if found and found[-1].phase == phase:
            found[-1] = Band(phase, found[-1].start, max(end, found[-1].end))
        else:
            if found:
                found[-1] = Band(found[-1].phase, found[-1].start, max(start, found[-1].start))
            found.append(Band(phase, start, end))
    return found


def reading_points(restore: RestoreRecord) -> list[tuple[float, float, float]]:
    """(seconds, percent, MiB/s) until the first 100 %, from samples and polls that know a rate."""
    points = [
        (sample.at - restore.started_at, sample.percent, sample.mib_per_second)
        for sample in restore.samples
        if sample.mib_per_second is not None
    ]
    points += [
        (visit.left_at - restore.started_at, float(visit.payload["progressPercent"]), rate)
        for visit in restore.visits
        if visit.state == "Poll Initialization" and visit.payload and visit.left_at is not None
        and (rate := visit.payload.get("mibPerSecond")) is not None
    ]  # fmt: skip
    points.sort()
    full = next((index for index, point in enumerate(points) if point[1] >= 100), len(points))
    return points[: full + 1]


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


def tick_seconds(span_seconds: float, most: int) -> int:
    """The distance of at most so many ticks: seconds, minutes or hours as people count them."""
    return next((step for step in TICK_SECONDS if span_seconds / step <= most), TICK_SECONDS[-1])


def _named(figure: Figure, name: str, label: str) -> tuple[Figure, str, str]:
    return figure, name, label


def _readiness(restore: RestoreRecord, size: str) -> Figure:
    ended_at = restore.ended_at if restore.ended_at is not None else restore.started_at
    found = bands(restore.visits, restore.started_at, ended_at)
    with style():
        figure = Figure(figsize=(SIZES[size], 4.6 if size == "wide" else 5.4), layout="constrained")
        top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=[2, 1])
        for axes in (top, bottom):
            _draw_bands(axes, found)
        points = readiness_curve(restore, ended_at)
        seconds, percents = [at for at, _ in points], [percent for _, percent in points]
        top.plot(seconds, percents, color=COLOURS["accent"], linewidth=2, drawstyle="steps-post")
        top.set(ylim=(0, 104), ylabel="initialized, %")
        _draw_read_ops(bottom, restore)
        span = max(ended_at - restore.started_at, 1.0)
        bottom.set(xlim=(0, span), xlabel="lab time after the start")
        bottom.xaxis.set_major_formatter(FuncFormatter(_clock))
        bottom.xaxis.set_major_locator(MultipleLocator(tick_seconds(span, 8 if size == "wide" else 4)))
        _legend(figure, found, columns=7 if size == "wide" else 3)
    return figure


def _draw_bands(axes: Axes, found: Sequence[Band]) -> None:
    for band in found:
        axes.axvspan(band.start, band.end, color=_phase_colour(band.phase), alpha=0.28, linewidth=0)


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


def _legend(figure: Figure, found: Sequence[Band], *, columns: int) -> None:
    present = {band.phase for band in found}
    patches = [
        Patch(color=_phase_colour(phase), alpha=0.5, label=phase) for phase in PHASES if phase in present
    ]
    if patches:
        figure.legend(handles=patches, loc="outside lower center", ncols=columns, fontsize=9)


def _phase_colour(phase: str) -> str:
    return COLOURS[f"phase-{list(PHASES).index(phase)}"]


def _reading(restore: RestoreRecord, size: str) -> Figure:
    seconds, percents, rates = zip(*reading_points(restore), strict=True)
    with style():
        figure = Figure(figsize=(SIZES[size], 2.6), layout="constrained")
        axes = figure.subplots()
        axes.fill_between(seconds, rates, color=COLOURS["rate"], alpha=0.35, linewidth=0)
        axes.plot(seconds, rates, color=COLOURS["rate"], linewidth=2)
        axes.set(ylabel="MiB/s", ylim=(0, max(rates) * 1.15 or 1), xlabel="seconds after the start")
        share = axes.twinx()
        share.plot(seconds, percents, color=COLOURS["accent"], linewidth=2)
        share.set(ylabel="initialized, %", ylim=(0, 104))
        share.grid(visible=False)
        axes.set_xlim(seconds[0], max(seconds[-1], seconds[0] + 0.1))
    return figure


def _latency(measured: dict[str, Json | None], size: str) -> Figure:
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
        axes.legend()
    return figure


def _edge(bin_: Json) -> float:
    return float("inf") if bin_.get("upToMs") is None else float(bin_["upToMs"])


def _clock(seconds: float, _position: int) -> str:
    minutes, second = divmod(round(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02d}:{second:02d}" if hours else f"{minute}:{second:02d}"
