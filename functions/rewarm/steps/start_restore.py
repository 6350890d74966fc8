"""POST /restores: everything that can be refused is refused at once; then the state machine takes over."""

from __future__ import annotations

from datetime import datetime

from rewarm.domain.errors import RestoreError
from rewarm.domain.units import iso
from rewarm.ports import Executions, Instances, JsonObject, RestoreTable, SnapshotCatalog, VolumeStore
from rewarm.steps.parse_request import resolve_request
from rewarm.steps.records import Status
from rewarm.steps.selection import assign_volumes


def start_restore(  # noqa: PLR0913 - one keyword a port
    body: JsonObject,
    *,
    restore_id: str,
    now: datetime,
    snapshots: SnapshotCatalog,
    instances: Instances,
    volumes: VolumeStore,
    table: RestoreTable,
    executions: Executions,
) -> JsonObject:
    """The same restore id starts one restore only. Raises every error that names a field of the request."""
    request = resolve_request(body, table=table)
    assign_volumes(request, restore_id=restore_id, snapshots=snapshots, instances=instances, volumes=volumes)
    record = {
        "status": Status.ACCEPTED.value,
        "startedAt": iso(now),
        "request": request.to_json(),
        "trigger": {"kind": "api"},
    }
    table.put_new(restore_id, record)
    try:
        executions.start(restore_id, {"request": request.to_json(), "trigger": {"kind": "api"}})
    except RestoreError as error:
        table.update(restore_id, {"status": Status.FAILED.value, "failure": {"cause": str(error)}})
        raise
    return {"restoreId": restore_id, "status": Status.ACCEPTED.value, "links": links(restore_id)}


def links(restore_id: str) -> JsonObject:
    """Where to look next, and how to stop it."""
    return {"self": f"/restores/{restore_id}", "cancel": f"/restores/{restore_id}"}
