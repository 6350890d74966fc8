"""State `Load Plan`: the plan of one volume, for the execution that carries it out."""

from __future__ import annotations

from pydantic import Field

from rewarm.contracts.base import Contract, StepEvent, Usd
from rewarm.contracts.values import Plan, VolumeAssignment
from rewarm.ports.artifacts import Artifacts
from rewarm.steps.record.payloads import read_plan
from rewarm.steps.registration import state
from rewarm.steps.select.turns import seconds_until


class LoadPlanEvent(StepEvent):
    """Asks for the plan of one volume."""

    index: int = Field(ge=0)


class LoadPlanResult(Contract):
    """What is to be done for the volume, and what instead if that fails."""

    volume: VolumeAssignment
    plan: Plan
    fallbacks: list[Plan]
    budget_usd: Usd | None = None
    wait_seconds: int = Field(ge=0, description="Until it is this volume's turn.")


@state("Load Plan")
def load_plan(event: LoadPlanEvent, *, artifacts: Artifacts) -> LoadPlanResult:
    """What Choose Strategy has kept, without what it did not choose."""
    plan = read_plan(event.restore_id, event.index, artifacts)
    return LoadPlanResult(
        volume=plan.volume,
        plan=plan.plan,
        fallbacks=plan.fallbacks,
        budget_usd=plan.budget_usd,
        wait_seconds=seconds_until(plan.starts_at, event.now),
    )
