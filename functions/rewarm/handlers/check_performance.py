"""Serves the state Check Performance."""

from __future__ import annotations

from rewarm.contracts import CheckPerformanceEvent, CheckPerformanceResult
from rewarm.handlers import wiring
from rewarm.observability import step_handler
from rewarm.steps.performance.check_performance import CheckPerformancePorts, check_performance

_PORTS = CheckPerformancePorts(
    modifications=wiring.modifications(),
    metrics=wiring.metrics(),
    trail=wiring.trail(),
    table=wiring.table(),
)


@step_handler(CheckPerformanceEvent)
def lambda_handler(event: CheckPerformanceEvent) -> CheckPerformanceResult:
    """Whether the change holds."""
    return check_performance(event, _PORTS)
