"""Serves the state Change Performance."""

from __future__ import annotations

from rewarm.contracts import ChangePerformanceEvent, ChangePerformanceResult
from rewarm.handlers import wiring
from rewarm.observability import step_handler
from rewarm.steps.performance.change_performance import ChangePerformancePorts, change_performance

_PORTS = ChangePerformancePorts(
    modifications=wiring.modifications(),
    log=wiring.performance_log(),
    table=wiring.table(),
)


@step_handler(ChangePerformanceEvent)
def lambda_handler(event: ChangePerformanceEvent) -> ChangePerformanceResult:
    """The modification that EC2 has taken."""
    return change_performance(event, _PORTS)
