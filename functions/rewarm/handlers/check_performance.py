"""Serves the state Check Performance."""

from __future__ import annotations

from rewarm.contracts import CheckPerformanceEvent, CheckPerformanceResult
from rewarm.handlers import wiring
from rewarm.observability import step_handler
from rewarm.steps.performance.check_performance import check_performance

_MODIFICATIONS = wiring.modifications()
_ACTIVITY = wiring.metrics()
_TRAIL = wiring.trail()
_TABLE = wiring.table()


@step_handler(CheckPerformanceEvent)
def lambda_handler(event: CheckPerformanceEvent) -> CheckPerformanceResult:
    """Whether the change holds."""
    return check_performance(
        event, modifications=_MODIFICATIONS, activity=_ACTIVITY, trail=_TRAIL, table=_TABLE
    )
