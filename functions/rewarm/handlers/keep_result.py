"""Serves the state Keep Result."""

from __future__ import annotations

from rewarm.contracts import KeepResultEvent, KeepResultResult
from rewarm.handlers import wiring
from rewarm.observability import step_handler
from rewarm.steps.report.keep_result import keep_result

_ARTIFACTS = wiring.artifacts()


@step_handler(KeepResultEvent)
def lambda_handler(event: KeepResultEvent) -> KeepResultResult:
    """What the restore goes on with."""
    return keep_result(event, artifacts=_ARTIFACTS)
