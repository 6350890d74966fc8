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
from rewarm.domain.model import OnFailure
from rewarm.domain.volume.holds import START_GRACE
from rewarm.domain.volume.leftovers import ExecutionEnd, SweptResource
from rewarm.ports import JsonObject
from rewarm.ports.executions import FleetExecutions, RestoreExecutions, Tasks, Waiters
from rewarm.ports.holds import Holds
from rewarm.ports.messages import Messages
from rewarm.ports.snapshots import CalibrationSnapshots
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
from rewarm.steps.record.lost_records import RECOVERED, is_lost, recovered
from rewarm.steps.record.records import (
    FINISHED,
    Status,
    attached_attribute,
    clean_up_attribute,
    indexes,
    initialization_attribute,
    last_volume,
    parsed_time,
    preparation_attribute,
    replaced_attribute,
    rewind_attribute,
    settled_attribute,
    volume_attribute,
)
from rewarm.steps.replace.swap_root import is_swapped
from rewarm.steps.request.routes import mark_cancelled, wake_waiting
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
    calibration_snapshots: CalibrationSnapshots
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
    if record is None or "status" not in record:
        # Nobody knows whether its volumes were announced.
        _give_back(restore_id, ports)
        return None
    running = [index for index in indexes(record) if ports.executions.volume_runs(restore_id, index)]
    if running:
        return _stop_volumes(restore_id, record, ports)
    untold = ending.without_account and _is_untold(record)
    todo = _todo(record, ending, also) | (set(indexes(record)) if untold else set())
    if not todo and not untold:
        return _leave(restore_id, record, ending, ports)
    asked_before = bool(record.get("cancelRequested")) and "sweptAt" not in record
    if untold:
        _prepare_to_tell(restore_id, record, ports)
    swept = _remove_all(restore_id, sorted(todo), ports)
    if swept.state == "ending" and not last_try:
        return swept
    cancelled = asked_before or bool(record.get("cancelAsked"))
    if untold and not _tell(restore_id, ending, ports, cancelled=cancelled):
        swept = replace(swept, state="ending", reason=OTHER_TELLS) if swept.state == "ended" else swept
    elif swept.state != "ending":
        _leave(restore_id, record, ending, ports)
    return swept


def _record(restore_id: str, ending: ExecutionEnd, ports: SweepPorts) -> JsonObject | None:
    """The whole record. Where it is lost it is made again, if the restore came to nothing, or succeeded and
    is still noted as running (state `Release Target`).
    """
    record = ports.table.get_whole(restore_id)
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


def _todo(record: JsonObject, ending: ExecutionEnd, also: Collection[int]) -> set[int]:
    """Where every volume is ready and only the record does not say so, none of them is a leftover."""
    only_owed = is_owed(record, ending) and record.get("status") not in FINISHED
    return (set() if only_owed else set(also)) | _unfinished(record) | _neglected(record)


def _prepare_to_tell(restore_id: str, record: JsonObject, ports: SweepPorts) -> None:
    """Notes the restore as running, so that sweeps find it until its message is sent, and marks it cancelled.

    A refused restore was never noted as running, and its event comes only once.
    """
    since = parsed_time(record.get("startedAt")) or ports.now
    target = (record.get("request") or {}).get("target") or {}
    ports.holds.enter(restore_id, instance_id=target.get("instanceId"), now=since)
    if record.get("status") not in FINISHED:
        _mark(restore_id, record, ports)


