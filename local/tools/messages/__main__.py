"""Writes docs/messages-*.svg: `make messages-docs`."""

from __future__ import annotations

from local import ROOT
from local.tools.messages.payloads import pictures


def main() -> None:
    """Write each picture."""
    for name, svg in pictures().items():
        (ROOT / "docs" / name).write_text(svg, encoding="utf-8")


if __name__ == "__main__":
    main()
