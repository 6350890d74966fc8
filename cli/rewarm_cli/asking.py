"""Ask before anything is made, stopped, deleted or swapped: on a terminal, and nowhere else.

A command shows its plan or its effect, then asks. Where nobody can be asked, it does nothing without --yes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import click

from rewarm_cli.output import folded, say, width_of
from rewarm_cli.problems import DECLINED
from rewarm_cli.words import visible

CHOICE = " [y/N]: "
"""What click adds to a question."""
HELP = "Do not ask. Needed where there is no terminal."


def takes_yes(command: Callable[..., Any]) -> Callable[..., Any]:
    """The option of a command that asks."""
    return click.option("-y", "--yes", is_flag=True, help=HELP)(command)


def asks(*, yes: bool) -> bool:
    """Whether the command asks. Raises UsageError where nobody can be asked."""
    if yes:
        return False
    if not is_terminal():
        raise click.UsageError("there is no terminal on which to ask; use --yes to do it without being asked")
    return True


def is_terminal() -> bool:
    """Whether somebody can read a question and answer it; what is asked for may go elsewhere."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def agrees(question: str) -> bool:
    """Whether the user answers yes."""
    return click.confirm(folded(visible(question), width_of(sys.stderr) - len(CHOICE)), err=True)


def agree(question: str, otherwise: str) -> None:
    """Ends the command unless the user agrees; `otherwise` says what was left undone."""
    if not agrees(question):
        say(otherwise, err=True)
        raise click.exceptions.Exit(DECLINED)
