"""Serves the states that begin with Report."""

from __future__ import annotations

from rewarm.contracts import ReportEvent, ReportResult
from rewarm.handlers import wiring
from rewarm.observability import restore_reported, step_handler
from rewarm.restore_page import drawn
from rewarm.steps.report.report import ReportPorts, report

_PORTS = ReportPorts(
    artifacts=wiring.artifacts(),
    table=wiring.table(),
    history=wiring.history(),
    draw=drawn,
)


@step_handler(ReportEvent)
def lambda_handler(event: ReportEvent) -> ReportResult:
    """The account of the whole restore, or of one volume."""
    result = report(event, _PORTS)
    if event.volume_index is None and event.confirmations is None:
        restore_reported(event, result)
    return result
