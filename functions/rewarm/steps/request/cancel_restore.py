"""DELETE /restores/{id}: asks the restore to stop; whoever waits is woken, and the next state cleans up."""

from __future__ import annotations

from dataclasses import dataclass

from rewarm.domain.errors import RestoreEndedError, RestoreNotFoundError
from rewarm.domain.ready.waits import cancel_signal
from rewarm.ports import JsonObject
from rewarm.ports.restores import RestoreTable
from rewarm.ports.signals import Tasks, Waiters
from rewarm.steps.record.records import FINISHED, Status, indexes, settled_attribute

MOST_AT_ONCE = 100
"""DynamoDB developer guide, "Constraints": an expression has up to 300 operators."""


@dataclass(frozen=True, kw_only=True)
class CancelRestorePorts:
    """The ports that cancel_restore needs."""

    table: RestoreTable
    waiters: Waiters
    tasks: Tasks


def cancel_restore(
    restore_id: str,
    ports: CancelRestorePorts,
) -> JsonObject:
    """Asking again changes nothing. Raises RestoreNotFoundError, RestoreEndedError.

    A volume that is at full speed is kept. Who comes first, the end of the last volume or this, the table
    decides.
    """
    record = ports.table.get(restore_id)
    if record is None:
        raise RestoreNotFoundError(f"there is no restore {restore_id}")
    asked_before = bool(record.get("cancelRequested"))
    if not asked_before:
        _stop_if_ended(restore_id, record)
    if record.get("status") not in FINISHED:
        if not mark_cancelled(restore_id, ports.table) and not asked_before:
            raise RestoreEndedError(
                f"{restore_id} is ready: its volumes are at full speed, and what costs money is being "
                "released; a volume that is not wanted any more is yours to delete"
            )
        wake_waiting(restore_id, record, waiters=ports.waiters, tasks=ports.tasks)
    return {"restoreId": restore_id, "status": record.get("status"), "cancelRequested": True}


def mark_cancelled(restore_id: str, table: RestoreTable) -> bool:
    """False where all volumes are at full speed.

    Those that are not yet are looked at a part at a time; where all of a part get there in that moment, the
    next part is asked.
    """
    while True:
        record = table.get(restore_id) or {}
        names = [settled_attribute(index) for index in indexes(record)]
        open_ones = [name for name in names if not record.get(name)]
        if names and not open_ones:
            return False
        if table.request_cancel(restore_id, unless=open_ones[:MOST_AT_ONCE]):
            return True


def wake_waiting(restore_id: str, record: JsonObject, *, waiters: Waiters, tasks: Tasks) -> int:
    """How many of its volumes waited for an event of AWS, and now look."""
    tokens = [token for index in indexes(record) for token in waiters.take(cancel_signal(restore_id, index))]
    return sum(tasks.wake(token) for token in tokens)


def _stop_if_ended(restore_id: str, record: JsonObject) -> None:
    status = record.get("status")
    if status in FINISHED:
        raise RestoreEndedError(f"{restore_id} has ended: it is {status}; nothing is left to cancel")
    if status == Status.PLANNED and (record.get("request") or {}).get("dryRun"):
        raise RestoreEndedError(f"{restore_id} was a dry run: there is nothing to cancel")
