"""IOPS in each state, published beside measured."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

from local.tools.measurements.published.figures import Row
from rewarm_cli.bench.picture import save

PUBLISHED_COLOUR, MEASURED_COLOUR = "#9aa5b1", "#1b7f5c"
WIDTH_INCHES, STATE_INCHES, HEAD_INCHES = 8.0, 0.5, 0.9
BAR_HEIGHT = 0.38


def draw(path: Path, rows: Sequence[Row]) -> None:
    """Write an SVG, on a logarithmic axis: 11 and 1,633 are to be seen in one picture."""
    with mpl.rc_context({"svg.hashsalt": "measurements", "svg.fonttype": "none", "font.size": 9}):
        figure = Figure(figsize=(WIDTH_INCHES, HEAD_INCHES + STATE_INCHES * len(rows)), layout="constrained")
        axis = figure.subplots()
        for offset, colour, name in (
            (-BAR_HEIGHT / 2, PUBLISHED_COLOUR, "published"),
            (BAR_HEIGHT / 2, MEASURED_COLOUR, "measured"),
        ):
            values = [row.figure.iops if name == "published" else row.iops for row in rows]
            places = [place + offset for place in range(len(rows))]
            axis.barh(places, values, height=BAR_HEIGHT, color=colour, label=name)
            for place, value in zip(places, values, strict=True):
                axis.annotate(
                    f"{value:,.0f}", (value, place), xytext=(3, 0), textcoords="offset points", va="center"
                )
        axis.set_xscale("log")
        axis.set_xlim(1, 10_000)
        axis.set_yticks(range(len(rows)), [row.figure.text.replace("`", "") for row in rows])
        axis.invert_yaxis()
        axis.set_xlabel("I/O a second, 4 KiB, one at a time (logarithmic)", fontsize=8)
        axis.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, frameon=False, fontsize=8)
        axis.spines[["top", "right"]].set_visible(False)
        save(figure, path)
