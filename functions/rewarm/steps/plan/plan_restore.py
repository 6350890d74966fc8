"""POST /plans: every strategy with its time and price; nothing is created and nothing is written."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from rewarm.contracts.plans import PlanResult
from rewarm.ports import JsonObject
from rewarm.ports.artifacts import Artifacts
from rewarm.ports.restores import RestoreTable
from rewarm.steps.plan.plan_answer import plan_answer
from rewarm.steps.plan.planning import PlanningPorts
from rewarm.steps.request.runbooks import resolve_request
from rewarm.steps.select.selection import SelectionPorts, assign_volumes, with_agent


@dataclass(frozen=True, kw_only=True)
class PlanRestorePorts(SelectionPorts, PlanningPorts):
    """The ports that plan_restore needs."""

    artifacts: Artifacts
    table: RestoreTable


def plan_restore(
    body: JsonObject,
    *,
    restore_id: str,
    now: datetime,
    ports: PlanRestorePorts,
) -> PlanResult:
    """The plans by the snapshot's own figures: listing its blocks could outlast the caller's patience.

    Raises every error that names a field of the request, and NoStrategyFitsError.
    """
    request = resolve_request(body, table=ports.table)
    assigned = assign_volumes(request, restore_id=restore_id, ports=ports)
    return plan_answer(
        request,
        [with_agent(assignment, ports.artifacts) for assignment in assigned],
        ports,
        now=now,
    )
