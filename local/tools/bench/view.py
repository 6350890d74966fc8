"""The benchmark on a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from local.tools.bench.goals import Result
from local.tools.bench.record import Run, Summaries, is_touch
from local.tools.bench.specs import VolumeSpec, physical_limit
from local.tools.bench.wording import COLUMNS, goal_row, mark, row, run_line, volume_shares, volume_title

PLAIN_COLUMNS = 160
COLOUR = {"yes": "green", "NO": "red", "-": "yellow"}


class View:
    """Writes to one stream."""

    def __init__(self, stream: TextIO, specs: Sequence[VolumeSpec], rounds: int) -> None:
        self._console = Console(file=stream, highlight=False)
        if not self._console.is_terminal:
            self._console.width = PLAIN_COLUMNS
        self._specs = {spec.name: spec for spec in specs}
        self._rounds = rounds

    def say(self, text: str) -> None:
        """One sentence."""
        self._console.print(escape(text), soft_wrap=True)

    def run(self, run: Run) -> None:
        """One line for a run that is over."""
        limit = physical_limit(self._specs[run.volume], touch=is_touch(run.tool))
        style = "red" if run.void else "bold" if run.tool.startswith("agent") else ""
        self._console.print(
            escape(run_line(run, self._rounds, limit.seconds)), style=style or None, soft_wrap=True
        )

    def table(self, summaries: Summaries) -> None:
        """All volumes, one table each."""
        for spec in self._specs.values():
            table = Table(title=escape(volume_title(spec)), title_justify="left", title_style="bold")
            for number, name in enumerate(COLUMNS):
                table.add_column(name, justify="right" if 1 < number < len(COLUMNS) - 1 else "left")
            for (volume, tool), summary in summaries.items():
                if volume == spec.name:
                    cells = [escape(cell) for cell in row(summaries, summary)]
                    table.add_row(*cells, style="bold" if tool.startswith("agent") else "")
            self._console.print(table)
        busy = ", ".join(volume_shares(summaries, list(self._specs.values())))
        self.say(f"The volumes' own processes took at most this much of one core: {busy or 'not measured'}")

    def goals(self, results: Sequence[Result]) -> None:
        """The checklist."""
        table = Table(title="Must reach", title_justify="left", title_style="bold")
        for name in ("reached", "volume", "goal", "measured"):
            table.add_column(name)
        for result in results:
            table.add_row(*[escape(cell) for cell in goal_row(result)], style=COLOUR[mark(result)])
        self._console.print(table)
