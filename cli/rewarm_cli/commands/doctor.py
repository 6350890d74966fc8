"""`rewarm doctor`: is everything there that a restore needs?"""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import click

from rewarm_cli.output import INDENT, LEAST_SENTENCE, folded
from rewarm_cli.problems import FAILED
from rewarm_cli.settings import Settings, examples, takes_settings
from rewarm_cli.words import count, visible

if TYPE_CHECKING:
    from rich.console import Console

    from rewarm_cli.doctor.findings import Finding

COLOURS = {"ok": "green", "warning": "yellow", "problem": "bold red", "unknown": "cyan"}


@click.command(
    epilog=examples(
        "rewarm doctor",
        "rewarm doctor --instance i-… --volume vol-…",
        "rewarm doctor --instance i-… --on-instance",
    )
)
@click.option("--instance", metavar="I", help="Look at this instance too, and at its network.")
@click.option("--volume", metavar="VOL", help="Look at this volume, its snapshots and its key.")
@click.option("--snapshot", metavar="SNAP", help="Look at this snapshot and its key.")
@click.option(
    "--on-instance", is_flag=True, help="Also run a command on the instance, which reads and writes no file."
)
@takes_settings
def doctor(settings: Settings, **options: Any) -> None:
    """Check what a restore needs: permissions, network, quotas, keys, prices. It changes nothing.

    Each finding is ok, warning, problem or unknown, with what to do. The exit status is 1 if there is a
    problem, and 0 otherwise.
    """
    if options["on_instance"] and not options["instance"]:
        raise click.UsageError("--on-instance needs --instance")
    from rewarm_cli.doctor.account import Wanted
    from rewarm_cli.doctor.examination import examine
    from rewarm_cli.doctor.findings import PROBLEM, counted, document
    from rewarm_cli.output import console

    target = console() if settings.for_people else None
    found: list[Finding] = []
    for name, findings in examine(settings, Wanted(**options)):
        found += findings
        if target is not None and findings:
            show(target, name, findings)
    if target is None:
        settings.emit(document(found))
    else:
        target.print(", ".join(_number(status, number) for status, number in counted(found).items()))
    if any(finding.status == PROBLEM for finding in found):
        raise click.exceptions.Exit(FAILED)


def _number(status: str, number: int) -> str:
    """`1 problem`, `2 warnings`, `3 unknown`."""
    return count(number, status) if status in ("problem", "warning") else f"{number} {status}"


def show(target: Console, name: str, findings: list[Finding]) -> None:
    """A heading, and below it each finding; what to do stands on its own line.

    Where the terminal has no room beside the checks, what was found stands below each.
    """
    from rich.text import Text

    target.print(name, style="bold")
    states, checks = (
        max(len(getattr(finding, what)) for finding in findings) for what in ("status", "check")
    )
    longest = max(len(word) for finding in findings for word in f"{finding.found} {finding.todo}".split())
    margin = len("  ") + states + len("  ") + checks + len("  ")
    if margin + max(longest, LEAST_SENTENCE) > target.width:
        margin = INDENT
    for finding in findings:
        line = Text("  ").append(finding.status.ljust(states), style=COLOURS[finding.status])
        line.append(f"  {visible(finding.check)}")
        texts = [finding.found, f"→ {finding.todo}"] if finding.todo else [finding.found]
        folds = (folded(visible(text), target.width - margin) for text in texts)
        below = textwrap.indent("\n".join(folds), " " * margin)
        line.append(f"\n{below}" if margin == INDENT else below[len(line) :])
        target.print(line, soft_wrap=True)
    target.print()
