"""Writes the tables and pictures of docs/strategies.md; a test holds that they are what the rules say."""

from __future__ import annotations

import re
from pathlib import Path

from local.tools.plan import crossovers, curves, offline, tables
from local.tools.plan.options import Options
from rewarm.charts.pictures import picture

PAGE = "strategies.md"
EXAMPLE = Options(data_gib=1_024, instance_type=crossovers.INSTANCE_TYPE, deadline_minutes=120)
"""Of the two pictures that `make plan` draws."""


def write(folder: Path) -> list[Path]:
    """The page and its pictures; what is written."""
    written = []
    for name, content in documents(folder).items():
        path = folder / name
        path.write_text(content, encoding="utf-8")
        written.append(path)
    return written


def documents(folder: Path) -> dict[str, str]:
    """File name to content: the page as it is in the folder with new tables, and the pictures."""
    page = filled((folder / PAGE).read_text(encoding="utf-8"), tables.all_tables())
    return {PAGE: page, **pictures()}


def filled(page: str, contents: dict[str, str]) -> str:
    """The page with each table between its marks. Raises KeyError for a mark without a table."""

    def table(found: re.Match[str]) -> str:
        return f"{found[1]}\n{contents[found[2]]}\n{found[3]}"

    return re.sub(r"(<!-- table (\S+) -->)\n.*?(<!-- end -->)", table, page, flags=re.DOTALL)


def pictures() -> dict[str, str]:
    """File name to SVG."""
    example = offline.plan(EXAMPLE, crossovers.NOW)
    return {
        "strategies-plan.svg": picture(example, "plan"),
        "strategies-what-if.svg": picture(example, "what-if"),
        "strategies-by-size.svg": curves.document(crossovers.by_size()),
        "strategies-by-volumes-100-gib.svg": curves.document(crossovers.by_volumes(100)),
        "strategies-by-volumes-1-tib.svg": curves.document(crossovers.by_volumes(1_024)),
    }
