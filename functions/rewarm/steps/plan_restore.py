"""POST /plans: every strategy with its time and price; nothing is created and nothing is written."""

from __future__ import annotations

from datetime import datetime, timedelta

from rewarm.contracts import parse_restore_request
from rewarm.ports import (
    Artifacts,
    FastSnapshotRestores,
    History,
    Instances,
    JsonObject,
    Prices,
    Quotas,
    SnapshotCatalog,
    VolumeStore,
)
from rewarm.steps.planning import FactSources, plan_volumes
from rewarm.steps.select_snapshot import with_agent
from rewarm.steps.selection import assign_volumes


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
) -> JsonObject:
    """The plans by the snapshot's own figures: listing its blocks could outlast the caller's patience.

    Raises every error that names a field of the request, and NoStrategyFitsError.
    """
    request = parse_restore_request(body)
    assigned = assign_volumes(
        request, restore_id=restore_id, snapshots=snapshots, instances=instances, volumes=volumes
    )
    minutes = request.objective.ready_within_minutes
    result = plan_volumes(
        request,
        [with_agent(assignment, artifacts) for assignment in assigned],
        FactSources(fast_restores, instances, prices, quotas, history),
        deadline_at=None if minutes is None else now + timedelta(minutes=minutes),
        now=now,
    )
    return {"request": request.to_json(), **result.to_json()}
