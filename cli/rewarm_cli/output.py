"""What a command prints: a table for people, JSON or YAML for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from rewarm_cli.problems import USAGE, CommandFailedError
from rewarm_cli.words import visible

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

GAP, INDENT, LEAST_SENTENCE = 2, 4, 24
"""Cells between two columns, before what stands below a row's figures, and for a column of sentences."""
SAID_BY_ITSELF = frozenset({"strategy", "way", "id", "alarm"})
"""Columns whose values need no name before them."""
DRAWN = frozenset({"schedule"})
WIDE = 10_000
"""The width if the output is no terminal: a program reads it, so nothing is cut or wrapped."""


def document(value: Any, output: str) -> str:
    """The value as JSON or YAML."""
    if output != "yaml":
        return visible(json.dumps(value, indent=2, ensure_ascii=False))
    import yaml

    text: str = yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=110)
    return text.rstrip("\n")


def emit(value: Any, output: str, query: str | None) -> None:
    """Print a value, or the part of it that a JMESPath expression names; a text is printed without quotes."""
    if query is not None:
        value = _searched(value, query)
    click.echo(value if isinstance(value, str) else document(value, output))


def _searched(value: Any, query: str) -> Any:
    import jmespath  # type: ignore[import-untyped]

    try:
        return jmespath.search(query, value)
    # Some wrong arguments, such as a step of 0, are found by Python only.
    except (jmespath.exceptions.JMESPathError, ValueError, TypeError) as error:
        raise CommandFailedError(f"--query: found {query!r}, which is no JMESPath: {error}", USAGE) from error


def console(*, stderr: bool = False) -> Console:
    """A console for people, with the terminal's colours and width, and visible control characters."""
    from rich.console import Console

    class VisibleConsole(Console):
        def render_str(self, text: str, **options: Any) -> Text:
            return super().render_str(visible(text), **options)

    stream = sys.stderr if stderr else sys.stdout
    return VisibleConsole(
        file=stream, width=None if stream.isatty() else WIDE, highlight=False, markup=False, emoji=False
    )


def print_table(
    target: Console,
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    right: Sequence[str] = (),
    whole: Sequence[str] = (),
    sentences: Sequence[str] = (),
) -> None:
    """Columns under bold headings without lines, as gh prints them; those in `right` and `whole` are not cut.

    No word is broken. Where the longest word of each column, and some words of each sentence, have no room
    beside each other, each row becomes lines.
    """
    from rich.table import Table

    figures = {*right, *whole}
    rows = [[visible(cell) for cell in row] for row in rows]
    longest = [max(map(len, cells)) for cells in zip(columns, *rows, strict=True)]
    least = [
        cells_width
        if column in figures
        else max(_longest_word(cells), min(cells_width, LEAST_SENTENCE) if column in sentences else 0)
        for column, cells_width, cells in zip(columns, longest, zip(columns, *rows, strict=True), strict=True)
    ]
    room = target.width - GAP * (len(columns) - 1)
    if sum(least) > room:
        _print_lines(target, columns, rows, {*columns} - {*sentences} - DRAWN)
        return
    widths = longest
    while sum(widths) > room:
        widest = max(
            (place for place in range(len(widths)) if widths[place] > least[place]), key=widths.__getitem__
        )
        widths[widest] -= 1
    table = Table(box=None, pad_edge=False, header_style="bold", show_edge=False)
    for column, width in zip(columns, widths, strict=True):
        table.add_column(
            column, justify="right" if column in right else "left", overflow="fold", width=width or None
        )
    for row in rows:
        table.add_row(*row)
    target.print(table)


def _longest_word(cells: Sequence[str]) -> int:
    return max((len(word) for cell in cells for word in cell.split()), default=0)


def _print_lines(
    target: Console, columns: Sequence[str], rows: Sequence[Sequence[str]], beside: set[str]
) -> None:
    """Of each row the cells with their names, and below them what needs a line of its own."""
    from rich.padding import Padding

    for row in rows:
        named = [
            cell if column in SAID_BY_ITSELF else f"{column} {cell}"
            for column, cell in zip(columns, row, strict=True)
            if column in beside and column and cell not in {"", "-"}
        ]
        mark = row[0] + " " if row[0] and not columns[0] else ""
        target.print(mark + ", ".join(named))
        for column, cell in zip(columns, row, strict=True):
            if cell.strip() and column and column not in beside:
                target.print(Padding(cell, (0, 0, 0, INDENT), expand=False))
