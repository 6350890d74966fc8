"""Serves the state Parse Request."""

from __future__ import annotations

from rewarm.contracts import ParseRequestEvent, ParseRequestResult
from rewarm.handlers import wiring
from rewarm.observability import step_handler
from rewarm.steps.parse_request import parse_request

_TABLE = wiring.table()


@step_handler(ParseRequestEvent)
def lambda_handler(event: ParseRequestEvent) -> ParseRequestResult:
    """One complete request, or the reason why there is none."""
    return parse_request(event, table=_TABLE)
