"""Ends a restore whose execution was stopped or lost: removes what it made, and sends one message.

First it marks the restore as cancelled, so that nothing that still runs can announce a volume or call it
ready. Volumes that were announced before that are known and kept.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import replace
from datetime import datetime

from rewarm.contracts.events import AnnounceEvent
from rewarm.contracts.values import Failure
from rewarm.domain.errors import IncompleteCleanUpError, RestoreError, ServiceUnavailableError, ThrottledError
from rewarm.domain.parts import EVERY_PART, Parts
from rewarm.domain.volume.holds import START_GRACE
from rewarm.domain.volume.leftovers import ExecutionEnd, SweptResource
from rewarm.ports import JsonObject
from rewarm.ports.executions import LOOK_PREFIX, FleetExecutions, RestoreExecutions, Tasks, Waiters
from rewarm.ports.messages import Messages
from rewarm.ports.restores import Holds
from rewarm.ports.snapshots import TaggedSnapshots
from rewarm.steps.clean_up.clean_up import CleanUpPorts, remove
from rewarm.steps.clean_up.clean_up_account import Remains
from rewarm.steps.clean_up.missing_reports import (
    PagePorts,
    is_owed,
    ready_news,
    recall_end,
    report_end,
    request_of,
    results_of,
    volumes_without_message,
    write_late_report,
)
from rewarm.steps.record.boosts import noted_boosts
from rewarm.steps.record.lost_records import is_lost, recovered
from rewarm.steps.record.restore import KnownRestore, RestoreNotes, Status
from rewarm.steps.record.volume import KnownRecording
from rewarm.steps.replace.device_look import ask
from rewarm.steps.select.release_target import give_back
from rewarm.steps.warm.wake_up import wake_waiting

ABORTED = "ExecutionAborted"
FAILURES = frozenset({Status.FAILED, Status.CANCELLED})
ANNOUNCED = FAILURES | {Status.REFUSED}
"""Statuses whose message the sweeper sends if `toldAt` does not say that a channel accepted it."""


class SweepPorts(CleanUpPorts, kw_only=True):
    """The ports that the sweeper needs."""

    now: datetime
    owner: str
    """The id of this run of the sweeper. Lambda tries a failed run again with the same id (AWS re:Post
    knowledge center, "lambda-function-duplicate-invocations").
    """
    executions: RestoreExecutions
    fleets: FleetExecutions
    tagged_snapshots: TaggedSnapshots
    holds: Holds
    messages: Messages
    waiters: Waiters
    tasks: Tasks
    pages: PagePorts
    pause: Callable[[], None]
    """Waits some seconds, in which EC2 detaches a volume."""
    has_time: Callable[[], bool] = lambda: True
    """False if the next sweep must do the rest."""
    parts: Parts = EVERY_PART


def end_restore(
    restore_id: str, ports: SweepPorts, *, also: Collection[int] = (), last_try: bool = True
) -> SweptResource | None:
    """Returns what was swept; None if the restore runs, is just starting, or has ended by itself.

    `also` are volumes with leftovers. Before the last try, work for which EC2 needs some seconds counts as
    `ending`.
    """
    ending = ports.executions.ending(restore_id)
    if ending.runs or restore_id.startswith(LOOK_PREFIX):
        return None
    record = _record(restore_id, ending, ports)
    if _only_starts(restore_id, record, ending, ports):
        return None
    if record.status is None:
        # Nobody knows whether its volumes were announced.
        _give_back(restore_id, record, ports)
        return None
    running = [index for index in record.indexes if ports.executions.volume_runs(restore_id, index)]
    if running:
        return _stop_volumes(restore_id, record, ports)
    has_unsent_message = ending.without_account and _lacks_message(record)
    todo = _todo(record, ending, also) | (set(record.indexes) if has_unsent_message else set())
    if not todo and not has_unsent_message:
        return _leave(restore_id, record, ending, ports)
    asked_before = record.cancel_requested and record.swept_at is None
    if has_unsent_message:
        _prepare_message(restore_id, record, ports)
    swept = _remove_all(restore_id, sorted(todo), ports)
    if swept.state == "ending" and not last_try:
        return swept
    cancelled = asked_before or record.cancel_asked
    if has_unsent_message:
        _send(restore_id, ending, ports, cancelled=cancelled)
    if swept.state != "ending":
        _leave(restore_id, record, ending, ports)
    return swept


def _record(restore_id: str, ending: ExecutionEnd, ports: SweepPorts) -> KnownRestore:
    """The whole record, with what is lost of a restore that failed, or that succeeded without a message."""
    record = RestoreNotes(ports.table, restore_id).read_whole()
    owes_messages = ending.status == "SUCCEEDED" and ports.holds.entry(restore_id) is not None
    # A restore may have been recovered while it ran, when nobody could know the number of its volumes.
    lacks_volumes = record.recovered and not record.indexes and not record.is_finished
    if (is_lost(record) or lacks_volumes) and (ending.without_account or owes_messages):
        record = recovered(
            restore_id,
            record,
            table=ports.table,
            executions=ports.executions,
            holds=ports.holds,
            also_ready=owes_messages,
        )
    if ending.without_account and _lacks_message(record) and recall_end(restore_id, ports.pages):
        record = RestoreNotes(ports.table, restore_id).read_whole()
    return record


def _todo(record: KnownRestore, ending: ExecutionEnd, also: Collection[int]) -> set[int]:
    """The volumes to clean up; none if all are ready and only the record does not say so."""
    only_owed = is_owed(record, ending) and not record.is_finished
    return (set() if only_owed else set(also)) | _unfinished(record) | _neglected(record)


def _prepare_message(restore_id: str, record: KnownRestore, ports: SweepPorts) -> None:
    """Notes the restore as running, so that sweeps find it until its message is sent, and cancels it.

    A refused restore was never noted as running, and its event comes only once.
    """
    since = record.started_at or ports.now
    ports.holds.enter(restore_id, instance_id=record.request.target.instance_id, now=since)
    if not record.is_finished:
        _mark(restore_id, record, ports)


def _leave(
    restore_id: str, record: KnownRestore, ending: ExecutionEnd, ports: SweepPorts
) -> SweptResource | None:
    """Sends what is missing and releases the devices; what fails here is found again by the next sweep."""
    for index in volumes_without_message(restore_id, record, ending, ports.pages):
        pages = ports.pages
        sender = ports.owner
        _announce(ready_news(restore_id, record, index, now=ports.now, sender=sender, pages=pages), ports)
    late = write_late_report(restore_id, record, ending, now=ports.now, ports=ports.pages)
    if late is None or late.state == "ended":
        _give_back(restore_id, record, ports)
    return late


def _only_starts(restore_id: str, record: KnownRestore, ending: ExecutionEnd, ports: SweepPorts) -> bool:
    """Whether the restore may just be starting: it is noted as running and recorded before its execution."""
    if ending.status != "GONE":
        return False
    entry = ports.holds.entry(restore_id)
    times = [record.started_at, entry.since if entry else None]
    return any(time is not None and ports.now - time < START_GRACE for time in times)


def _lacks_message(record: KnownRestore) -> bool:
    """True also if it failed and its execution was stopped before or during the message.

    Where all volumes are at full speed, their messages have said so.
    """
    if record.request.dry_run or (record.is_at_full_speed and record.status not in FAILURES):
        return False
    return not record.is_finished or (record.status in ANNOUNCED and record.message_sent_at is None)


def _unfinished(record: KnownRestore) -> set[int]:
    accounts = {index: record.volume(index).clean_up for index in record.indexes}
    return {index for index, account in accounts.items() if account is not None and account.unfinished}


def _neglected(record: KnownRestore) -> set[int]:
    """Volumes whose executions were stopped before they cleaned up, although the failure was reported."""
    if record.status not in FAILURES:
        return set()
    accounts = {index: record.volume(index).clean_up for index in record.indexes}
    done = {index for index, account in accounts.items() if account is not None and not account.goes_on}
    settled = {index for index in record.indexes if record.settled(index)}
    return set(record.indexes) - done - (set() if record.is_drill else settled)


def _stop_volumes(restore_id: str, record: KnownRestore, ports: SweepPorts) -> SweptResource:
    """Asks volumes' executions to stop if they outlived the restore's; they clean up by themselves."""
    _mark(restore_id, record, ports)
    wake_waiting(restore_id, record.indexes, waiters=ports.waiters, tasks=ports.tasks)
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
            remains = remains_of(restore_id, record, index)
            if record.volume(index).plan is None:  # nor does it say whose volume it is
                remains = replace(remains, adopted=_boosted(restore_id, index, ports))
            remove(remains, ports, now=ports.now)
            _clear_instance(record.volume(index).recording, ports)
        except (ServiceUnavailableError, ThrottledError) as error:
            busy.append(str(error))
        except IncompleteCleanUpError as error:
            left.append(str(error))
    reason = "; ".join([*left, *busy])
    return SweptResource("restores", restore_id, "left" if left else "ending" if busy else "ended", reason)


def _boosted(restore_id: str, index: int, ports: SweepPorts) -> str | None:
    """The volume of others that was raised for this index, by its own note; the volume's item may be lost."""
    of_index = (
        noted.volume_id
        for noted in noted_boosts(ports.table)
        if (noted.restore_id, noted.index) == (restore_id, index)
    )
    return next(of_index, None)


