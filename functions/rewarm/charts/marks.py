"""How a strategy looks in every picture: colour, mark and dash, each enough alone (print, colour vision).

Labels stand beside marks: each takes the free place nearest to its mark, in the order given.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator
from matplotlib.transforms import Bbox

from rewarm.charts.svg import COLOURS
from rewarm.domain.value import Value

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

_GAP_POINTS = 9.0
_ROW_POINTS = 13.0
_ROWS = 16
_NEAR_POINTS, _BESIDE_POINTS = _GAP_POINTS + _ROW_POINTS, 40.0
"""A label that is farther away has a line to its mark."""
_BESIDE = (
    (-7.0, "left"),
    (7.0, "right"),
    (10.0, "left"),
    (-10.0, "right"),
    (40.0, "left"),
    (-40.0, "right"),
    (110.0, "left"),
    (-110.0, "right"),
    (180.0, "left"),
    (-180.0, "right"),
)
"""How far a label begins or ends from its mark, in points."""
_PAD_PIXELS = 3.0
_HIDES = 1_000.0
_LED_THROUGH = 500.0
_CROSSES = 25.0
_LEFTWARDS = 8.0
"""Costs of a place: to hide something is worst, then a leader line through words, then to be far away."""
_LEADER_STEPS = 24
_POINTS_PER_INCH = 72

Place = tuple[float, float, str]
Pixel = tuple[float, float]


class Mark(Value):
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
            ("direct-write", ">", (0, (8, 2, 1, 2)), 8.5),
            ("rewind", "<", (0, (8, 2)), 8.5),
        )
    }
)
"""By the strategy's name; a test holds that each has one, and none shares it."""


def time_axis(axes: Axes, least_seconds: float, most_seconds: float, *, label: str) -> None:
    """Logarithmic, with ticks as people count time."""
    low = least_seconds / 1.7
    high = most_seconds * 1.7
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


class Label(Value):
    """Words for the mark at `x`, `y`, in the axes' own units."""

    x: float
    y: float
    text: str
    colour: str
    bold: bool = False


class Obstacles(Value):
    """What a label must not cover (boxes), and what it should not (lines, places of others); in pixels."""

    boxes: Sequence[Bbox] = ()
    verticals: Sequence[float] = ()
    others: Sequence[Bbox] = ()


class _Box(NamedTuple):
    """In pixels. matplotlib's own boxes take ten times as long to compare, and a search compares many."""

    x0: float
    y0: float
    x1: float
    y1: float

    def contains(self, x: float, y: float) -> bool:
        """Whether the point is in the box or on its edge."""
        return self.x0 <= x <= self.x1 and self.y0 <= y <= self.y1

    def overlaps(self, other: _Box) -> bool:
        """Whether the boxes share a point."""
        return self.x0 <= other.x1 and other.x0 <= self.x1 and self.y0 <= other.y1 and other.y0 <= self.y1

    def moved(self, across: float, up: float) -> _Box:
        """The same box elsewhere."""
        return _Box(self.x0 + across, self.y0 + up, self.x1 + across, self.y1 + up)


class _Surroundings(Value):
    """What the places of a label are compared with."""

    frame: _Box
    taken: list[_Box]
    verticals: Sequence[float]
    others: Sequence[_Box]
    written: list[_Box]
    leaders: list[Pixel]

    def note(self, at: Place, mark: Pixel, box: _Box) -> None:
        """Note that a label takes this place."""
        self.taken.append(box)
        self.written.append(box)
        self.leaders.extend(_leader(at, mark, box))


def place(axes: Axes, labels: Sequence[Label], obstacles: Obstacles) -> None:
    """Write the labels. The axes' limits, and all that shares the figure, must be final."""
    figure = axes.get_figure(root=True)
    assert isinstance(figure, Figure)
    renderer: Any = FigureCanvasAgg(figure).get_renderer()  # type: ignore[no-untyped-call]
    figure.draw_without_rendering()
    around = _Surroundings(
        _box(axes.get_window_extent()), [_box(box) for box in obstacles.boxes], obstacles.verticals,
        [_box(box) for box in obstacles.others], [], [],
    )  # fmt: skip
    for label in labels:
        across, up = axes.transData.transform((label.x, label.y))
        mark = float(across), float(up)
        written = axes.annotate(
            label.text, (label.x, label.y), xytext=(0, 0), textcoords="offset points", color=label.colour,
            fontsize=9, fontweight="bold" if label.bold else "normal", linespacing=1.25,
            annotation_clip=False, zorder=6,
            bbox={"facecolor": COLOURS["card"], "edgecolor": "none", "alpha": 0.7, "pad": 0.5},
            arrowprops={"arrowstyle": "-", "color": label.colour, "linewidth": 0.7, "shrinkB": 5},
        )  # fmt: skip
        best = _best(_boxes(written, renderer, figure.dpi / _POINTS_PER_INCH), mark, around)
        around.note(best, mark, _box_at(written, best, renderer))
        assert written.arrow_patch is not None
        written.arrow_patch.set_visible(_is_led(best))


