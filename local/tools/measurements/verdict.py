"""Do the estimates hold? Two figures, with what is asked of each."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from local.tools.measurements.series import Outcome

LEAST_SHARE_WITHIN_P90 = 85.0
MOST_MEDIAN_ERROR_PERCENT = 10.0
HISTORY_RESTORES = 10
"""The error of P50 counts once so many restores have taught what is usual here."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """None where there were too few restores to say."""

    share_within_p90_percent: float
    median_error_percent: float | None
    median_error_before_percent: float
    """Of the first ones, for comparison: without much history."""

    @property
    def holds(self) -> bool:
        """Both figures are as good as asked for."""
        error = self.median_error_percent
        return (
            self.share_within_p90_percent >= LEAST_SHARE_WITHIN_P90
            and error is not None
            and error < MOST_MEDIAN_ERROR_PERCENT
        )


def judge(outcomes: Sequence[Outcome]) -> Verdict:
    """Of at least one."""
    within = sum(outcome.is_within_p90 for outcome in outcomes)
    early, late = outcomes[:HISTORY_RESTORES], outcomes[HISTORY_RESTORES:]
    return Verdict(
        share_within_p90_percent=100 * within / len(outcomes),
        median_error_percent=_median_error(late) if late else None,
        median_error_before_percent=_median_error(early),
    )


def _median_error(outcomes: Sequence[Outcome]) -> float:
    return statistics.median(abs(outcome.error_percent) for outcome in outcomes)
