"""Serves EventBridge's rule for events of volumes, fast snapshot restores and commands."""

from __future__ import annotations

from aws_lambda_powertools.utilities.typing import LambdaContext

from rewarm.observability import logger
from rewarm.ports import JsonObject
from rewarm.runtime import filled
from rewarm.steps.warm.wake_up import WakeUpPorts, wake_up

_PORTS = filled(WakeUpPorts)


@logger.inject_lambda_context(clear_state=True)
def lambda_handler(event: JsonObject, _context: LambdaContext) -> JsonObject:
    """Wakes the states that wait for the event."""
    woken = wake_up(event, _PORTS)
    logger.info("an event was heard", detail_type=event.get("detail-type"), woken=woken)
    return {"woken": woken}
