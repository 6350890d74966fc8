"""The progress bar: one that moves on a terminal, a line now and then anywhere else."""

from __future__ import annotations

from time import monotonic

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn

from local.tools.run.recording import ProgressSample

PLAIN_SECONDS = 2.0
PLAIN_CELLS = 24


class ProgressBar:
    """Bytes done, rate and time to go."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._progress: Progress | None = None
        self._task: TaskID | None = None
        self._shown_at = 0.0
        self._shown, self._percent = "", -1.0

    def show(self, sample: ProgressSample) -> None:
        """Show a sample, unless it says nothing new; a line that stays says nothing of the time alone."""
        if sample.words == self._shown or sample.percent < self._percent:
            return
        if self._console.is_terminal:
            self._move(sample, sample.words)
        elif sample.percent == self._percent:
            return
        elif monotonic() - self._shown_at >= PLAIN_SECONDS or sample.percent >= 100:
            filled = round(PLAIN_CELLS * sample.percent / 100)
            cells = "█" * filled + "░" * (PLAIN_CELLS - filled)
            self._console.print(f"          {cells} {sample.words}")
            self._shown_at = monotonic()
        else:
            return
        self._shown, self._percent = sample.words, sample.percent

    def pause(self) -> None:
        """Make room for something that stays on the screen."""
        if self._progress is not None:
            self._progress.refresh()

    def stop(self) -> None:
        """Take the bar away. Safe to call at any time."""
        if self._progress is not None:
            self._progress.stop()
        self._progress, self._task, self._shown, self._percent = None, None, "", -1.0

    def _move(self, sample: ProgressSample, words: str) -> None:
        if self._progress is None:
            columns = (TextColumn("          "), BarColumn(40), TextColumn("{task.description}"))
            self._progress = Progress(*columns, console=self._console, transient=True)
            self._task = self._progress.add_task(words, total=100)
            self._progress.start()
        if self._task is not None:
            self._progress.update(self._task, completed=sample.percent, description=words)
