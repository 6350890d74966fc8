"""Serves the state Parse Request."""

from __future__ import annotations

from rewarm.contracts import ParseRequestEvent, ParseRequestResult
from rewarm.handlers import wiring
from rewarm.observability import count, logger, step_handler
from rewarm.steps.request.parse_request import ParseRequestPorts, parse_request

_PORTS = ParseRequestPorts(
    keeper=wiring.keeper(),
    pace=wiring.pace(),
    cooldown=wiring.settings.alarm_cooldown,
)


@step_handler(ParseRequestEvent)
def lambda_handler(event: ParseRequestEvent) -> ParseRequestResult:
    """One complete request, or the restore that the event belongs to, or the reason why there is neither."""
    result = parse_request(event, _PORTS)
    if result.outcome != "accepted":
        logger.info("starts nothing", outcome=result.outcome, duplicate_of=result.duplicate_of)
        count("StartsIgnored", outcome=result.outcome)
    return result
