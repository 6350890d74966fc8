"""The undo logs of the stack: listed, priced and deleted. All is in the bucket, so no record is needed.

GET /undo-logs, DELETE /undo-logs/{restoreId}, and what a rewind says of its own log.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from decimal import Decimal
from itertools import groupby

from rewarm.contracts.rewinding import DeletedUndoLog, RewindEvent, UndoLog, UndoLogList
from rewarm.domain.blocks.packs import UNDO_FORMAT, expires_at
from rewarm.domain.errors import TEMPORARY, RestoreError, UndoLogInUseError, UndoLogNotFoundError
from rewarm.domain.model import GIB, Caller
from rewarm.domain.units import gib, iso, round_usd
from rewarm.domain.value import Value
from rewarm.ports import JsonObject
from rewarm.ports.artifacts import Artifacts, LogObject, UndoLogs
from rewarm.ports.restores import FIRST, LAST, Listed, RestoreTable
from rewarm.steps.record.bucket import (
    UNDO_LOGS,
    undo_head_key,
    undo_log_of,
    undo_pack_attempt,
    undo_prefix,
)
from rewarm.steps.record.restore import FINISHED, KnownRestore, RestoreNotes, Status
from rewarm.steps.record.volume import VolumeNotes

RUNNING_AT_ONCE = 100
"""How many running restores are read at once to see whether they need a log."""


BUCKET_USD_PER_GIB_MONTH = Decimal("0.023")
"""Of us-east-1, as in prices.json: a list of logs asks for no prices."""


class UndoLogPorts(Value, kw_only=True):
    """The ports that undo logs need."""

    logs: UndoLogs
    artifacts: Artifacts
    undo_log_days: int
    """Days until S3 deletes a log."""


class DeleteUndoLogPorts(UndoLogPorts, kw_only=True):
    """The ports that delete_undo_log needs."""

    table: RestoreTable


def begin_log(event: RewindEvent, *, stack_name: str, artifacts: Artifacts, table: RestoreTable) -> None:
    """Writes the log's head before the first block is written, so that the bucket alone explains the log.

    The record notes that there may be a log, for the clean-up after an execution that was stopped. A further
    attempt does not replace the head: it stays the log's oldest object, which S3 deletes first.
    """
    index = event.volume.index
    head: JsonObject = {
        "format": UNDO_FORMAT,
        "restoreId": event.restore_id,
        "index": index,
        "volumeId": event.written_id,
        "volumeBytes": event.volume.snapshot_size_gib * GIB,
        "snapshotId": event.volume.snapshot_id,
        "stack": stack_name,
        "startedAt": iso(event.now),
        "undoOf": event.request.source.undo_of,
    }
    key = undo_head_key(event.restore_id, index)
    if artifacts.get_json(key) is None:
        artifacts.put_json(key, head)
    VolumeNotes(table, event.restore_id, index).begin_undo_log()


def complete_log(event: RewindEvent, blocks: int | None, ports: UndoLogPorts) -> None:
    """Writes into the head that the rewind has ended well, and how many packs and blocks undo it.

    A log without that is of a rewind that stopped halfway. Raises only temporary errors: a missing permission
    must not fail a rewind that is done.
    """
    key = undo_head_key(event.restore_id, event.volume.index)
    try:
        head = ports.artifacts.get_json(key)
        if head is not None:
            found = ports.logs.objects(undo_prefix(event.restore_id, event.volume.index))
            packs = sum(undo_pack_attempt(pack.key) is not None for pack in found)
            ended = {"completedAt": iso(event.now), "packs": packs, "blocks": blocks}
            ports.artifacts.put_json(key, {**head, **ended})
    except TEMPORARY:
        raise
    except RestoreError:
        return


def list_undo_logs(ports: UndoLogPorts) -> JsonObject:
    """Returns the logs of all rewinds, by restore."""
    return UndoLogList(undo_logs=list(_logs(ports.logs.objects(UNDO_LOGS), ports))).to_json()


def undo_log(restore_id: str, index: int, ports: UndoLogPorts) -> UndoLog | None:
    """Returns the log of one volume of a restore; None if nothing was overwritten, or it is deleted."""
    found = next(_logs(ports.logs.objects(undo_prefix(restore_id, index)), ports), None)
    return found if found is not None and found.packs else None


def delete_undo_log(restore_id: str, *, by: Caller, now: datetime, ports: DeleteUndoLogPorts) -> JsonObject:
    """Deletes the undo logs of a restore. Raises UndoLogNotFoundError, UndoLogInUseError."""
    status = _check_unused(restore_id, ports.table)
    keys = [found.key for found in ports.logs.objects(undo_prefix(restore_id))]
    if not keys:
        raise UndoLogNotFoundError(f"the restore {restore_id} has no undo log", field="restoreId")
    if status is not None:
        title = f"{by.name} deletes the undo log"
        news = {"event": "undo-log-deleted", "at": iso(now), "title": title, "text": f"{title}."}
        RestoreNotes(ports.table, restore_id).append_event(news)
    # The head is deleted last, so that a partly deleted log can still be found and deleted.
    deleted = ports.logs.delete(sorted(keys, key=lambda key: undo_pack_attempt(key) is None))
    return DeletedUndoLog(restore_id=restore_id, deleted_objects=deleted).to_json()


def _check_unused(restore_id: str, table: RestoreTable) -> str | None:
    """Returns the restore's status.

    Raises UndoLogInUseError if the restore, or one that undoes it, still runs.
    """
    status = table.standing(restore_id).status
    if status is not None and status not in FINISHED:
        raise UndoLogInUseError(f"the restore {restore_id} still runs, and may need its undo log")
    for running in (each for each in Status if each not in FINISHED):
        for entry in _all(running.value, table):
            if KnownRestore.model_validate(entry.record).request.source.undo_of == restore_id:
                raise UndoLogInUseError(f"the restore {entry.name} undoes {restore_id} with this log now")
    return status


def _all(status: str, table: RestoreTable) -> Iterator[Listed]:
    """Every restore of the status, page by page."""
    after: tuple[str, str] | None = None
    more = True
    while more:
        found, more = table.listed(status, since=FIRST, until=LAST, after=after, limit=RUNNING_AT_ONCE)
        yield from found
        after, more = (found[-1].place, more) if found else (None, False)


def _logs(objects: Iterable[LogObject], ports: UndoLogPorts) -> Iterator[UndoLog]:
    named = ((place, kept) for kept in objects if (place := undo_log_of(kept.key)) is not None)
    for (restore_id, index), group in groupby(named, key=lambda pair: pair[0]):
        found = [kept for _, kept in group]
        head = ports.artifacts.get_json(undo_head_key(restore_id, index)) or {}
        size = sum(kept.size_bytes for kept in found)
        yield UndoLog(
            restore_id=restore_id,
            index=index,
            volume_id=head.get("volumeId"),
            snapshot_id=head.get("snapshotId"),
            started_at=head.get("startedAt"),
            packs=sum(undo_pack_attempt(kept.key) is not None for kept in found),
            blocks=head.get("blocks"),
            completed_at=head.get("completedAt"),
            bytes=size,
            usd_per_month=round_usd(gib(size) * BUCKET_USD_PER_GIB_MONTH),
            expires_at=min(expires_at(kept.written_at, ports.undo_log_days) for kept in found),
        )
