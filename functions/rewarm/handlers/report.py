"""Serves the states that begin with Report."""

from __future__ import annotations

from rewarm.contracts import ReportEvent, ReportResult
from rewarm.handlers import wiring
from rewarm.observability import step_handler
from rewarm.restore_metrics import restore_reported
from rewarm.restore_page import drawn as _drawn
from rewarm.steps.report.report import report

_ARTIFACTS = wiring.artifacts()
_TABLE = wiring.table()
_HISTORY = wiring.history()


@step_handler(ReportEvent)
def lambda_handler(event: ReportEvent) -> ReportResult:
    """The account of the whole restore, or of one volume."""
    result = report(event, artifacts=_ARTIFACTS, table=_TABLE, history=_HISTORY, draw=_drawn)
    if event.volume_index is None:
        restore_reported(event, result)
    return result
