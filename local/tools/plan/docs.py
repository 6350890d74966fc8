"""Writes what strategies.md, plan.md and rewind.md in docs take from the rules; a test holds them to it."""

from __future__ import annotations

import re
from io import StringIO
from pathlib import Path

from local.tools.plan import crossovers, curves, offline, rewind_tables, tables
from local.tools.plan.options import Options
from local.tools.plan.request import NO_INSTANCE
from local.tools.plan.view import View
from rewarm.charts.pictures import picture

PAGE = "strategies.md"
TRANSCRIPT_PAGE = "plan.md"
REWIND_PAGE = "rewind.md"
EXAMPLE = Options(size_gib=1_024, instance_type=crossovers.INSTANCE_TYPE, deadline_minutes=120)
"""Of the two pictures that `make plan` draws, and of what it prints."""
SEVERAL = Options(size_gib=100, volumes=55, instance_type=NO_INSTANCE, deadline_minutes=40)
"""More volumes than the Region's rate allows at once."""


def write(folder: Path) -> list[Path]:
    """Write the pages and their pictures; return their paths."""
    written = []
    for name, content in documents(folder).items():
        path = folder / name
        path.write_text(content, encoding="utf-8")
        written.append(path)
    return written


def documents(folder: Path) -> dict[str, str]:
    """File name to content: the pages as they are in the folder with new tables, and the pictures."""
    rewinds = {name: tables.markdown(*lines) for name, lines in rewind_tables.all_tables().items()}
    contents = {
        **tables.all_tables(),
        **rewinds,
        "plan": transcript(),
        "plan-several": transcript_of_several(),
    }
    pages = {
        name: filled((folder / name).read_text(encoding="utf-8"), contents)
        for name in (PAGE, TRANSCRIPT_PAGE, REWIND_PAGE)
    }
    return {**pages, **pictures()}


def filled(page: str, contents: dict[str, str]) -> str:
    """The page with each table between its marks. Raises KeyError for a mark without a table."""

    def table(found: re.Match[str]) -> str:
        return f"{found[1]}\n{contents[found[2]]}\n{found[3]}"

    return re.sub(r"(<!-- table (\S+) -->)\n.*?(<!-- end -->)", table, page, flags=re.DOTALL)


def transcript() -> str:
    """What `make plan` prints for the example, as a block of Markdown."""
    printed = StringIO()
    view = View(printed)
    result = offline.plan(EXAMPLE, crossovers.NOW)
    view.plan(result)
    view.what_if(result)
    return _block(printed.getvalue())


def transcript_of_several() -> str:
    """The part that a plan of one volume has not: the schedule, and the lines below it."""
    printed = StringIO()
    result = offline.plan(SEVERAL, crossovers.NOW)
    View(printed).plan(result)
    _, heading, rest = printed.getvalue().partition("55 volumes of ")
    return _block(heading + rest.partition("Prices, US dollars")[0])


def _block(printed: str) -> str:
    lines = [line.rstrip() for line in printed.rstrip().splitlines()]
    return "\n".join(["```text", *lines, "```"])


def pictures() -> dict[str, str]:
    """File name to SVG."""
    example = offline.plan(EXAMPLE, crossovers.NOW)
    return {
        "strategies-plan.svg": picture(example, "plan"),
        "strategies-what-if.svg": picture(example, "what-if"),
        "strategies-schedule.svg": picture(offline.plan(SEVERAL, crossovers.NOW), "schedule"),
        "strategies-by-size.svg": curves.document(crossovers.by_size()),
        "strategies-by-volumes-100-gib.svg": curves.document(crossovers.by_volumes(100)),
        "strategies-by-volumes-1-tib.svg": curves.document(crossovers.by_volumes(1_024)),
    }
