"""The runs of a benchmark as bars, with what is provisioned as a mark."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from rewarm_cli.bench.tables import Json, by_pattern, title

BAR_COLOUR, LIMIT_COLOUR = "#1b7f5c", "#c0392b"
WIDTH_INCHES, BAR_INCHES, HEAD_INCHES = 8.0, 0.48, 1.0
LABEL_CHARACTERS = 100  # as many as fit into the picture's width


def draw(path: Path, runs: Sequence[Json]) -> bool:
    """Write an SVG with a panel for each pattern; False without patterns. Equal runs give equal bytes."""
    panels = {
        name: measured
        for name, same in by_pattern(runs).items()
        if (measured := [run for run in same if run["problem"] is None])
    }
    if not panels:
        return False
    heights = [HEAD_INCHES + BAR_INCHES * len(same) for same in panels.values()]
    with mpl.rc_context({"svg.hashsalt": "compare", "svg.fonttype": "none", "font.size": 9}):
        figure = Figure(figsize=(WIDTH_INCHES, sum(heights)), layout="constrained")
        axes = figure.subplots(len(panels), 1, squeeze=False, height_ratios=heights)
        for (name, same), axis in zip(panels.items(), axes[:, 0], strict=True):
            _panel(axis, name, same)
        save(figure, path)
    return True


def save(figure: Figure, path: Path) -> None:
    """Save without date and version, and without the blanks that the library leaves at line ends."""
    figure.savefig(path, format="svg", metadata={"Date": None, "Creator": None})
    lines = path.read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join(line.rstrip() for line in lines) + "\n", encoding="utf-8")


def label(target: str) -> str:
    """A target's name; of a name that is too long, the beginning and the end, where names differ."""
    if len(target) <= LABEL_CHARACTERS:
        return target
    half = LABEL_CHARACTERS // 2
    return f"{target[: half - 1]}…{target[-half:]}"


def _panel(axis: Any, name: str, runs: Sequence[Json]) -> None:
    places = list(range(len(runs)))
    totals = [run["totalIops"] for run in runs]
    axis.barh(places, totals, color=BAR_COLOUR, height=0.6)
    for place, run in zip(places, runs, strict=True):
        axis.annotate(
            f"{run['totalIops']:,.0f} IOPS, {run['totalMibS']:,.0f} MiB/s",
            (run["totalIops"], place),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
        )
        if run["provisionedIops"] and run["provisionedIops"] <= 1.6 * max(totals):
            axis.plot(
                [run["provisionedIops"]] * 2, [place - 0.3, place + 0.36], color=LIMIT_COLOUR, linewidth=2
            )
        # Above its bar, because the path of a mount may be too long beside it.
        axis.annotate(
            label(run["target"]), (0, place - 0.3), xytext=(0, 2), textcoords="offset points", in_layout=False
        )
    axis.set_yticks([])
    axis.set_ylim(-0.8, len(runs) - 0.5)
    axis.invert_yaxis()
    axis.set_xlim(0, max(totals) * 1.6)
    axis.set_title(title(name), loc="left", fontsize=9, fontweight="bold")
    axis.set_xlabel("I/O a second; red: the IOPS that are provisioned", fontsize=8)
    axis.spines[["top", "right"]].set_visible(False)
