"""Serves the state Load Plan."""

from __future__ import annotations

from rewarm.contracts import LoadPlanEvent, LoadPlanResult
from rewarm.handlers import wiring
from rewarm.observability import step_handler
from rewarm.steps.plan.load_plan import load_plan

_ARTIFACTS = wiring.artifacts()


@step_handler(LoadPlanEvent)
def lambda_handler(event: LoadPlanEvent) -> LoadPlanResult:
    """The plan of the volume."""
    return load_plan(event, artifacts=_ARTIFACTS)
