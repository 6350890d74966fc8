"""What a command prints: tables and folded sentences for people, JSON or YAML for programs."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Any, TextIO

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
USUAL = 80
"""Columns of a terminal that does not say how many it has."""
HANGING = 2
NO_BREAK = "\u2011"
"""A hyphen at which click breaks no line."""
_QUOTED = r"""(?:'[^']*'|"[^"]*"|[^\s'"])+"""
_COMMAND = re.compile(r"(?:^\s*|: )((?:\S*/)?(?:rewarm|aws|sudo|make|curl) .+)$")
"""A command at the end of a line."""
_PARTS = re.compile(r"`[^`]*`[^\s`]*|\S+")
"""Words, and commands between backticks."""


def document(value: Any, output: str) -> str:
    """The value as JSON or YAML."""
    if output != "yaml":
        return visible(json.dumps(value, indent=2, ensure_ascii=False))
    return visible(_yaml(value)).rstrip("\n")


def _yaml(value: Any) -> str:
    """YAML in which text with hidden characters has double quotes: only there are escapes escapes."""
    import yaml

    class Dumper(yaml.SafeDumper):
        pass

    def text(dumper: Dumper, said: str) -> yaml.ScalarNode:
        style = None if visible(said) == said else '"'
        return dumper.represent_scalar("tag:yaml.org,2002:str", said, style=style)

    Dumper.add_representer(str, text)
    found: str = yaml.dump(value, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=110)
    return found


def emit(value: Any, output: str, query: str | None) -> None:
    """Print a value, or the part of it that a JMESPath expression names; a text is printed without quotes."""
    if query is not None:
        value = _searched(value, query)
    echo(value if isinstance(value, str) else document(value, output))


def echo(text: str, *, err: bool = False, file: IO[Any] | None = None) -> None:
    """Print the text as it is, but for hidden characters."""
    click.echo(visible(text), err=err, file=file)


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
    width = None if stream.isatty() else WIDE
    return VisibleConsole(file=stream, width=width, highlight=False, markup=False, emoji=False)


def tell(target: Console, text: str, *, style: str | None = None) -> None:
    """Print sentences or a command there, folded as `say` folds them."""
    width = target.width if target.is_terminal else WIDE
    target.print(folded(visible(text), width), style=style, soft_wrap=True)


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
        tell(target, mark + ", ".join(named))
        for column, cell in zip(columns, row, strict=True):
            if cell.strip() and column and column not in beside:
                target.print(Padding(cell, (0, 0, 0, INDENT), expand=False))


def say(text: str, *, err: bool = False) -> None:
    """Print sentences, on standard error with `err`."""
    click.echo(folded(visible(text), width_of(sys.stderr if err else sys.stdout)), err=err)


def width_of(stream: TextIO) -> int:
    """Its columns."""
    if not stream.isatty():
        return WIDE
    with suppress(ValueError):
        return int(os.environ["COLUMNS"]) if "COLUMNS" in os.environ else _columns(stream)
    return USUAL


def _columns(stream: TextIO) -> int:
    try:
        return os.get_terminal_size(stream.fileno()).columns or USUAL
    except OSError:
        return USUAL


def folded(text: str, width: int) -> str:
    """The text with new lines instead of some blanks. A command that has no room gets backslashes there."""
    return "\n".join(
        found for line in text.split("\n") for found in ([line] if len(line) <= width else _fold(line, width))
    )


def _fold(line: str, width: int) -> Iterator[str]:
    command = _COMMAND.search(line)
    said = line[: command.start(1)] if command else line
    margin = " " * (len(line) - len(line.lstrip()))
    parts = [
        part
        for found in _PARTS.findall(said)
        for part in ([found] if len(margin) + HANGING + len(found) <= width else found.split())
    ]
    lines = [*_filled(parts, margin, margin + " " * HANGING, width)]
    if not command:
        yield from lines
        return
    if lines and len(lines[-1]) + 1 + len(command[1]) <= width:
        yield f"{lines[-1]} {command[1]}"
        return
    yield from lines
    margin = margin + " " * HANGING if lines else margin
    *first, last = _filled(re.findall(_QUOTED, command[1]), margin, margin + " " * HANGING, width - 2)
    yield from (f"{part} \\" for part in first)
    yield last


def _filled(parts: list[str], margin: str, hanging: str, width: int) -> Iterator[str]:
    """Lines of as many parts as have room; a part that is longer has a line for itself."""
    line = ""
    for part in parts:
        if line and len(line) + 1 + len(part) > width:
            yield line
            line = ""
            margin = hanging
        line = f"{line} {part}" if line else margin + part
    if line:
        yield line


class Help(click.HelpFormatter):
    """Help in which no name is broken at its hyphens, and examples can be copied."""

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        super().write_usage(prog, _unbroken(args), prefix)

    def write_text(self, text: str) -> None:
        width = self.width - self.current_indent
        paragraphs = [folded(part, width) if part.startswith("\b\n") else part for part in text.split("\n\n")]
        super().write_text(_unbroken("\n\n".join(paragraphs)))

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        most = min(col_max, self.width // 2 - 4)
        super().write_dl([(name, _unbroken(text)) for name, text in rows], most, col_spacing)

    def getvalue(self) -> str:
        return super().getvalue().replace(NO_BREAK, "-")


def _unbroken(text: str) -> str:
    return text.replace("-", NO_BREAK)
