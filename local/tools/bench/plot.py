"""The picture of the benchmark: time to fully warm, by volume and tool."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from local.tools.bench.record import Summaries, Summary
from local.tools.bench.specs import VolumeSpec, physical_limit
from local.tools.bench.wording import TOOL_TEXT

AGENT_COLOUR, PEER_COLOUR, LIMIT_COLOUR = "#1b7f5c", "#9aa5b1", "#c0392b"
WIDTH_INCHES, BAR_INCHES, HEAD_INCHES = 8.0, 0.26, 0.95
TITLE_LETTERS = 66


def draw(path: Path, summaries: Summaries, specs: Sequence[VolumeSpec]) -> None:
    """Write an SVG with one panel for each volume; equal results give equal bytes."""
    panels = [(spec, rows) for spec in specs if (rows := _rows(summaries, spec))]
    if not panels:
        return
    heights = [HEAD_INCHES + BAR_INCHES * len(rows) for _, rows in panels]
    with mpl.rc_context({"svg.hashsalt": "bench", "svg.fonttype": "none", "font.size": 9}):
        figure = Figure(figsize=(WIDTH_INCHES, sum(heights)), layout="constrained")
        axes = figure.subplots(len(panels), 1, squeeze=False, height_ratios=heights)
        for (spec, rows), axis in zip(panels, axes[:, 0], strict=True):
            _panel(axis, spec, rows)
        figure.savefig(path, format="svg", metadata={"Date": None, "Creator": None})
    # The library leaves blanks at line ends.
    lines = path.read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join(line.rstrip() for line in lines) + "\n", encoding="utf-8")


def _rows(summaries: Summaries, spec: VolumeSpec) -> list[Summary]:
    return [summary for (volume, _), summary in summaries.items() if volume == spec.name]


def _panel(axis: Any, spec: VolumeSpec, rows: Sequence[Summary]) -> None:
    """Bars with the spread from least to largest, and the physical limit as a line."""
    places = list(range(len(rows)))
    medians = [summary.seconds.median for summary in rows]
    below = [summary.seconds.median - summary.seconds.low for summary in rows]
    above = [summary.seconds.high - summary.seconds.median for summary in rows]
    colours = [AGENT_COLOUR if summary.tool.startswith("agent") else PEER_COLOUR for summary in rows]
    axis.barh(places, medians, xerr=[below, above], color=colours, height=0.72, ecolor="#333333", capsize=2)
    limit = physical_limit(spec).seconds
    axis.axvline(limit, color=LIMIT_COLOUR, linewidth=1.2, linestyle="--")
    axis.set_yticks(places, [TOOL_TEXT[summary.tool] for summary in rows])
    axis.invert_yaxis()
    for place, summary in zip(places, rows, strict=True):
        axis.annotate(
            f"{summary.seconds.median:.1f} s",
            (summary.seconds.high, place),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
        )
    axis.set_xlim(0, max(summary.seconds.high for summary in rows) * 1.12)
    size = f"{spec.size_bytes / (1 << 30):g} GiB"
    title = textwrap.fill(f"{spec.name} ({size}): {spec.text}", TITLE_LETTERS)
    axis.set_title(title, loc="left", fontsize=9, fontweight="bold")
    axis.set_xlabel(
        f"seconds to fully warm; dashed: the physical limit of full reads, {limit:.1f} s", fontsize=8
    )
    axis.spines[["top", "right"]].set_visible(False)