def _clear_instance(known: KnownRecording, ports: SweepPorts) -> None:
    """Asks there what uses the volume: before it looks, the agent removes what killed recordings left.

    If the instance cannot be asked, its next command of the agent removes that.
    """
    if ports.put_back and known.command_id and known.volume_id and known.instance_id:
        with suppress(RestoreError):
            ask(known.volume_id, known.instance_id, "check", now=ports.now, ports=ports.put_back.look)


def remains_of(restore_id: str, record: KnownRestore, index: int) -> Remains:
    """What there may be to remove of one volume, by the record."""
    volume = record.volume(index)
    request = record.request
    drill = record.is_drill
    settled = record.settled(index) and not drill
    # A rewound or adopted volume was there before the restore.
    is_others = volume.rewind is not None or volume.adopted is not None or request.is_adoption
    # If its mark could not be written, the execution continued, and the volume was announced as usable. One
    # that becomes a root volume is warmed up before anybody may use it.
    shown = volume.replaced.is_swapped if request.target.reboot else volume.initialization is not None
    is_usable = shown or record.attached(index).volume_id is not None
    known = volume.fast_restore if volume.fast_restore.snapshot_id else volume.made
    place = known.snapshot_id, known.availability_zone
    return Remains(
        restore_id=restore_id,
        index=index,
        volume_id=None if is_others else record.last_volume(index),
        instance_id=volume.made.instance_id or request.target.instance_id,
        place=(str(place[0]), str(place[1])) if all(place) else None,
        rewinds=volume.rewind is not None or request.target.mode == "rewind",
        announced=not drill and (is_usable or settled or record.recovered),
        on_failure=request.on_failure,
        fallback=settled,
        starts_instance=request.target.start,
        in_place=settled,
        keeps_copy=request.source.keep_copy,
    )


