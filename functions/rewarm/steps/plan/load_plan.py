"""State `Load Plan`: the plan of one volume, for the execution that carries it out."""

from __future__ import annotations

from rewarm.contracts import LoadPlanEvent, LoadPlanResult
from rewarm.ports.artifacts import Artifacts
from rewarm.steps.record.payloads import read_plan
from rewarm.steps.registration import state
from rewarm.steps.select.admission import seconds_until


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
