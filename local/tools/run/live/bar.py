"""The progress bar: one that moves on a terminal, a line now and then anywhere else."""

from __future__ import annotations

from time import monotonic

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn

from local.tools.run.recording import ProgressSample
from local.tools.run.wording import estimate_text
from rewarm.domain.units import size_text

PLAIN_SECONDS = 2.0
PLAIN_CELLS = 24


class ProgressBar:
    """Bytes done, rate and time to go."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._progress: Progress | None = None
        self._task: TaskID | None = None
        self._shown_at = 0.0
        self._shown = ""

    def show(self, sample: ProgressSample) -> None:
        """Show a sample, unless it says nothing new."""
        words = _words(sample)
        if words == self._shown:
            return
        if self._console.is_terminal:
            self._move(sample, words)
        elif monotonic() - self._shown_at >= PLAIN_SECONDS or sample.percent >= 100:
            filled = round(PLAIN_CELLS * sample.percent / 100)
            cells = "█" * filled + "░" * (PLAIN_CELLS - filled)
            self._console.print(f"          {cells} {words}")
            self._shown_at = monotonic()
        else:
            return
        self._shown = words

    def pause(self) -> None:
        """Make room for something that stays on the screen."""
        if self._progress is not None:
            self._progress.refresh()

    def stop(self) -> None:
        """Take the bar away. Safe to call at any time."""
        if self._progress is not None:
            self._progress.stop()
        self._progress, self._task, self._shown = None, None, ""

    def _move(self, sample: ProgressSample, words: str) -> None:
        if self._progress is None:
            columns = (TextColumn("          "), BarColumn(40), TextColumn("{task.description}"))
            self._progress = Progress(*columns, console=self._console, transient=True)
            self._task = self._progress.add_task(words, total=100)
            self._progress.start()
        if self._task is not None:
            self._progress.update(self._task, completed=sample.percent, description=words)


def _words(sample: ProgressSample) -> str:
    parts = [f"{sample.percent:.0f} %"]
    if sample.bytes_total:
        parts.append(f"{size_text(sample.bytes_done)} of {size_text(sample.bytes_total)}")
    if sample.mib_per_second is not None:
        parts.append(f"{sample.mib_per_second:.1f} MiB/s")
    if sample.eta_seconds is not None and sample.percent < 100:
        parts.append(f"ETA {estimate_text(sample.eta_seconds)}")
    return "  ".join(parts)
