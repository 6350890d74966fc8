"""POST /plans: every strategy with its time and price; nothing is created and nothing is written."""

from __future__ import annotations

from datetime import datetime

from rewarm.contracts.plans import PlanResult
from rewarm.ports import (
    Artifacts,
    FastSnapshotRestores,
    History,
    Instances,
    JsonObject,
    Prices,
    Quotas,
    RestoreTable,
    SnapshotCatalog,
    VolumeStore,
)
from rewarm.steps.plan.plan_answer import plan_answer
from rewarm.steps.plan.planning import FactSources
from rewarm.steps.request.runbooks import resolve_request
from rewarm.steps.select.selection import assign_volumes, with_agent


def plan_restore(  # noqa: PLR0913 - one keyword a port
    body: JsonObject,
    *,
    restore_id: str,
    now: datetime,
    snapshots: SnapshotCatalog,
    instances: Instances,
    volumes: VolumeStore,
    artifacts: Artifacts,
    fast_restores: FastSnapshotRestores,
    prices: Prices,
    quotas: Quotas,
    history: History,
    table: RestoreTable,
) -> PlanResult:
    """The plans by the snapshot's own figures: listing its blocks could outlast the caller's patience.

    Raises every error that names a field of the request, and NoStrategyFitsError.
    """
    request = resolve_request(body, table=table)
    assigned = assign_volumes(
        request, restore_id=restore_id, snapshots=snapshots, instances=instances, volumes=volumes
    )
    return plan_answer(
        request,
        [with_agent(assignment, artifacts) for assignment in assigned],
        FactSources(fast_restores, instances, prices, quotas, history),
        now=now,
    )
