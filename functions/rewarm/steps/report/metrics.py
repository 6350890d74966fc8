"""The metrics that a restore's report gives the dashboard and the alarms."""

from __future__ import annotations

from collections.abc import Iterator

from rewarm.contracts.events import ReportEvent
from rewarm.contracts.results import ReportResult
from rewarm.steps.registration import Metric


def finished(event: ReportEvent, result: ReportResult) -> Iterator[Metric]:
    """Counts a finished restore, ready or failed, by the report of all its volumes."""
    if event.volume_index is None and event.confirmations is None:
        yield Metric("RestoresFinished", dimensions={"verdict": result.verdict})
        yield from figures(event, result)


def figures(event: ReportEvent, result: ReportResult) -> Iterator[Metric]:
    """Times and costs; a late report has only these, because `Announce Unreported` counted the restore.

    Zeros are written, too, so that alarms can return to OK.
    """
    seconds = (event.now - event.started_at).total_seconds()
    yield Metric("RestoreSeconds", seconds, "Seconds", {"verdict": result.verdict})
    above = result.cost_usd - result.planned_cost_usd
    yield Metric("PlannedCostUsd", float(result.planned_cost_usd), "None")
    yield Metric("CostUsd", float(result.cost_usd), "None")
    yield Metric("CostAbovePlanUsd", max(0.0, float(above)), "None")
    if result.drill is not None:
        yield Metric("DrillsNotPassed", 0 if result.drill.outcome == "passed" else 1)
    if event.deadline_at is not None and result.deadline_met is not None:
        allowed_seconds = (event.deadline_at - event.started_at).total_seconds()
        yield from _deadline(result, allowed_seconds)


def _deadline(result: ReportResult, allowed_seconds: float) -> Iterator[Metric]:
    """By the slowest volume, as the report judges."""
    yield Metric("DeadlineUsedPercent", 100 * result.slowest_seconds / max(1.0, allowed_seconds), "Percent")
    yield Metric("DeadlinesMissed", 0 if result.deadline_met else 1)
