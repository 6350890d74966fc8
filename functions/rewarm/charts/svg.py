"""Figures as SVG: equal figures give equal bytes, and text stays text.

Figures are drawn in colours that stand for names. `to_svg` is for an HTML page, whose style sheet gives the
names their colours, also in dark mode; `to_document` is a separate file for any viewer.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Placeholder colours: each stands for a variable of the page's style sheet.
COLOURS = {
    "text": "#010101",
    "muted": "#020202",
    "grid": "#030303",
    "accent": "#040404",
    "before": "#050505",
    "after": "#060606",
    "rate": "#070707",
    "card": "#080808",
    "bad": "#090909",
    "phase-0": "#101010",
    "phase-1": "#111111",
    "phase-2": "#121212",
    "phase-3": "#131313",
    "phase-4": "#141414",
    "phase-5": "#151515",
    "phase-6": "#161616",
    "phase-7": "#171717",
    "phase-8": "#181818",
    "strategy-background": "#202020",
    "strategy-warm-up-agent": "#212121",
    "strategy-provisioned-rate": "#222222",
    "strategy-fast-snapshot-restore": "#232323",
    "strategy-volume-clone": "#242424",
    "strategy-boosted-warm-up": "#252525",
    "strategy-rewind": "#262626",
    "strategy-direct-write": "#272727",
}
"""Strategies have theirs too; a mark or a dash says the same where colours are not seen."""

_ON_PAPER = {
    "text": "#1b2430",
    "muted": "#4a5665",
    "grid": "#d7dde4",
    "accent": "#1f6feb",
    "before": "#c8553d",
    "after": "#2e8b57",
    "rate": "#7c5cd6",
    "card": "#ffffff",
    "bad": "#b3261e",
    "phase-0": "#8aa4c8",
    "phase-1": "#b79ad6",
    "phase-2": "#e2b04a",
    "phase-3": "#d98a5b",
    "phase-4": "#79b4a9",
    "phase-5": "#5c9ce6",
    "phase-6": "#c76d8e",
    "phase-7": "#9aa5b1",
    "phase-8": "#a8b35c",
    "strategy-background": "#6b7280",
    "strategy-warm-up-agent": "#00795a",
    "strategy-provisioned-rate": "#0072b2",
    "strategy-fast-snapshot-restore": "#c04a00",
    "strategy-volume-clone": "#a8458a",
    "strategy-boosted-warm-up": "#b58100",
    "strategy-rewind": "#00838a",
    "strategy-direct-write": "#7a5c00",
}
"""Colours of a separate file: Okabe and Ito's palette for every colour vision, dark enough for text."""

_STYLE: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "rewarm",
    "font.family": "DejaVu Sans",
    "font.size": 10,
    # Names come from outside, so a dollar sign must not begin a formula.
    "text.parse_math": False,
    "text.color": COLOURS["text"],
    "axes.labelcolor": COLOURS["muted"],
    "axes.edgecolor": COLOURS["grid"],
    "axes.facecolor": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "figure.facecolor": "none",
    "figure.constrained_layout.w_pad": 0.1,
    "figure.constrained_layout.h_pad": 0.08,
    "grid.color": COLOURS["grid"],
    "grid.linewidth": 0.6,
    "hatch.color": COLOURS["grid"],
    "xtick.color": COLOURS["muted"],
    "ytick.color": COLOURS["muted"],
    "legend.frameon": False,
}


@contextmanager
def style() -> Iterator[None]:
    """Draw with colours that stand for names."""
    import matplotlib as mpl  # noqa: PLC0415 - takes seconds to load, and pictures without a figure need none

    with mpl.rc_context(_STYLE):
        yield


def to_svg(figure: Figure, name: str, description: str) -> str:
    """The figure as an inline SVG element; `name` keeps its ids apart from those of the page's others."""
    text = _drawn(figure)
    text = re.sub(r'\bid="([^"]+)"', rf'id="{name}-\1"', text)
    text = re.sub(r'((?:xlink:)?href="#)', rf"\g<1>{name}-", text)
    text = re.sub(r"url\(#", f"url(#{name}-", text)
    for variable, colour in COLOURS.items():
        text = text.replace(colour, f"var(--{variable})")
    # Without fixed sizes the picture fills its column; the view box keeps its proportions.
    text = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", text, count=1)
    text = re.sub(r'(<svg[^>]*?) width="[^"]*"', r'\1 width="100%"', text, count=1)
    return text.replace("<svg", f'<svg role="img" aria-label="{escape(description)}"', 1)


def on_paper(element: str) -> str:
    """An element for a page as a separate file: on white, with fixed colours."""
    text = re.sub(r"var\(--([a-z0-9-]+)\)", lambda found: _ON_PAPER[found[1]], element)
    ground = f'<rect width="100%" height="100%" fill="{_ON_PAPER["card"]}"/>'
    opening = text.index(">") + 1
    return f'<?xml version="1.0" encoding="utf-8"?>\n{text[:opening]}\n{ground}{text[opening:]}\n'


def to_document(figure: Figure, title: str, description: str) -> str:
    """The figure as an SVG file on white that needs nothing else, with words for screen readers."""
    text = _drawn(figure)
    for name, colour in COLOURS.items():
        text = text.replace(colour, _ON_PAPER[name])
    text = text.replace("<svg", '<svg role="img" aria-labelledby="title desc"', 1)
    head = (
        f'<title id="title">{escape(title)}</title>\n<desc id="desc">{escape(description)}</desc>\n'
        f'<rect width="100%" height="100%" fill="{_ON_PAPER["card"]}"/>\n'
    )
    opening = text.index(">", text.index("<svg")) + 1
    lines = f"{text[:opening]}\n{head}{text[opening:].lstrip()}".splitlines()
    # The library leaves blanks at line ends.
    return "\n".join(['<?xml version="1.0" encoding="utf-8"?>', *(line.rstrip() for line in lines)]) + "\n"


def _drawn(figure: Figure) -> str:
    """From `<svg`, without date, producer and the names of fonts that only this machine has."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG  # noqa: PLC0415 - as in `style`

    buffer = io.StringIO()
    canvas: Any = FigureCanvasSVG(figure)
    with style():  # this also arranges the figure; `savefig` would draw it once more for that
        canvas.print_svg(buffer, metadata={"Date": None, "Creator": None})
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    # Laid out with the metrics of matplotlib's own font, shown in the viewer's, which is narrower.
    return re.sub(r"'DejaVu Sans'[^;\"]*", "system-ui, Helvetica, Arial, sans-serif", text)
