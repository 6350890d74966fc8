"""Shows each restore as it ends, and the verdict."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from rich.console import Console
from rich.table import Table

from local.tools.measurements.series import Outcome
from local.tools.measurements.verdict import (
    HISTORY_RESTORES,
    LEAST_SHARE_WITHIN_P90,
    MOST_MEDIAN_ERROR_PERCENT,
    Verdict,
)
from rewarm.domain.units import count_text, elapsed_text

WIDTH = 130


class View:
    """Prints lines while the measurement runs, and a table at the end."""

    def __init__(self, stream: TextIO) -> None:
        self._console = Console(file=stream, width=WIDTH, highlight=False)

    def say(self, text: str) -> None:
        """One line."""
        self._console.print(text)

    def outcome(self, one: Outcome, count: int) -> None:
        """What just ended, part by part."""
        self.say(
            f"{one.case.number:>3} of {count}  {_name(one)}, {one.case.written_gib:,} of "
            f"{one.case.size_gib:,} GiB: {elapsed_text(one.actual_seconds)}, estimated "
            f"{elapsed_text(one.p50_seconds)} ({one.error_percent:+.0f} %), {one.real_seconds:.0f} s in fact"
        )
        self.say(f"      [dim]{'; '.join(_phase(phase) for phase in one.phases)}[/dim]")

    def table(self, outcomes: Sequence[Outcome]) -> None:
        """All of them."""
        table = Table(title="Estimate against actual; error of P50", title_justify="left")
        for heading in ("#", "strategy"):
            table.add_column(heading, no_wrap=True)
        for heading in ("GiB", "written", "P50", "P90", "actual", "error", "in P90", "basis"):
            table.add_column(heading, justify="right", no_wrap=True)
        for one in outcomes:
            table.add_row(*_cells(one))
        self._console.print(table)

    def verdict(self, verdict: Verdict) -> None:
        """The two figures, and what is asked of them."""
        error = verdict.median_error_percent
        self.say(
            f"Within P90: {verdict.share_within_p90_percent:.0f} % (at least "
            f"{LEAST_SHARE_WITHIN_P90:.0f} %). Median error of P50 after {HISTORY_RESTORES} restores: "
            f"{'too few restores to say' if error is None else f'{error:.1f} %'} (below "
            f"{MOST_MEDIAN_ERROR_PERCENT:.0f} %; of the first {HISTORY_RESTORES}: "
            f"{verdict.median_error_before_percent:.1f} %)."
        )
        self.say("The estimates hold." if verdict.holds else "The estimates do not hold.")


def _name(one: Outcome) -> str:
    return f"{one.case.strategy}{' (fastest)' if one.case.is_hurried else ''}"


def _cells(one: Outcome) -> list[str]:
    return [
        str(one.case.number),
        _name(one),
        f"{one.case.size_gib:,}",
        f"{one.case.written_gib:,}",
        elapsed_text(one.p50_seconds),
        elapsed_text(one.p90_seconds),
        elapsed_text(one.actual_seconds),
        f"{one.error_percent:+.1f} %",
        "yes" if one.is_within_p90 else "no",
        count_text(one.basis_restores, "restore") if one.basis_restores else "priors",
    ]


def _phase(phase: dict[str, object]) -> str:
    estimated, actual = phase["estimatedP50Seconds"], phase["actualSeconds"]
    told = "-" if actual is None else f"{actual:.0f} s"
    return f"{phase['phase']} {told}" + ("" if estimated is None else f" (est. {estimated:.0f} s)")
