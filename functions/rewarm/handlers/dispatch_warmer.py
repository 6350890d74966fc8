"""Serves the state Dispatch Warmer."""

from __future__ import annotations

from rewarm.contracts import DispatchWarmerEvent, DispatchWarmerResult
from rewarm.handlers import wiring
from rewarm.observability import step_handler
from rewarm.steps.warm.dispatch_warmer import dispatch_warmer

_COMMANDS = wiring.sending_commands()
_INSTANCES = wiring.instances()
_ARTIFACTS = wiring.artifacts()
_METRICS = wiring.metrics()
_TABLE = wiring.table()


@step_handler(DispatchWarmerEvent)
def lambda_handler(event: DispatchWarmerEvent) -> DispatchWarmerResult:
    """The command that warms the volume up."""
    return dispatch_warmer(
        event, commands=_COMMANDS, instances=_INSTANCES, artifacts=_ARTIFACTS, metrics=_METRICS, table=_TABLE
    )
