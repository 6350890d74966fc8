"""Block Kit as a picture: what a message looks like in Slack, near enough to know what to expect.

Widths are those of a common font, estimated from above, so that no line is longer than its place.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from html import escape, unescape

from local import Json

WIDTH, MARGIN, GUTTER = 760, 20, 52
LINE, SMALL = 21, 18
CHARS, SMALL_CHARS = 88, 100
REPLY_INDENT = 36
_STYLE = """
text { font: 14px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; fill: #1d1c1d; }
.bold { font-weight: 700; } .title { font-size: 17px; font-weight: 700; }
.small { font-size: 12px; fill: #616061; } .app { font-size: 10px; fill: #616061; }
.page { fill: #ffffff; stroke: #d7dde4; } .line { stroke: #d7dde4; }
.button { fill: #ffffff; stroke: #bbbabb; } .primary { fill: #007a5a; } .danger { fill: #e01e5a; }
.white { fill: #ffffff; } .mark { fill: #1f6feb; } .tag { fill: #e8e8e8; }
@media (prefers-color-scheme: dark) {
  text { fill: #d1d2d3; } .small, .app { fill: #ababad; } .page { fill: #1a1d21; stroke: #36414d; }
  .line { stroke: #36414d; } .button { fill: #1a1d21; stroke: #565856; } .tag { fill: #36414d; }
  .white { fill: #ffffff; }
}
"""


class Sheet:
    """A picture that grows downwards."""

    def __init__(self) -> None:
        self.y = MARGIN
        self._parts: list[str] = []

    def add(self, part: str) -> None:
        """Something drawn."""
        self._parts.append(part)

    def text(self, x: float, words: str, kind: str = "") -> None:
        """A line; where it is bold between stars it is drawn so."""
        spans = [
            f'<tspan class="bold">{escape(part)}</tspan>' if odd % 2 else escape(part)
            for odd, part in enumerate(words.split("*"))
        ]
        mark = f' class="{kind}"' if kind else ""
        self.add(f'<text x="{x:g}" y="{self.y:g}"{mark} xml:space="preserve">{"".join(spans)}</text>')

    def svg(self, label: str) -> str:
        """The whole picture."""
        height = self.y + MARGIN
        inside = "\n".join(self._parts)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:g}" role="img" '
            f'aria-label="{escape(label, quote=True)}">\n<style>{_STYLE}</style>\n'
            f'<rect class="page" x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1:g}" rx="8"/>\n'
            f"{inside}\n</svg>\n"
        )


def drawn(message: Json, thread: list[Json]) -> str:
    """The message with its thread."""
    sheet = Sheet()
    _message(sheet, message, indent=0)
    if thread:
        sheet.y += 6
        count = f"{len(thread)} {'reply' if len(thread) == 1 else 'replies'}"
        sheet.text(MARGIN + GUTTER, f"Thread: {count}", "small")
        sheet.y += 12
    for reply in thread:
        sheet.add(f'<path class="line" d="M{MARGIN + 18} {sheet.y:g}H{WIDTH - MARGIN}"/>')
        sheet.y += 16
        _message(sheet, reply, indent=REPLY_INDENT)
    return sheet.svg(_plain(message["text"]))


def _message(sheet: Sheet, message: Json, indent: int) -> None:
    x = MARGIN + indent
    sheet.add(f'<rect class="mark" x="{x}" y="{sheet.y:g}" width="36" height="36" rx="6"/>')
    sheet.y += 24
    sheet.text(x + 12, "R", "title white")
    sheet.y -= 9
    left = x + GUTTER
    sheet.text(left, "*Rewarm*")
    sheet.add(f'<rect class="tag" x="{left + 70}" y="{sheet.y - 11:g}" width="28" height="14" rx="2"/>')
    sheet.text(left + 74, "APP", "app")
    sheet.y += 4
    for block in message["blocks"]:
        _DRAWN[block["type"]](sheet, block, left)
    sheet.y += 6


def _header(sheet: Sheet, block: Json, x: int) -> None:
    for line in _wrapped(_plain(block["text"]["text"]), 58 - (x - MARGIN - GUTTER) // 9):
        sheet.y += 26
        sheet.text(x, line, "title")
    sheet.y += 4


def _section(sheet: Sheet, block: Json, x: int) -> None:
    fewer = (x - MARGIN - GUTTER) // 7
    if "text" in block:
        for line in _lines(block["text"]["text"], CHARS - fewer):
            sheet.y += LINE
            sheet.text(x, line)
    fields = block.get("fields", [])
    for first in range(0, len(fields), 2):
        top = sheet.y
        ends = []
        for column, field in enumerate(fields[first : first + 2]):
            sheet.y = top
            for line in _lines(field["text"], 40):
                sheet.y += LINE
                sheet.text(x + column * 320, line)
            ends.append(sheet.y)
        sheet.y = max(ends)
    sheet.y += 6


def _context(sheet: Sheet, block: Json, x: int) -> None:
    for line in _wrapped("   ".join(_plain(part["text"]) for part in block["elements"]), SMALL_CHARS):
        sheet.y += SMALL
        sheet.text(x, line, "small")
    sheet.y += 6


def _actions(sheet: Sheet, block: Json, x: int) -> None:
    sheet.y += 8
    left: float = x
    for button in block["elements"]:
        style = button.get("style", "button")
        width = 30 + 9 * len(button["text"]["text"])
        sheet.add(f'<rect class="{style}" x="{left:g}" y="{sheet.y:g}" width="{width}" height="30" rx="4"/>')
        sheet.y += 20
        sheet.text(left + 13, f"*{button['text']['text']}*", "white" if style != "button" else "")
        sheet.y -= 20
        left += width + 10
    sheet.y += 38


_DRAWN = {"header": _header, "section": _section, "context": _context, "actions": _actions}


def _lines(text: str, chars: int) -> Iterator[str]:
    for line in text.split("\n"):
        yield from _wrapped(_plain(line), chars)


def _wrapped(line: str, chars: int) -> list[str]:
    """Bold over several lines is bold on each."""
    found = textwrap.wrap(line, chars, break_on_hyphens=False) or [""]
    return [f"*{part.strip('*')}*" for part in found] if re.fullmatch(r"\*[^*]+\*", line) else found


def _plain(text: str) -> str:
    """Slack's mark-up but for bold; a star inside of a word is a star."""
    text = re.sub(r"<[^|>]+\|([^>]+)>", r"\1", text).replace("`", "")
    return unescape(text)