def _leave(
    restore_id: str, record: JsonObject, ending: ExecutionEnd, ports: SweepPorts
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


def _only_starts(restore_id: str, record: JsonObject | None, ending: ExecutionEnd, ports: SweepPorts) -> bool:
    """It is noted before its execution starts: first that it runs, then its record."""
    if ending.status != "GONE":
        return False
    entry = ports.holds.entry(restore_id)
    times = [parsed_time((record or {}).get("startedAt")), entry.since if entry else None]
    return any(time is not None and ports.now - time < START_GRACE for time in times)


def _is_untold(record: JsonObject) -> bool:
    """Also where it had failed, and was stopped between the report and the message, or during the message."""
    if (record.get("request") or {}).get("dryRun"):
        return False
    status = record.get("status")
    return status not in FINISHED or (status in TOLD and "toldAt" not in record)


def _unfinished(record: JsonObject) -> set[int]:
    accounts = {index: record.get(clean_up_attribute(index)) or {} for index in indexes(record)}
    return {index for index, account in accounts.items() if account.get("unfinished")}


def _neglected(record: JsonObject) -> set[int]:
    """Volumes whose executions were stopped: the restore reported its failure, but nobody cleaned up."""
    if record.get("status") not in FAILURES:
        return set()
    accounts = {index: record.get(clean_up_attribute(index)) for index in indexes(record)}
    done = {index for index, account in accounts.items() if account and not account.get("goesOn")}
    settled = {index for index in indexes(record) if record.get(settled_attribute(index))}
    return set(indexes(record)) - done - (set() if _is_drill(record) else settled)


def _is_drill(record: JsonObject) -> bool:
    return bool(((record.get("request") or {}).get("drill") or {}).get("runbook"))


def _stop_volumes(restore_id: str, record: JsonObject, ports: SweepPorts) -> SweptResource:
    """Step Functions stops the child of a parent that is stopped, or tries to: this one lives, and cleans up
    by itself.
    """
    _mark(restore_id, record, ports)
    wake_waiting(restore_id, record, waiters=ports.waiters, tasks=ports.tasks)
    return SweptResource(
        "restores", restore_id, "ending", "its volumes' executions still run, and are to stop"
    )


def _mark(restore_id: str, record: JsonObject, ports: SweepPorts) -> None:
    table = ports.table
    if "sweptAt" not in record:
        noted = {"sweptAt": ports.now.isoformat(), "cancelAsked": bool(record.get("cancelRequested"))}
        table.update(restore_id, noted)
    mark_cancelled(restore_id, table)


def _remove_all(restore_id: str, todo: Collection[int], ports: SweepPorts) -> SweptResource:
    record = ports.table.get_whole(restore_id) or {}
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


def remains_of(restore_id: str, record: JsonObject, index: int) -> Remains:
    """Of one volume, as the record knows it."""
    made = record.get(volume_attribute(index)) or {}
    prepared = record.get(preparation_attribute(index)) or {}
    told = bool(record.get(attached_attribute(index)))
    drill = _is_drill(record)
    settled = bool(record.get(settled_attribute(index))) and not drill
    request = record.get("request") or {}
    # Where its mark could not be written the execution went on: it is shown as usable all the same. One that
    # becomes a root volume is warmed up before anybody may use it.
    reboots = bool((request.get("target") or {}).get("reboot"))
    shown = not reboots and record.get(initialization_attribute(index))
    told = told or (reboots and is_swapped(record.get(replaced_attribute(index)) or {}))
    known = prepared if prepared.get("snapshotId") else made
    place = known.get("snapshotId"), known.get("availabilityZone")
    return Remains(
        restore_id=restore_id,
        index=index,
        # A volume that goes back to its snapshot is its owner's, and was there before the restore.
        volume_id=None if rewind_attribute(index) in record else last_volume(record, index),
        instance_id=made.get("instanceId") or (request.get("target") or {}).get("instanceId"),
        place=(str(place[0]), str(place[1])) if all(place) else None,
        announced=not drill and (told or bool(shown) or settled or bool(record.get(RECOVERED))),
        on_failure=OnFailure(request.get("onFailure", OnFailure.CLEAN_UP)),
        fallback=settled,
        starts_instance=bool((request.get("target") or {}).get("start")),
        in_place=settled,
        keeps_copy=bool((request.get("source") or {}).get("keepCopy")),
    )


def _tell(restore_id: str, ending: ExecutionEnd, ports: SweepPorts, *, cancelled: bool) -> bool:
    """Sends the message once and returns whether that is done; after `toldAt` it only corrects the status.

    False where another sweeper is sending it. That may still fail, so the restore must stay findable.
    """
    table = ports.table
    record = table.get_whole(restore_id) or {}
    if record.get("toldAt"):
        table.update(restore_id, {"status": Status.CANCELLED if cancelled else Status.FAILED})
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
    announce(event, table=table, messages=ports.messages, artifacts=pages.artifacts, links=pages.links)
    return True


def _failure(record: JsonObject, ending: ExecutionEnd, *, cancelled: bool) -> Failure:
    """What it had failed with, where it was stopped only after that."""
    known = record.get("failure") or {}
    if "error" in known:
        return Failure(state=known.get("state"), error=known["error"], cause=known.get("cause") or "")
    return Failure(
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
