"""Serves the state Change Performance."""

from __future__ import annotations

from rewarm.contracts import ChangePerformanceEvent, ChangePerformanceResult
from rewarm.handlers import wiring
from rewarm.observability import step_handler
from rewarm.steps.performance.change_performance import change_performance

_MODIFICATIONS = wiring.modifications()
_LOG = wiring.performance_log()
_TABLE = wiring.table()


@step_handler(ChangePerformanceEvent)
def lambda_handler(event: ChangePerformanceEvent) -> ChangePerformanceResult:
    """The modification that EC2 has taken."""
    return change_performance(event, modifications=_MODIFICATIONS, log=_LOG, table=_TABLE)