def _send(restore_id: str, ending: ExecutionEnd, ports: SweepPorts, *, cancelled: bool) -> None:
    """Sends the message once; after that it only corrects the status.

    Raises ServiceUnavailableError if another sender has it. That one may fail, so sweeps must find the
    restore again.
    """
    restore = RestoreNotes(ports.table, restore_id)
    record = restore.read_whole()
    if record.message_sent_at is not None:
        restore.note_end(Status.CANCELLED if cancelled else Status.FAILED)
        return
    failure = _failure(record, ending, cancelled=cancelled)
    results = results_of(restore_id, record, failure, ports.pages)
    page_key = report_end(
        restore_id, record, now=ports.now, failure=failure, results=results, ports=ports.pages
    )
    details: JsonObject = {
        "failure": failure.to_json(),
        "results": results,
        "pageKey": page_key,
        "sender": ports.owner,
    }
    event = AnnounceEvent(
        restore_id=restore_id, now=ports.now, event="failed", request=request_of(record), details=details
    )
    _announce(event, ports)


def _announce(event: AnnounceEvent, ports: SweepPorts) -> None:
    """Sends the message and notes that. Raises RestoreError if that failed, and the next sweep retries."""
    from rewarm.steps.announce.announce import announce  # noqa: PLC0415 - few sweeps send messages

    pages = ports.pages
    announce(
        event,
        table=ports.table,
        messages=ports.messages,
        artifacts=pages.artifacts,
        links=pages.links,
        way_back=pages.way_back,
    )


def _failure(record: KnownRestore, ending: ExecutionEnd, *, cancelled: bool) -> Failure:
    """The failure that was recorded before the execution was stopped; else why the execution ended."""
    return record.failure.named or Failure(
        error="RestoreCancelledError" if cancelled else ABORTED,
        cause=f"The restore did not come to its end: {ending.in_words}.",
    )


def _give_back(restore_id: str, record: KnownRestore, ports: SweepPorts) -> None:
    """Comes last: the next restore must not find this restore's volume on the device."""
    try:
        give_back(restore_id, record.instance_id, holds=ports.holds)
    except RestoreError:
        return  # the next sweep, or whoever needs the device, does it
