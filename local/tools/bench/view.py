"""The benchmark on a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from rich.console import Console

from local.tools.bench.goals import Result
from local.tools.bench.record import Run, Summaries, is_touch
from local.tools.bench.specs import VolumeSpec, physical_limit
from local.tools.bench.wording import COLUMNS, goal_row, row, run_line, volume_shares, volume_title
from rewarm_cli.output import print_table, tell

PLAIN_COLUMNS = 160


class View:
    """Writes to one stream."""

    def __init__(self, stream: TextIO, specs: Sequence[VolumeSpec], rounds: int) -> None:
        self._console = Console(file=stream, highlight=False, markup=False, emoji=False)
        if not self._console.is_terminal:
            self._console.width = PLAIN_COLUMNS
        self._specs = {spec.name: spec for spec in specs}
        self._rounds = rounds

    def say(self, text: str) -> None:
        """One sentence."""
        tell(self._console, text)

    def run(self, run: Run) -> None:
        """One line for a run that is over."""
        limit = physical_limit(self._specs[run.volume], touch=is_touch(run.tool))
        style = "red" if run.void else "bold" if run.tool.startswith("agent") else None
        tell(self._console, run_line(run, self._rounds, limit.seconds), style=style)

    def table(self, summaries: Summaries) -> None:
        """All volumes, one table each."""
        for spec in self._specs.values():
            rows = [row(summaries, one) for (volume, _), one in summaries.items() if volume == spec.name]
            tell(self._console, volume_title(spec), style="bold")
            print_table(self._console, COLUMNS, rows, right=COLUMNS[2:-1], sentences=("setting", "note"))
        busy = ", ".join(volume_shares(summaries, list(self._specs.values())))
        self.say(f"The volumes' own processes took at most this much of one core: {busy or 'not measured'}")

    def goals(self, results: Sequence[Result]) -> None:
        """The checklist."""
        names = ("reached", "volume", "goal", "measured")
        tell(self._console, "Must reach", style="bold")
        print_table(self._console, names, [goal_row(result) for result in results], sentences=names[2:])
