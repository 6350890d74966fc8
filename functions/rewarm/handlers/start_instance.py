"""Serves the states Start Instance and Start Instance Check."""

from __future__ import annotations

from rewarm.contracts import StartInstanceEvent, StartInstanceResult
from rewarm.handlers import wiring
from rewarm.observability import step_handler
from rewarm.steps.volume.start_instance import StartInstancePorts, start_instance

_PORTS = StartInstancePorts(
    instances=wiring.instances(),
    states=wiring.instance_states(),
    table=wiring.table(),
    volumes=wiring.volumes(),
    stack_name=wiring.settings.stack_name,
)


@step_handler(StartInstanceEvent)
def lambda_handler(event: StartInstanceEvent) -> StartInstanceResult:
    """Starts the instance and returns how far it is. Raises the errors of the step."""
    return start_instance(event, _PORTS)