def _boxes(written: Any, renderer: Any, pixels_per_point: float) -> dict[Place, _Box]:
    """Of the words at each place. They are measured once for each alignment; the rest is moving."""
    measured: dict[tuple[bool, str], tuple[Place, _Box]] = {}
    found = {}
    for at in _places():
        across, up, side = at
        alignment = up > 0, side
        if alignment not in measured:
            measured[alignment] = at, _box_at(written, at, renderer)
        first, box = measured[alignment]
        found[at] = box.moved((across - first[0]) * pixels_per_point, (up - first[1]) * pixels_per_point)
    return found


def _best(boxes: Mapping[Place, _Box], mark: Pixel, around: _Surroundings) -> Place:
    """The place that costs least, the first of equals. Leaders, which only add, are looked at last."""
    costs = sorted((_cost(at, box, around), number, at) for number, (at, box) in enumerate(boxes.items()))
    best = math.inf, 0, costs[0][2]
    for cost, number, at in costs:
        if cost > best[0]:
            break
        best = min(best, (cost + _led_through(at, mark, boxes[at], around), number, at))
    return best[2]


def _led_through(at: Place, mark: Pixel, box: _Box, around: _Surroundings) -> float:
    """The cost of a leader that crosses words."""
    through = _inside(_leader(at, mark, box), around.written) + _inside(around.leaders, [box])
    return _LED_THROUGH * through


def _is_led(at: Place) -> bool:
    return abs(at[1]) > _NEAR_POINTS or abs(at[0]) > _BESIDE_POINTS


def _leader(at: Place, mark: Pixel, box: _Box) -> list[Pixel]:
    """Points of the line that is seen from a mark to the middle of its words; empty without a line."""
    if not _is_led(at):
        return []
    middle = ((box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2)
    shares = [step / _LEADER_STEPS for step in range(_LEADER_STEPS)]
    points = [tuple(a + (b - a) * share for a, b in zip(mark, middle, strict=True)) for share in shares]
    return [(x, y) for x, y in points if not box.contains(x, y)]


def _inside(points: Sequence[Pixel], boxes: Sequence[_Box]) -> bool:
    return any(box.contains(x, y) for box in boxes for x, y in points)


def _places() -> list[Place]:
    """Offsets in points, the nearest first: row by row above and below the mark."""
    return [
        (across, sign * (_GAP_POINTS + _ROW_POINTS * row), side)
        for row in range(_ROWS)
        for sign in (1, -1)
        for across, side in _BESIDE
    ]


def _move(written: Any, at: Place) -> None:
    across, up, side = at
    written.set_position((across, up))
    written.set_ha(side)
    written.set_ma("left")
    written.set_va("bottom" if up > 0 else "top")


def _box_at(written: Any, at: Place, renderer: Any) -> _Box:
    """Of the words alone, without the line that leads to the mark."""
    _move(written, at)
    written.update_positions(renderer)
    box = _box(Text.get_window_extent(written, renderer))
    return _Box(box.x0 - _PAD_PIXELS, box.y0 - _PAD_PIXELS, box.x1 + _PAD_PIXELS, box.y1 + _PAD_PIXELS)


def _box(bounds: Bbox) -> _Box:
    return _Box(float(bounds.xmin), float(bounds.ymin), float(bounds.xmax), float(bounds.ymax))


def _cost(at: Place, box: _Box, around: _Surroundings) -> float:
    frame = around.frame
    beyond = (frame.x0 - box.x0, box.x1 - frame.x1, frame.y0 - box.y0, box.y1 - frame.y1)
    outside = float(sum(max(0.0, pixels) for pixels in beyond))
    hidden = sum(box.overlaps(other) for other in around.taken)
    crossed = sum(box.x0 <= vertical <= box.x1 for vertical in around.verticals)
    crossed += 2 * sum(box.overlaps(other) for other in around.others)
    far = abs(at[0]) / 2 + abs(at[1]) + (_LEFTWARDS if at[2] == "right" else 0)
    return _HIDES * hidden + _HIDES * (outside > 0) + outside + _CROSSES * crossed + far
