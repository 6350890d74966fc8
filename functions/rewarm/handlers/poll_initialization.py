"""Serves the state Poll Initialization."""

from __future__ import annotations

from rewarm.contracts import PollInitializationEvent, PollInitializationResult
from rewarm.handlers import wiring
from rewarm.observability import step_handler
from rewarm.restore_metrics import polled
from rewarm.steps.warm.poll_initialization import poll_initialization

_VOLUMES = wiring.volumes()
_COMMANDS = wiring.commands()
_METRICS = wiring.metrics()
_ARTIFACTS = wiring.artifacts()
_TABLE = wiring.table()


@step_handler(PollInitializationEvent)
def lambda_handler(event: PollInitializationEvent) -> PollInitializationResult:
    """How far the initialization is."""
    result = poll_initialization(
        event, volumes=_VOLUMES, commands=_COMMANDS, metrics=_METRICS, artifacts=_ARTIFACTS, table=_TABLE
    )
    polled(event, result)
    return result
