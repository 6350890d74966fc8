"""Serves the state Poll Initialization."""

from __future__ import annotations

from rewarm.contracts import PollInitializationEvent, PollInitializationResult
from rewarm.handlers import wiring
from rewarm.observability import polled, step_handler
from rewarm.steps.warm.poll_initialization import PollInitializationPorts, poll_initialization

_PORTS = PollInitializationPorts(
    volumes=wiring.volumes(),
    commands=wiring.commands(),
    instances=wiring.instances(),
    metrics=wiring.metrics(),
    artifacts=wiring.artifacts(),
    table=wiring.table(),
)


@step_handler(PollInitializationEvent)
def lambda_handler(event: PollInitializationEvent) -> PollInitializationResult:
    """How far the initialization is."""
    result = poll_initialization(event, _PORTS)
    polled(event, result)
    return result
