"""Serves the state Dispatch Warmer."""

from __future__ import annotations

from rewarm.contracts import DispatchWarmerEvent, DispatchWarmerResult
from rewarm.handlers import wiring
from rewarm.observability import step_handler
from rewarm.steps.warm.dispatch_warmer import DispatchWarmerPorts, dispatch_warmer

_PORTS = DispatchWarmerPorts(
    commands=wiring.sending_commands(),
    instances=wiring.instances(),
    artifacts=wiring.artifacts(),
    metrics=wiring.metrics(),
    table=wiring.table(),
)


@step_handler(DispatchWarmerEvent)
def lambda_handler(event: DispatchWarmerEvent) -> DispatchWarmerResult:
    """The command that warms the volume up."""
    return dispatch_warmer(event, _PORTS)
