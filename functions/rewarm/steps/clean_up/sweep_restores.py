"""Ends a restore whose execution was stopped or lost: removes what it made, and sends one message.

First it marks the restore as cancelled, so that nothing that still runs can announce a volume or call it
ready. Volumes that were announced before that are known and kept.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from datetime import datetime

from rewarm.contracts.events import AnnounceEvent
from rewarm.contracts.values import Failure
from rewarm.domain.errors import (
    IncompleteCleanUpError,
    RestoreError,
    ServiceUnavailableError,
    ThrottledError,
)
from rewarm.domain.volume.holds import START_GRACE
from rewarm.domain.volume.leftovers import ExecutionEnd, SweptResource
from rewarm.ports import JsonObject
from rewarm.ports.executions import FleetExecutions, RestoreExecutions, Tasks, Waiters
from rewarm.ports.messages import Messages
from rewarm.ports.restores import Holds
from rewarm.ports.snapshots import TaggedSnapshots
from rewarm.steps.announce.announce import announce
from rewarm.steps.clean_up.clean_up import CleanUpPorts, remove
from rewarm.steps.clean_up.clean_up_account import Remains
from rewarm.steps.clean_up.missing_reports import (
    PagePorts,
    is_owed,
    report_end,
    results_of,
    write_late_report,
)
from rewarm.steps.clean_up.ready_messages import request_of, send_ready, untold_volumes
from rewarm.steps.record.lost_records import is_lost, recovered
from rewarm.steps.record.restore import KnownRestore, RestoreNotes, Status
from rewarm.steps.request.routes import wake_waiting
from rewarm.steps.select.admission import give_back

ABORTED = "ExecutionAborted"
FAILURES = frozenset({Status.FAILED, Status.CANCELLED})
TOLD = FAILURES | {Status.REFUSED}
"""Ends that have a message; `toldAt` says that at least one channel accepted it."""
CLAIM_SECONDS = 600
"""Of two sweepers at work, one sends the message. If it dies, another may send it after this time."""
OTHER_TELLS = "another sweep sends the message"


@dataclass(frozen=True, kw_only=True)
class SweepPorts(CleanUpPorts):
    """The ports that the sweeper needs."""

    now: datetime
    owner: str
    """This run of the sweeper."""
    executions: RestoreExecutions
    fleets: FleetExecutions
    tagged_snapshots: TaggedSnapshots
    holds: Holds
    messages: Messages
    waiters: Waiters
    tasks: Tasks
    pages: PagePorts
    pause: Callable[[], None]
    """Some seconds, in which EC2 detaches a volume."""
    has_time: Callable[[], bool] = lambda: True
    """False where the next sweep must do the rest."""


def end_restore(
    restore_id: str, ports: SweepPorts, *, also: Collection[int] = (), last_try: bool = True
) -> SweptResource | None:
    """Returns what was swept; None where the restore runs, is just starting, or has ended by itself.

    `also` are volumes of which something was found. Before the last try, what EC2 needs some seconds for does
    not count as left.
    """
    ending = ports.executions.ending(restore_id)
    if ending.runs:
        return None
    record = _record(restore_id, ending, ports)
    if _only_starts(restore_id, record, ending, ports):
        return None
    if record.status is None:
        # Nobody knows whether its volumes were announced.
        _give_back(restore_id, ports)
        return None
    running = [index for index in record.indexes if ports.executions.volume_runs(restore_id, index)]
    if running:
        return _stop_volumes(restore_id, record, ports)
    untold = ending.without_account and _is_untold(record)
    todo = _todo(record, ending, also) | (set(record.indexes) if untold else set())
    if not todo and not untold:
        return _leave(restore_id, record, ending, ports)
    asked_before = record.cancel_requested and record.swept_at is None
    if untold:
        _prepare_to_tell(restore_id, record, ports)
    swept = _remove_all(restore_id, sorted(todo), ports)
    if swept.state == "ending" and not last_try:
        return swept
    cancelled = asked_before or record.cancel_asked
    if untold and not _tell(restore_id, ending, ports, cancelled=cancelled):
        swept = replace(swept, state="ending", reason=OTHER_TELLS) if swept.state == "ended" else swept
    elif swept.state != "ending":
        _leave(restore_id, record, ending, ports)
    return swept


def _record(restore_id: str, ending: ExecutionEnd, ports: SweepPorts) -> KnownRestore:
    """The whole record. Where it is lost it is made again, if the restore came to nothing, or succeeded and
    is still noted as running (state `Release Target`).
    """
    record = RestoreNotes(ports.table, restore_id).read_whole()
    if not is_lost(record):
        return record
    owes_messages = ending.status == "SUCCEEDED" and ports.holds.entry(restore_id) is not None
    if not (ending.without_account or owes_messages):
        return record
    return recovered(
        restore_id,
        record,
        table=ports.table,
        executions=ports.executions,
        holds=ports.holds,
        also_ready=owes_messages,
    )


def _todo(record: KnownRestore, ending: ExecutionEnd, also: Collection[int]) -> set[int]:
    """Where every volume is ready and only the record does not say so, none of them is a leftover."""
    only_owed = is_owed(record, ending) and not record.is_finished
    return (set() if only_owed else set(also)) | _unfinished(record) | _neglected(record)


def _prepare_to_tell(restore_id: str, record: KnownRestore, ports: SweepPorts) -> None:
    """Notes the restore as running, so that sweeps find it until its message is sent, and marks it cancelled.

    A refused restore was never noted as running, and its event comes only once.
    """
    since = record.started_at or ports.now
    ports.holds.enter(restore_id, instance_id=record.request.target.instance_id, now=since)
    if not record.is_finished:
        _mark(restore_id, record, ports)


def _leave(
    restore_id: str, record: KnownRestore, ending: ExecutionEnd, ports: SweepPorts
) -> SweptResource | None:
    """What is not given back is found again by the next sweep."""
    for index in untold_volumes(record, ending):
        if not _is_ours_to_tell(f"{restore_id}/{index}", ports):
            return SweptResource("restores", restore_id, "ending", OTHER_TELLS)
        send_ready(restore_id, record, index, now=ports.now, messages=ports.messages, pages=ports.pages)
    late = write_late_report(restore_id, record, ending, now=ports.now, ports=ports.pages)
    if late is None or late.state == "ended":
        _give_back(restore_id, ports)
    return late


def _only_starts(restore_id: str, record: KnownRestore, ending: ExecutionEnd, ports: SweepPorts) -> bool:
    """It is noted before its execution starts: first that it runs, then its record."""
    if ending.status != "GONE":
        return False
    entry = ports.holds.entry(restore_id)
    times = [record.started_at, entry.since if entry else None]
    return any(time is not None and ports.now - time < START_GRACE for time in times)


def _is_untold(record: KnownRestore) -> bool:
    """Also where it had failed, and was stopped between the report and the message, or during the message."""
    if record.request.dry_run:
        return False
    return not record.is_finished or (record.status in TOLD and record.told_at is None)


def _unfinished(record: KnownRestore) -> set[int]:
    accounts = {index: record.volume(index).clean_up for index in record.indexes}
    return {index for index, account in accounts.items() if account is not None and account.unfinished}


def _neglected(record: KnownRestore) -> set[int]:
    """Volumes whose executions were stopped: the restore reported its failure, but nobody cleaned up."""
    if record.status not in FAILURES:
        return set()
    accounts = {index: record.volume(index).clean_up for index in record.indexes}
    done = {index for index, account in accounts.items() if account is not None and not account.goes_on}
    settled = {index for index in record.indexes if record.settled(index)}
    return set(record.indexes) - done - (set() if record.is_drill else settled)


def _stop_volumes(restore_id: str, record: KnownRestore, ports: SweepPorts) -> SweptResource:
    """Step Functions stops the child of a parent that is stopped, or tries to: this one lives, and cleans up
    by itself.
    """
    _mark(restore_id, record, ports)
    wake_waiting(restore_id, record, waiters=ports.waiters, tasks=ports.tasks)
    return SweptResource(
        "restores", restore_id, "ending", "its volumes' executions still run, and are to stop"
    )


def _mark(restore_id: str, record: KnownRestore, ports: SweepPorts) -> None:
    restore = RestoreNotes(ports.table, restore_id)
    if record.swept_at is None:
        restore.note_swept(ports.now, was_asked=record.cancel_requested)
    restore.cancel()


def _remove_all(restore_id: str, todo: Collection[int], ports: SweepPorts) -> SweptResource:
    record = RestoreNotes(ports.table, restore_id).read_whole()
    busy, left = [], []
    for index in todo:
        try:
            remove(remains_of(restore_id, record, index), ports, now=ports.now)
        except (ServiceUnavailableError, ThrottledError) as error:
            busy.append(str(error))
        except IncompleteCleanUpError as error:
            left.append(str(error))
    reason = "; ".join([*left, *busy])
    return SweptResource("restores", restore_id, "left" if left else "ending" if busy else "ended", reason)


def remains_of(restore_id: str, record: KnownRestore, index: int) -> Remains:
    """Of one volume, as the record knows it."""
    volume, request, drill = record.volume(index), record.request, record.is_drill
    settled = record.settled(index) and not drill
    # Where its mark could not be written the execution went on: it is shown as usable all the same. One that
    # becomes a root volume is warmed up before anybody may use it.
    shown = volume.replaced.is_swapped if request.target.reboot else volume.initialization is not None
    told = shown or record.attached(index).volume_id is not None
    known = volume.fast_restore if volume.fast_restore.snapshot_id else volume.made
    place = known.snapshot_id, known.availability_zone
    return Remains(
        restore_id=restore_id,
        index=index,
        # A volume that goes back to its snapshot is its owner's, and was there before the restore.
        volume_id=None if volume.rewind is not None else record.last_volume(index),
        instance_id=volume.made.instance_id or request.target.instance_id,
        place=(str(place[0]), str(place[1])) if all(place) else None,
        announced=not drill and (told or settled or record.recovered),
        on_failure=request.on_failure,
        fallback=settled,
        starts_instance=request.target.start,
        in_place=settled,
        keeps_copy=request.source.keep_copy,
    )


def _tell(restore_id: str, ending: ExecutionEnd, ports: SweepPorts, *, cancelled: bool) -> bool:
    """Sends the message once and returns whether that is done; after `toldAt` it only corrects the status.

    False where another sweeper is sending it. That may still fail, so the restore must stay findable.
    """
    restore = RestoreNotes(ports.table, restore_id)
    record = restore.read_whole()
    if record.told_at is not None:
        restore.note_end(Status.CANCELLED if cancelled else Status.FAILED)
        return True
    if not _is_ours_to_tell(restore_id, ports):
        return False
    failure = _failure(record, ending, cancelled=cancelled)
    results = results_of(restore_id, record, failure, ports.pages)
    page_key = report_end(
        restore_id, record, now=ports.now, failure=failure, results=results, ports=ports.pages
    )
    details: JsonObject = {"failure": failure.to_json(), "results": results, "pageKey": page_key}
    event = AnnounceEvent(
        restore_id=restore_id, now=ports.now, event="failed", request=request_of(record), details=details
    )
    pages = ports.pages
    announce(event, table=ports.table, messages=ports.messages, artifacts=pages.artifacts, links=pages.links)
    return True


def _failure(record: KnownRestore, ending: ExecutionEnd, *, cancelled: bool) -> Failure:
    """What it had failed with, where it was stopped only after that."""
    return record.failure.named or Failure(
        error="RestoreCancelledError" if cancelled else ABORTED,
        cause=f"The restore did not come to its end: {ending.in_words}.",
    )


def _is_ours_to_tell(what: str, ports: SweepPorts) -> bool:
    turn = int(ports.now.timestamp()) // CLAIM_SECONDS
    return ports.table.claim_event(f"sweep {what} {turn}", ports.owner) == ports.owner


def _give_back(restore_id: str, ports: SweepPorts) -> None:
    """Last: whoever takes the device next must not meet this restore's volume on it."""
    try:
        give_back(restore_id, holds=ports.holds)
    except RestoreError:
        return  # the next sweep, or whoever needs the device, does it
