"""Every command of `rewarm`, and what a narrow terminal would break of its lines."""

from __future__ import annotations

import re
from functools import cache

import click

from rewarm_cli import main

_WHOLE = re.compile(r"`[^`]*`|'[^']*'|\S")
"""What has no blank at which a line could end."""


@cache
def commands() -> list[tuple[tuple[str, ...], click.Command]]:
    """(its words, the command) of each command that does something."""
    found, open_groups = [], [((), main.rewarm)]
    while open_groups:
        path, group = open_groups.pop()
        for name, command in group.commands.items():
            place = open_groups if isinstance(command, click.Group) else found
            place.append(((*path, name), command))
    return sorted(found, key=lambda pair: pair[0])


def too_wide(text: str, width: int) -> list[str]:
    """Lines that the terminal itself breaks, although they have a blank to end at."""
    lines = [line for line in text.splitlines() if len(line) > width]
    return [line for line in lines if " " in _WHOLE.sub("", line.strip())]
