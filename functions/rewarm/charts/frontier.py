"""Price against deadline: what each deadline costs at the least, and from when on none can be met."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

from rewarm.charts.marks import MARKS, Label, Obstacles, place, price_axis, time_axis
from rewarm.charts.svg import COLOURS, style, to_document
from rewarm.domain.units import duration_text
from rewarm.domain.value import Value

WIDTH_INCHES, HEIGHT_INCHES = 9.6, 4.6


class Offer(Value):
    """The least price of every deadline from this one on, until the next offer's."""

    deadline_seconds: float
    usd: float
    price: str
    strategy: str
    name: str
    """As it is written beside the curve; offers of one strategy one after the other are one curve."""


class Frontier(Value):
    """Offers by deadline, the shortest first; `deadline_seconds` is the request's own."""

    title: str
    offers: Sequence[Offer]
    deadline_seconds: float | None = None
    budget_usd: float | None = None
    choice_usd: float = 0.0
    """What the plan for the request's own deadline costs."""


def draw(frontier: Frontier) -> Figure:
    """One picture."""
    with style():
        figure = Figure(figsize=(WIDTH_INCHES, HEIGHT_INCHES), layout="constrained")
        axes = figure.subplots()
        _axes(axes, frontier)
        labels = [_curve(axes, run, following) for run, following in _runs(frontier, axes.get_xlim()[1])]
        _drops(axes, frontier.offers)
        _none_in_time(axes, frontier.offers[0])
        _lines(axes, frontier)
        figure.draw_without_rendering()
        place(axes, labels, _obstacles(axes, frontier))
    return figure


def document(frontier: Frontier) -> str:
    """An SVG file."""
    words = "; ".join(
        f"from {duration_text(offer.deadline_seconds)}: {offer.name}, {offer.price}"
        for offer in (run[0] for run, _ in _runs(frontier, 0.0))
    )
    return to_document(draw(frontier), "Price against deadline", f"{frontier.title}. {words}.")


def _axes(axes: Axes, frontier: Frontier) -> None:
    times = [offer.deadline_seconds for offer in frontier.offers]
    times += [frontier.deadline_seconds] if frontier.deadline_seconds else []
    label = "deadline (logarithmic): full speed within so long in 9 of 10 cases (P90)"
    time_axis(axes, min(times) / 1.8, max(times) * 1.8, label=label)
    price_axis(axes, max([frontier.budget_usd or 0.0, *(offer.usd for offer in frontier.offers)]))
    axes.set_title(frontier.title, loc="left", fontsize=11, fontweight="bold", pad=22)


def _runs(frontier: Frontier, end: float) -> Iterator[tuple[list[Offer], float]]:
    """Offers of one strategy one after the other, and where the next strategy's begin."""
    runs = [list(run) for _, run in groupby(frontier.offers, key=lambda offer: offer.strategy)]
    ends = [run[0].deadline_seconds for run in runs[1:]] + [end]
    yield from zip(runs, ends, strict=True)


def _curve(axes: Axes, run: list[Offer], end: float) -> Label:
    look = MARKS[run[0].strategy]
    first = run[0]
    times = [*(offer.deadline_seconds for offer in run), end]
    prices = [*(offer.usd for offer in run), run[-1].usd]
    axes.plot(
        times, prices, color=look.colour, linestyle=look.dash, linewidth=2.6, drawstyle="steps-post",
        zorder=3, gid=f"curve-{first.strategy}-{first.deadline_seconds:.0f}",
    )  # fmt: skip
    axes.plot(
        first.deadline_seconds, first.usd, marker=look.marker, color=look.colour, markersize=look.size,
        markeredgecolor=COLOURS["card"], markeredgewidth=0.8, zorder=4,
    )  # fmt: skip
    price_range = first.price if first.price == run[-1].price else f"{first.price} to {run[-1].price}"
    words = f"from {duration_text(first.deadline_seconds)} on: {price_range}\n{first.name}"
    return Label(first.deadline_seconds, first.usd, words, look.colour)


def _obstacles(axes: Axes, frontier: Frontier) -> Obstacles:
    """The curve, piece by piece, and the lines, in pixels."""
    to_pixels = axes.transData.transform
    end = axes.get_xlim()[1]
    ends = [offer.deadline_seconds for offer in frontier.offers[1:]] + [end]
    boxes = []
    for offer, until in zip(frontier.offers, ends, strict=True):
        (left, low), (right, _) = to_pixels([(offer.deadline_seconds, offer.usd), (until, offer.usd)])
        boxes.append(Bbox.from_extents(left - 6, low - 6, right, low + 6))
    boxes += [text.get_window_extent() for text in axes.texts if text.get_gid() == "nothing"]
    changes = [run[0].deadline_seconds for run, _ in _runs(frontier, end)]
    at = frontier.deadline_seconds
    verticals = [to_pixels((seconds, 0))[0] for seconds in [*changes, *([at] if at else [])]]
    frame = axes.get_window_extent()
    first = to_pixels((frontier.offers[0].deadline_seconds, 0))[0]
    return Obstacles(boxes, verticals, [Bbox.from_extents(frame.x0, frame.y0, first, frame.y1)])


def _drops(axes: Axes, offers: Sequence[Offer]) -> None:
    """Thin lines where one strategy takes over from another."""
    for before, after in pairwise(offers):
        if before.strategy != after.strategy:
            times = (after.deadline_seconds, after.deadline_seconds)
            axes.plot(times, (before.usd, after.usd), color=COLOURS["muted"], linewidth=0.8, zorder=2)


def _none_in_time(axes: Axes, first: Offer) -> None:
    low = axes.get_xlim()[0]
    axes.axvspan(
        low, first.deadline_seconds, facecolor="none", edgecolor=COLOURS["grid"], hatch="////", linewidth=0,
        gid="none-in-time",
    )  # fmt: skip
    axes.text(
        (low * first.deadline_seconds) ** 0.5, 0.03, "no strategy\nis in time",
        transform=axes.get_xaxis_transform(), ha="center", va="bottom", fontsize=9, color=COLOURS["bad"],
        gid="nothing",
    )  # fmt: skip


def _lines(axes: Axes, frontier: Frontier) -> None:
    at = frontier.deadline_seconds
    if at is not None:
        axes.axvline(at, color=COLOURS["bad"], linewidth=1.4, linestyle="--", gid="deadline")
        axes.text(
            at, 1.015, f"deadline {duration_text(at)}", transform=axes.get_xaxis_transform(),
            ha="center", va="bottom", fontsize=9, color=COLOURS["bad"],
        )  # fmt: skip
        if at >= frontier.offers[0].deadline_seconds:
            axes.plot(
                at, frontier.choice_usd, marker="o", markersize=14, markerfacecolor="none", zorder=5,
                markeredgecolor=COLOURS["text"], markeredgewidth=1.6, gid="choice",
            )  # fmt: skip
    if frontier.budget_usd is not None:
        axes.axhline(frontier.budget_usd, color=COLOURS["bad"], linewidth=1.4, linestyle=":", gid="budget")
        axes.axhspan(frontier.budget_usd, axes.get_ylim()[1], color=COLOURS["bad"], alpha=0.06, linewidth=0)
        axes.text(
            1.008, frontier.budget_usd, f"budget\n${frontier.budget_usd:,.2f}",
            transform=axes.get_yaxis_transform(), va="center", fontsize=9, color=COLOURS["bad"],
        )  # fmt: skip
