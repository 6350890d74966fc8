"""Makes the record of a restore again whose item in the table is lost.

What the restore was asked for stands in the input of its execution. Its volumes have items of their own, and
executions that succeed only where they are at full speed. The marks that say which other volumes were
announced as usable are gone, so such a restore's volumes are never deleted.
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


def is_lost(record: KnownRestore) -> bool:
    """Whether the whole record does not know what the restore was asked for.

    A function that writes to a lost item makes it again, with what it writes alone. `Announce Unreported`
    writes the status `ready`; the other ends may be those of requests that nobody could read.
    """
    return record.request_json is None and record.status not in _WITHOUT_REQUEST


def recovered(
    restore_id: str,
    record: KnownRestore,
    *,
    table: RestoreTable,
    executions: RestoreExecutions,
    holds: Holds,
    also_ready: bool = False,
) -> KnownRestore:
    """Writes the record again and returns all of it; the given one where no execution has more.

    `also_ready`: also of a restore that succeeded, with the number of volumes for which executions began.
    A restore whose volumes are all at full speed, and which is not noted as running, was ready: the state
    `Release Target` has given its devices back, whatever became of its execution after that.
    """
    begun = executions.begun(restore_id)
    is_ready = begun is not None and begun.status == "SUCCEEDED"
    if begun is None or (is_ready and not also_ready):
        return record
    known = dict(record.raw)
    trigger = begun.input.get("trigger")
    has_record = isinstance(trigger, dict) and trigger.get("kind") == "api"
    if begun.runs and not has_record and VOLUME_COUNT not in known:
        # It has just begun, and its first state will write the record.
        return record
    volumes = _volumes_begun(restore_id, executions)
    if is_ready:
        known.setdefault(VOLUME_COUNT, len(volumes))
    settled = [index for index, one in enumerate(volumes) if one.status == "SUCCEEDED"]
    was_ready = 0 < len(volumes) == len(settled) and holds.entry(restore_id) is None
    told = {
        "status": (Status.READY if was_ready else Status.RESTORING).value,
        "startedAt": iso(begun.started_at),
        "request": begun.input.get("request") or _request_of(volumes),
        **({"trigger": trigger} if isinstance(trigger, dict) else {}),
        **({VOLUME_COUNT: known[VOLUME_COUNT]} if VOLUME_COUNT in known else {}),
        **marks_of_settled(settled),
    }
    again = RestoreNotes(table, restore_id)
    again.note_recovered(told)
    return again.read_whole()


def _volumes_begun(restore_id: str, executions: RestoreExecutions) -> list[ExecutionStart]:
    """The executions of the volumes that began, by the volume's index."""
    begun = (executions.begun(restore_id, index) for index in count())
    return [one for one in takewhile(lambda one: one is not None, begun) if one is not None]


def _request_of(volumes: Sequence[ExecutionStart]) -> JsonObject:
    """An alarm's event holds no request: that is in the input of each volume's execution."""
    request = volumes[0].input.get("request") if volumes else None
    return request if isinstance(request, dict) else {}
