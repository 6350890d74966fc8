"""Serves the state Keep Result."""

from __future__ import annotations

from rewarm.contracts import KeepResultEvent, KeepResultResult
from rewarm.handlers import wiring
from rewarm.observability import step_handler
from rewarm.steps.report.keep_result import keep_result

_ARTIFACTS = wiring.artifacts()


@step_handler(KeepResultEvent)
def lambda_handler(event: KeepResultEvent) -> KeepResultResult:
    """Stores the result of a volume and returns what the restore needs of it."""
    return keep_result(event, artifacts=_ARTIFACTS)
