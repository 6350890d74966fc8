"""Serves the states Replace Check, Replace Detachment and Replace Root."""

from __future__ import annotations

from rewarm.contracts import ReplaceEvent, ReplaceResult
from rewarm.handlers import wiring
from rewarm.observability import step_handler
from rewarm.steps.replace.replace import ReplacePorts, replace

_PORTS = ReplacePorts(
    volumes=wiring.volumes(),
    look=wiring.device_look(),
    table=wiring.table(),
    stack_name=wiring.settings.stack_name,
    roots=wiring.root_volumes(),
)


@step_handler(ReplaceEvent)
def lambda_handler(event: ReplaceEvent) -> ReplaceResult:
    """Returns whether the volume can be replaced, or has left. Raises the errors of the step."""
    return replace(event, _PORTS)
