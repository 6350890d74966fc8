"""Figures as inline SVG that takes its colours from the page, so that it is right in the dark too."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

# Colours that no figure uses for themselves: each stands for a variable of the page's style sheet.
COLOURS = {
    "text": "#010101",
    "muted": "#020202",
    "grid": "#030303",
    "accent": "#040404",
    "before": "#050505",
    "after": "#060606",
    "rate": "#070707",
    "phase-0": "#101010",
    "phase-1": "#111111",
    "phase-2": "#121212",
    "phase-3": "#131313",
    "phase-4": "#141414",
    "phase-5": "#151515",
    "phase-6": "#161616",
}

_STYLE: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "rewarm",
    "font.size": 10,
    "text.color": COLOURS["text"],
    "axes.labelcolor": COLOURS["muted"],
    "axes.edgecolor": COLOURS["grid"],
    "axes.facecolor": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "figure.facecolor": "none",
    "grid.color": COLOURS["grid"],
    "grid.linewidth": 0.6,
    "xtick.color": COLOURS["muted"],
    "ytick.color": COLOURS["muted"],
    "legend.frameon": False,
}


@contextmanager
def style() -> Iterator[None]:
    """Draw with the page's colours."""
    with mpl.rc_context(_STYLE):
        yield


def to_svg(figure: Figure, name: str, description: str) -> str:
    """The figure as an inline SVG element; `name` keeps its ids apart from those of the page's others."""
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r'\bid="([^"]+)"', rf'id="{name}-\1"', text)
    text = re.sub(r'((?:xlink:)?href="#)', rf"\g<1>{name}-", text)
    text = re.sub(r"url\(#", f"url(#{name}-", text)
    # Text is laid out with the metrics of matplotlib's own font, and shown in the page's.
    text = re.sub(r"'DejaVu Sans'[^;\"]*", "system-ui, sans-serif", text)
    for variable, colour in COLOURS.items():
        text = text.replace(colour, f"var(--{variable})")
    # Without fixed sizes the picture fills its column; the view box keeps its proportions.
    text = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", text, count=1)
    text = re.sub(r'(<svg[^>]*?) width="[^"]*"', r'\1 width="100%"', text, count=1)
    return text.replace("<svg", f'<svg role="img" aria-label="{escape(description)}"', 1)
