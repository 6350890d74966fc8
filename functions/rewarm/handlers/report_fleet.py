"""Serves the state Report Fleet."""

from __future__ import annotations

from rewarm.contracts import ReportFleetEvent, ReportFleetResult
from rewarm.handlers import wiring
from rewarm.observability import count, step_handler
from rewarm.restore_page import drawn
from rewarm.steps.fleet.report_fleet import ReportFleetPorts, report_fleet

_PORTS = ReportFleetPorts(artifacts=wiring.artifacts(), table=wiring.table(), draw=drawn)


@step_handler(ReportFleetEvent)
def lambda_handler(event: ReportFleetEvent) -> ReportFleetResult:
    """The account of a fleet that is over."""
    result = report_fleet(event, _PORTS)
    count("FleetsFinished", verdict=result.verdict)
    return result
