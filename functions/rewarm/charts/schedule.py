"""The schedule of a plan: a bar for each group of alike volumes on one axis of time, with the deadline.

A bar is solid until P50 and thin from there until P90. It is drawn without matplotlib, which takes seconds to
load: the page of a running restore has this picture too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from types import MappingProxyType

from rewarm.charts.svg import on_paper
from rewarm.domain.time.measured import Phase
from rewarm.domain.units import count_text, duration_text, size_text, usd_text
from rewarm.domain.value import Value
from rewarm.domain.words.schedule import ScheduleLine, strategy_text

Pictures = dict[str, str]
"""By width of the page: `wide` and `narrow`."""

KINDS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "copy": ("snapshot is copied", "phase-0"),
        "wait": ("waits for other volumes", "phase-7"),
        "prepare": ("fast snapshot restore is prepared", "phase-1"),
        "create": ("created and attached", "phase-2"),
        "boot": ("instance starts", "phase-8"),
        "load": ("read or loaded", "phase-5"),
        "measure": ("measured", "phase-6"),
    }
)
"""What a part of a bar is -> (in words, colour)."""
_KIND_OF = {
    Phase.COPY: "copy",
    Phase.QUEUE: "wait",
    Phase.PREPARE: "prepare",
    Phase.CREATE: "create",
    Phase.ATTACH: "create",
    Phase.BOOT: "boot",
    Phase.MEASURE: "measure",
    Phase.VERIFY: "measure",
}
_TICKS = (
    10, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 2 * 3_600, 3 * 3_600, 6 * 3_600, 12 * 3_600, 86_400,
    2 * 86_400, 5 * 86_400, 10 * 86_400, 30 * 86_400,
)  # fmt: skip


class _Size(Value):
    """Of a picture, in pixels; text keeps its size, so a phone gets its own picture."""

    width: int
    ticks: int
    text_lines: int
    characters: int
    """Of a line of text, so that none is longer than the picture is wide."""

    @property
    def row(self) -> int:
        """The height of a bar with its words."""
        return _TEXT * self.text_lines + _BAR + 14


SIZES = {"wide": _Size(920, 8, 2, 118), "narrow": _Size(420, 4, 3, 56)}
_TOP, _AXIS, _LEGEND, _BAR, _TEXT, _SIDE = 30, 30, 22, 16, 17, 14
_LEGEND_WIDTH = 7.2
"""Of a character of the legend, a little too wide rather than too narrow."""
_MUTED = 'fill="var(--muted)"'
_HALO = 'paint-order="stroke" stroke="var(--card)" stroke-width="3"'
"""Keeps words readable where a line is behind them."""


class _Bar(Value):
    label: str
    short_label: str
    size: str
    way: str
    figures: str
    parts: Sequence[tuple[str, float, float]]
    """Kind, from and until (P50)."""
    p50: float
    p90: float
    late: bool

    def texts(self, size: _Size) -> tuple[str, ...]:
        """The words above it, line by line."""
        if size.text_lines == 2:
            return self.label, f"{self.way}: {self.figures}"
        return self.short_label, f"{self.size}: {self.way}", self.figures


def document(lines: Sequence[ScheduleLine], deadline_seconds: float | None) -> str:
    """An SVG file."""
    return on_paper(_element(lines, deadline_seconds, SIZES["wide"]))


def pictures(lines: Sequence[ScheduleLine], deadline_seconds: float | None) -> Pictures:
    """For an HTML page, whose style sheet has the colours; empty without a line."""
    if not lines:
        return {}
    return {name: _element(lines, deadline_seconds, size) for name, size in SIZES.items()}


def _element(lines: Sequence[ScheduleLine], deadline: float | None, size: _Size) -> str:
    bars = [_bar(line) for line in lines]
    kinds = [kind for kind in KINDS if any(kind == part[0] for bar in bars for part in bar.parts)]
    legend = list(_legend(kinds, size.width))
    bottom = _TOP + size.row * len(bars)
    height = bottom + _AXIS + (legend[-1][1] + 1) * _LEGEND + 6
    end = 1.03 * max([deadline or 0.0, *(bar.p90 for bar in bars)], default=1.0)
    scale = (size.width - 2 * _SIDE) / max(end, 1.0)
    body = [
        *_axis(end, scale, size, bottom),
        *_deadline(deadline, scale, size, bottom),
        *(piece for row, bar in enumerate(bars) for piece in _drawn(bar, scale, size, _TOP + row * size.row)),
        *(_legend_entry(kind, x, bottom + _AXIS + row * _LEGEND, size) for kind, row, x in legend),
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size.width} {height}" width="100%" '
        f'role="img" aria-label="{escape(_described(bars, deadline))}" '
        'font-family="system-ui, Helvetica, Arial, sans-serif" font-size="13" fill="var(--text)">\n'
        + "\n".join(body)
        + "\n</svg>"
    )


def _bar(line: ScheduleLine) -> _Bar:
    parts, at = [], 0.0
    for phase in Phase:  # the order in which they happen, which a record may have lost
        p50 = line.phases.get(phase, (0.0, 0.0))[0]
        if p50 > 0:
            parts.append((_KIND_OF.get(phase, "load"), at, at + p50))
            at += p50
    up_to = "" if line.alike else "up to "
    count = count_text(line.volumes, "volume")
    short = f"{count} of {line.snapshot_id}" if line.snapshot_id else count
    data = f"{up_to}{size_text(line.data_bytes)}{' each' if line.volumes > 1 else ''}"
    price = usd_text(line.together_cost_usd)
    if line.volumes > 1:
        price = f"{up_to}{usd_text(line.each_cost_usd)} each, {price} together"
    times = f"{duration_text(line.ready_p50_seconds)} to {duration_text(line.ready_p90_seconds)}"
    return _Bar(
        label=f"{short}, {data}{f' to {line.target}' if line.target else ''}",
        short_label=short,
        size=data,
        way=strategy_text(line.strategy, line.initialization_rate_mib_s, line.boost),
        figures=f"{times}, {price}{', late' if line.deadline_missed else ''}",
        parts=parts,
        p50=line.ready_p50_seconds,
        p90=line.ready_p90_seconds,
        late=line.deadline_missed,
    )


def _drawn(bar: _Bar, scale: float, size: _Size, top: float) -> Iterator[str]:
    """Words above, then the bar."""
    first, *others = bar.texts(size)
    yield _text(_SIDE, top + 16, first, size, f'font-weight="600" {_HALO}')
    for number, words in enumerate(others, 1):
        colour = 'fill="var(--bad)"' if bar.late else _MUTED
        yield _text(_SIDE, top + 16 + _TEXT * number, words, size, f"{colour} {_HALO}")
    y = top + _TEXT * size.text_lines + 5
    if bar.p90 > bar.p50:
        x = _SIDE + bar.p50 * scale
        width = (bar.p90 - bar.p50) * scale
        yield _rect((x, y + _BAR / 3, width, _BAR / 3), "phase-5", ' class="p90" opacity="0.55"')
        yield _rect((x + width - 1.5, y, 1.5, _BAR), "phase-5")
    for kind, start, end in bar.parts:
        box = (_SIDE + start * scale, y, max(1.0, (end - start) * scale), _BAR)
        yield _rect(box, KINDS[kind][1], f' class="{kind}"')


def _axis(end: float, scale: float, size: _Size, bottom: float) -> Iterator[str]:
    step = next((tick for tick in _TICKS if end / tick <= size.ticks), _TICKS[-1])
    yield _text(2, bottom + 16, "plan", size, f'font-size="11" {_MUTED}')
    for number in range(int(end // step) + 1):
        x = _SIDE + number * step * scale
        yield _line(x, _TOP, bottom, 'stroke="var(--grid)" stroke-width="0.7"')
        if number:
            anchor = "end" if x > size.width - 30 else "middle"
            more = f'font-size="11" text-anchor="{anchor}" {_MUTED}'
            yield _text(x, bottom + 16, duration_text(number * step), size, more)


def _deadline(deadline: float | None, scale: float, size: _Size, bottom: float) -> Iterator[str]:
    if deadline is None:
        return
    x = _SIDE + deadline * scale
    words = f"deadline {duration_text(deadline)}"
    yield _rect((x, _TOP, max(0.0, size.width - x), bottom - _TOP), "bad", ' opacity="0.07"')
    dashes = 'stroke="var(--bad)" stroke-width="1.4" stroke-dasharray="5 3" class="deadline"'
    yield _line(x, _TOP - 6, bottom, dashes)
    anchor = "start" if x < size.width / 2 else "end"
    yield _text(x, _TOP - 12, words, size, f'fill="var(--bad)" text-anchor="{anchor}"')


def _legend(kinds: Sequence[str], width: int) -> Iterator[tuple[str, int, float]]:
    """Kind, row and x of each entry; the last explains the ends of the bars."""
    x = float(_SIDE)
    row = 0
    for kind in (*kinds, "ends"):
        needed = 34 + _LEGEND_WIDTH * len(_legend_words(kind))
        if x > _SIDE and x + needed > width:
            x = float(_SIDE)
            row = row + 1
        yield kind, row, x
        x += needed


def _legend_words(kind: str) -> str:
    return KINDS[kind][0] if kind in KINDS else "solid until P50, thin until P90"


def _legend_entry(kind: str, x: float, y: float, size: _Size) -> str:
    words = _text(x + 18, y + 11, _legend_words(kind), size, f'font-size="12" {_MUTED}')
    if kind in KINDS:
        return _rect((x, y, 13, 13), KINDS[kind][1]) + words
    return _rect((x, y + 4, 13, 5), "phase-5", ' opacity="0.55"') + words


def _described(bars: Sequence[_Bar], deadline: float | None) -> str:
    """The same in words, for those who hear the picture."""
    until = "" if deadline is None else f" Deadline {duration_text(deadline)} after the plan."
    lines = "; ".join(f"{bar.label}: {bar.way}, {bar.figures}" for bar in bars)
    return f"Schedule of the plan.{until} {lines}."


def _text(x: float, y: float, words: str, size: _Size, more: str = "") -> str:
    shown = words if len(words) <= size.characters else f"{words[: size.characters - 1]}…"
    return f'<text x="{x:.1f}" y="{y:.1f}" {more}>{escape(shown)}</text>'


def _rect(box: tuple[float, float, float, float], colour: str, more: str = "") -> str:
    x, y, width, height = box
    size = f'width="{width:.1f}" height="{height:.1f}"'
    return f'<rect x="{x:.1f}" y="{y:.1f}" {size} fill="var(--{colour})"{more}/>'


def _line(x: float, top: float, bottom: float, more: str) -> str:
    return f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{top}" y2="{bottom}" {more}/>'
