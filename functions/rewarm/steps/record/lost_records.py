"""Makes a restore's record again if its item in the table is lost.

The request is in the input of the restore's execution. Each volume has its own item, and an execution that
succeeds only at full speed. The marks of other volumes that were announced as usable are gone, so such a
restore's volumes are never deleted.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count, takewhile

from rewarm.domain.units import iso
from rewarm.domain.volume.leftovers import ExecutionStart
from rewarm.ports import JsonObject
from rewarm.ports.executions import RestoreExecutions
from rewarm.ports.restores import VOLUME_COUNT, Holds, RestoreTable
from rewarm.steps.record.restore import FINISHED, KnownRestore, RestoreNotes, Status, marks_of_settled

_WITHOUT_REQUEST = FINISHED - {Status.READY}
_SURE = {"api", "fleet", "rule"}
"""Triggers whose restores are not duplicates: their request is in the input, and may be noted early."""


def is_lost(record: KnownRestore) -> bool:
    """Whether the record has lost the restore's request.

    A function that writes to a lost item creates it again with only what it writes. `Announce Unreported`
    writes the status `ready`; restores with other final statuses may never have had a readable request. Where
    volumes are known, there was one.
    """
    is_begun = record.volume_count > 0 or record.status not in _WITHOUT_REQUEST
    return record.request_json is None and is_begun


def recovered(
    restore_id: str,
    record: KnownRestore,
    *,
    table: RestoreTable,
    executions: RestoreExecutions,
    holds: Holds,
    also_ready: bool = False,
) -> KnownRestore:
    """Writes the record again and returns the whole record, or the given record if no execution knows more.

    `also_ready`: also recovers a restore that succeeded. A restore that is over has as many volumes as
    executions of volumes began, unless its record has a number. The restore was ready if all volumes are at
    full speed and it is not noted as running: the state `Release Target` has released its devices.
    """
    begun = executions.begun(restore_id)
    is_ready = begun is not None and begun.status == "SUCCEEDED"
    if begun is None or (is_ready and not also_ready):
        return record
    known = dict(record.raw)
    trigger = begun.input.get("trigger")
    is_sure = isinstance(trigger, dict) and trigger.get("kind") in _SURE
    volumes = volumes_begun(restore_id, executions)
    if begun.runs and not is_sure and VOLUME_COUNT not in known and not volumes:
        # It has just begun, and its first state finds out whether an earlier restore handles the same event.
        return record
    if is_ready or (volumes and not begun.runs):
        known.setdefault(VOLUME_COUNT, len(volumes))
    settled = [index for index, volume in enumerate(volumes) if volume.status == "SUCCEEDED"]
    was_ready = 0 < len(volumes) == len(settled) and holds.entry(restore_id) is None
    found = {
        "status": (Status.READY if was_ready else Status.RESTORING).value,
        "startedAt": iso(begun.started_at),
        "request": begun.input.get("request") or _request_of(volumes),
        **({"trigger": trigger} if isinstance(trigger, dict) else {}),
        **({VOLUME_COUNT: known[VOLUME_COUNT]} if VOLUME_COUNT in known else {}),
        **marks_of_settled(settled),
    }
    again = RestoreNotes(table, restore_id)
    again.note_recovered(found)
    return again.read_whole()


def volumes_begun(restore_id: str, executions: RestoreExecutions) -> list[ExecutionStart]:
    """The executions of the volumes that began, by the volume's index."""
    begun = (executions.begun(restore_id, index) for index in count())
    return [start for start in takewhile(lambda start: start is not None, begun) if start is not None]


def _request_of(volumes: Sequence[ExecutionStart]) -> JsonObject:
    """The request of a restore that an alarm started: only the inputs of its volumes' executions have it."""
    request = volumes[0].input.get("request") if volumes else None
    return request if isinstance(request, dict) else {}
