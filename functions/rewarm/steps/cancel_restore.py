"""DELETE /restores/{id}: asks the restore to stop; the next state that looks does so and cleans up."""

from __future__ import annotations

from rewarm.domain.errors import RestoreNotFoundError
from rewarm.ports import JsonObject, RestoreTable
from rewarm.steps.records import FINISHED


def cancel_restore(restore_id: str, *, table: RestoreTable) -> JsonObject:
    """A restore that has ended stays as it is. Raises RestoreNotFoundError."""
    record = table.get(restore_id)
    if record is None:
        raise RestoreNotFoundError(f"there is no restore {restore_id}")
    if record.get("status") in FINISHED:
        return {"restoreId": restore_id, "status": record["status"], "cancelRequested": False}
    table.request_cancel(restore_id)
    return {"restoreId": restore_id, "status": record.get("status"), "cancelRequested": True}
