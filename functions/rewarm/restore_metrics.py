"""The metrics of a restore, which the dashboard and the alarms of template.yaml read."""

from __future__ import annotations

from rewarm.contracts import (
    AnnounceEvent,
    PollInitializationEvent,
    PollInitializationResult,
    ReportEvent,
    ReportResult,
)
from rewarm.domain.words.failures import explain
from rewarm.observability import count

_FAILURES = {"failed": "RestoresFailed", "fallback": "FallBacks"}


def restore_reported(event: ReportEvent, result: ReportResult) -> None:
    """Counts a finished restore, ready or failed. Also writes zeros, so that alarms can return to OK."""
    count("RestoresFinished", verdict=result.verdict)
    figures_reported(event, result)


def figures_reported(event: ReportEvent, result: ReportResult) -> None:
    """Writes times and costs; a late report only these, for `Announce Unreported` counted the restore."""
    seconds = (event.now - event.started_at).total_seconds()
    count("RestoreSeconds", value=seconds, unit="Seconds", verdict=result.verdict)
    above = result.cost_usd - result.planned_cost_usd
    count("PlannedCostUsd", value=float(result.planned_cost_usd), unit="None")
    count("CostUsd", value=float(result.cost_usd), unit="None")
    count("CostAbovePlanUsd", value=max(0.0, float(above)), unit="None")
    if event.deadline_at is not None and result.deadline_met is not None:
        _deadline(result, allowed_seconds=(event.deadline_at - event.started_at).total_seconds())


def _deadline(result: ReportResult, allowed_seconds: float) -> None:
    """By the slowest volume, as the report judges."""
    count(
        "DeadlineUsedPercent", value=100 * result.slowest_seconds / max(1.0, allowed_seconds), unit="Percent"
    )
    count("DeadlinesMissed", value=0 if result.deadline_met else 1)


def announced(event: AnnounceEvent) -> None:
    """A failure has one reason wherever it happened, also before there was anything to report.

    A restore whose report could not be written has finished all the same.
    """
    if event.event == "unreported":
        count("RestoresFinished", verdict="ready")
    failure = event.details.get("failure")
    metric = _FAILURES.get(event.event)
    if metric is not None and isinstance(failure, dict):
        told = explain(str(failure.get("error") or ""), str(failure.get("cause") or ""))
        count(metric, reason=told.error)


def polled(event: PollInitializationEvent, result: PollInitializationResult) -> None:
    """The agent's rate while it reads; what follows its end is waiting for CloudWatch."""
    before = event.previous.agent_finished_at if event.previous else None
    if event.dispatch is not None and before is None and result.mib_per_second is not None:
        count("AgentMibPerSecond", value=result.mib_per_second, unit="None")
