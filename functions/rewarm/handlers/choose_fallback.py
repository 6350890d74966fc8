"""Serves the state Choose Fallback."""

from __future__ import annotations

from rewarm.contracts import ChooseFallbackEvent, ChooseFallbackResult
from rewarm.handlers import wiring
from rewarm.observability import step_handler
from rewarm.steps.plan.choose_fallback import choose_fallback

_TABLE = wiring.table()
_RATE_REQUESTS = wiring.rate_requests()


@step_handler(ChooseFallbackEvent)
def lambda_handler(event: ChooseFallbackEvent) -> ChooseFallbackResult:
    """Which plan takes over."""
    return choose_fallback(event, table=_TABLE, rate_requests=_RATE_REQUESTS)
