"""HTML as a browser reads it."""

from __future__ import annotations

from html.parser import HTMLParser

VOID = {"meta", "br", "link", "img", "input", "hr", "wbr"}


class Outline(HTMLParser):
    """Collects ids and what a browser would load, and checks that elements are closed in order."""

    def __init__(self):
        super().__init__()
        self.open, self.ids, self.loaded = [], [], []

    def handle_starttag(self, tag, attrs):
        self.note(tag, dict(attrs))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.note(tag, dict(attrs))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def note(self, tag, attrs):
        self.ids += [attrs["id"]] if "id" in attrs else []
        for name in ("src", "href", "xlink:href"):
            # A link is followed by whoever clicks it; it loads nothing.
            if tag != "a" and not attrs.get(name, "#").startswith("#"):
                self.loaded.append(attrs[name])


def read(page, outline):
    """The outline, filled."""
    outline.feed(page)
    outline.close()
    return outline
