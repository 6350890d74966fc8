"""Serves the state Clean Up."""

from __future__ import annotations

from rewarm.contracts import CleanUpEvent, CleanUpResult
from rewarm.handlers import wiring
from rewarm.observability import step_handler
from rewarm.steps.clean_up.clean_up import CleanUpPorts, clean_up

_PORTS = CleanUpPorts(
    volumes=wiring.volumes(),
    modifications=wiring.modifications(),
    commands=wiring.commands(),
    fast_restores=wiring.fast_restores(),
    table=wiring.table(),
    stack_name=wiring.settings.stack_name,
    put_back=wiring.put_back(),
)


@step_handler(CleanUpEvent)
def lambda_handler(event: CleanUpEvent) -> CleanUpResult:
    """What was removed and what stays."""
    return clean_up(event, _PORTS)
