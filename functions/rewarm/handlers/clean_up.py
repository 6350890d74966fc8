"""Serves the state Clean Up."""

from __future__ import annotations

from rewarm.contracts import CleanUpEvent, CleanUpResult
from rewarm.handlers import wiring
from rewarm.observability import step_handler
from rewarm.steps.clean_up.clean_up import clean_up

_PORTS = wiring.clean_up()


@step_handler(CleanUpEvent)
def lambda_handler(event: CleanUpEvent) -> CleanUpResult:
    """What was removed and what stays."""
    return clean_up(event, _PORTS)
