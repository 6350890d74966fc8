"""The links in messages, opened as a reader's browser does: without any AWS account."""

from __future__ import annotations

import html
import json
import re
import urllib.request
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]
_LINK = re.compile(r"<(https?://[^|>]+)\|Page of the restore>")
_FIGURE = re.compile(r'<data value="([^"]*)" data-of="([^"]+)">')


@dataclass(frozen=True, slots=True)
class Page:
    """What a link leads to."""

    url: str
    status: int
    content_type: str
    text: str

    @property
    def figures(self) -> dict[str, str]:
        """Value of each figure, by its place in the account."""
        return {html.unescape(path): html.unescape(value) for value, path in _FIGURE.findall(self.text)}


def opened(url: str) -> Page:
    """With nothing but the address."""
    with urllib.request.urlopen(url, timeout=30) as answer:  # our own loopback
        return Page(url, answer.status, answer.headers["Content-Type"], answer.read().decode())


def link_of(message: Json) -> str | None:
    """Of a Slack message; None where it links no page."""
    found = _LINK.search(json.dumps(message, ensure_ascii=False))
    return found[1].replace("&amp;", "&") if found else None


def is_of(page: Page, account: Json) -> bool:
    """Every figure of the page is that of the account."""
    return bool(page.figures) and all(
        value == str(_at(account, path)) for path, value in page.figures.items()
    )


def _at(account: Json, path: str) -> Any:
    found: Any = account
    for part in path.split("/"):
        found = found[int(part)] if part.isdecimal() else found[part]
    return found
