"""`make soak`: thousands of restores with random faults at random moments, on the fast lab.

Nothing leaves the process, so there is nothing to tidy up after it, however it ends.
Exit status 0 when nothing leaked, no verdict was wrong and nothing got stuck, 1 when not, 2 for options that
make no sense, 130 when interrupted.
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from local.soak.options import ADOPTIONS_OPTION, REWINDS_OPTION, Options, parse
from local.soak.runner import Outcome, scenario, soak
from local.soak.trouble.call_table import call_table
from local.soak.trouble.permissions.statements import UNNEEDED, statements
from rewarm.domain.units import duration_text


@dataclass(slots=True)
class Tally:
    """The sums of all scenarios."""

    first_seed: int
    last_seed: int = 0
    restores: int = 0
    ready: int = 0
    leaks: int = 0
    wrong: int = 0
    stuck: int = 0
    endings: Counter[str] = field(default_factory=Counter)
    failed_seeds: list[int] = field(default_factory=list)
    virtual_seconds: float = 0.0

    def add(self, outcome: Outcome) -> None:
        """One more scenario."""
        self.last_seed = outcome.seed
        self.restores += outcome.restores
        self.ready += outcome.ready
        self.leaks += len(outcome.leaks)
        self.wrong += len(outcome.wrong)
        self.stuck += len(outcome.stuck)
        self.endings.update(outcome.endings)
        self.virtual_seconds += outcome.virtual_seconds
        if not outcome.good:
            self.failed_seeds.append(outcome.seed)

    @property
    def good(self) -> bool:
        """Nothing to complain about."""
        return not self.failed_seeds

    def __str__(self) -> str:
        """The last sentence."""
        what = "1 restore" if self.restores == 1 else f"{self.restores:,} restores"
        return f"{what}, {self.leaks} leaks, {self.wrong} wrong verdicts, {self.stuck} stuck executions"

    def to_json(self, seconds: float) -> dict[str, Any]:
        """For --json."""
        return {
            "restores": self.restores,
            "ready": self.ready,
            "leaks": self.leaks,
            "wrongVerdicts": self.wrong,
            "stuckExecutions": self.stuck,
            "firstSeed": self.first_seed,
            "lastSeed": self.last_seed,
            "failedSeeds": self.failed_seeds,
            "endings": dict(self.endings.most_common()),
            "virtualDays": round(self.virtual_seconds / 86_400, 1),
            "seconds": round(seconds, 1),
        }


def main(arguments: list[str] | None = None) -> int:
    """Run and return the exit status."""
    options = parse(arguments)
    if options.calls:
        print(json.dumps(call_table(), indent=2, sort_keys=True))
        return 0
    if options.statements:
        lines = statements()
        print("\n".join(lines))
        return 1 if any(line.startswith(UNNEEDED) for line in lines) else 0
    console = Console(stderr=options.as_json)
    tally, began = Tally(options.seed if options.only is None else options.only), time.monotonic()
    try:
        _run(options, tally, console)
    except KeyboardInterrupt:
        console.print(f"interrupted after {tally}")
        return 130
    seconds = time.monotonic() - began
    console.print(_summary(tally, seconds))
    console.print(str(tally))
    if options.as_json:
        print(json.dumps(tally.to_json(seconds)))
    return 0 if tally.good else 1


def _run(options: Options, tally: Tally, console: Console) -> None:
    play, kind = scenario, ""
    if options.rewinds:
        play, kind = partial(scenario, rewinds=True), f"{REWINDS_OPTION} "
    elif options.adoptions:
        play, kind = partial(scenario, adoptions=True), f"{ADOPTIONS_OPTION} "
    if options.only is not None:
        outcome = play(options.only)
        tally.add(outcome)
        _tell(outcome, console, kind)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("restores", total=options.restores)
        for outcome in soak(options.restores, options.seed, play):
            tally.add(outcome)
            progress.update(task, completed=min(tally.restores, options.restores))
            if not outcome.good:
                _tell(outcome, progress.console, kind)


def _tell(outcome: Outcome, console: Console, kind: str) -> None:
    """All that is known of a scenario, and how to see it again."""
    console.print(f"seed {outcome.seed}: {', '.join(outcome.endings)}", highlight=False)
    for title, lines in (
        ("fault", outcome.told),
        ("left", outcome.leaks),
        ("wrong", outcome.wrong),
        ("stuck", outcome.stuck),
    ):
        for line in lines or (["nothing"] if title in {"left", "stuck"} else []):
            console.print(f"  {title}: {line}", highlight=False, markup=False)
    console.print(f'  again: make soak ARGS="{kind}--only {outcome.seed}"', highlight=False, markup=False)


def _summary(tally: Tally, seconds: float) -> str:
    span = duration_text(tally.virtual_seconds)
    kinds = ", ".join(f"{count} {kind}" for kind, count in tally.endings.most_common())
    return (
        f"seeds {tally.first_seed} to {tally.last_seed}: {kinds}\n"
        f"Each ended as its faults allow, unless the last line says otherwise.\n"
        f"{span} of the lab in {seconds:,.0f} s"
    )


if __name__ == "__main__":
    sys.exit(main())
