"""Serves the state Choose Strategy."""

from __future__ import annotations

from rewarm.contracts import ChooseStrategyEvent, ChooseStrategyResult
from rewarm.handlers import wiring
from rewarm.observability import step_handler
from rewarm.steps.plan.choose_strategy import choose_strategy

_FAST_RESTORES = wiring.fast_restores()
_INSTANCES = wiring.instances()
_PRICES = wiring.prices()
_QUOTAS = wiring.quotas()
_HISTORY = wiring.history()
_ARTIFACTS = wiring.artifacts()
_PACE = wiring.pace()


@step_handler(ChooseStrategyEvent)
def lambda_handler(event: ChooseStrategyEvent) -> ChooseStrategyResult:
    """A plan for each volume."""
    return choose_strategy(
        event,
        fast_restores=_FAST_RESTORES,
        instances=_INSTANCES,
        prices=_PRICES,
        quotas=_QUOTAS,
        history=_HISTORY,
        artifacts=_ARTIFACTS,
        pace=_PACE,
    )
