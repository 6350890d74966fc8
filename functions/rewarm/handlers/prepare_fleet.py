"""Serves the state Prepare Fleet."""

from __future__ import annotations

from rewarm.contracts import PrepareFleetEvent, PrepareFleetResult
from rewarm.handlers import wiring
from rewarm.observability import step_handler
from rewarm.steps.fleet.plan_fleet import PlanFleetPorts
from rewarm.steps.fleet.prepare_fleet import PrepareFleetPorts, prepare_fleet

_PORTS = PrepareFleetPorts(
    planning=PlanFleetPorts(
        snapshots=wiring.snapshots(),
        instances=wiring.instances(),
        volumes=wiring.volumes(),
        region=wiring.settings.region,
        fast_restores=wiring.fast_restores(),
        prices=wiring.prices(),
        quotas=wiring.quotas(),
        history=wiring.history(),
        artifacts=wiring.artifacts(),
        pace=wiring.pace(),
        most_in_stack=wiring.settings.limits.in_stack,
    ),
    artifacts=wiring.artifacts(),
    table=wiring.table(),
    bucket=wiring.settings.artifacts_bucket,
)


@step_handler(PrepareFleetEvent)
def lambda_handler(event: PrepareFleetEvent) -> PrepareFleetResult:
    """Writes the restores of a run, and says how the Distributed Map is to run them."""
    return prepare_fleet(event, _PORTS)
