"""Serves the state Choose Strategy."""

from __future__ import annotations

from rewarm.contracts import ChooseStrategyEvent, ChooseStrategyResult
from rewarm.handlers import wiring
from rewarm.observability import step_handler
from rewarm.steps.plan.choose_strategy import ChooseStrategyPorts, choose_strategy

_PORTS = ChooseStrategyPorts(
    fast_restores=wiring.fast_restores(),
    instances=wiring.instances(),
    prices=wiring.prices(),
    quotas=wiring.quotas(),
    history=wiring.history(),
    artifacts=wiring.artifacts(),
    snapshots=wiring.snapshots(),
    volumes=wiring.volumes(),
    blocks=wiring.snapshot_blocks(),
    metrics=wiring.metrics(),
    pace=wiring.pace(),
)


@step_handler(ChooseStrategyEvent)
def lambda_handler(event: ChooseStrategyEvent) -> ChooseStrategyResult:
    """A plan for each volume."""
    return choose_strategy(event, _PORTS)
