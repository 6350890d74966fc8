"""The routes of one restore: POST /restores, GET and DELETE /restores/{id}.

POST refuses at once everything that can be refused; then the state machine takes over. GET shows the record,
with the progress of the agent and of copy-blocks as it is at this moment. DELETE asks the restore to stop:
whoever waits is woken, and the next state cleans up.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

from rewarm.domain.errors import (
    RestoreEndedError,
    RestoreError,
    RestoreNotFoundError,
    ServiceUnavailableError,
)
from rewarm.domain.fleets import is_fleet
from rewarm.domain.ready.waits import approval_signal, cancel_signal
from rewarm.domain.units import iso
from rewarm.ports import JsonObject
from rewarm.ports.artifacts import Artifacts
from rewarm.ports.executions import Executions, RestoreExecutions, Tasks, Waiters
from rewarm.ports.holds import Holds
from rewarm.ports.messages import LinkedPage, PageLinks
from rewarm.ports.restores import RestoreTable
from rewarm.steps.record.bucket import ANSWER_SECONDS, page_url
from rewarm.steps.record.copying import copying_progress
from rewarm.steps.record.lost_records import is_lost, recovered
from rewarm.steps.record.records import (
    FINISHED,
    WRITING,
    Status,
    attached_attribute,
    events,
    indexes,
    name_and_index,
    parsed_time,
    plans,
    settled_attribute,
)
from rewarm.steps.request.runbooks import resolve_request
from rewarm.steps.select.admission import HoldingPorts, Keeper, assign_and_hold, enter_stack, give_back

TRIGGER: JsonObject = {"kind": "api"}

MOST_AT_ONCE = 100
"""DynamoDB developer guide, "Constraints": an expression has up to 300 operators."""


@dataclass(frozen=True, kw_only=True)
class StartRestorePorts(HoldingPorts):
    """The ports that start_restore needs."""

    executions: Executions


def start_restore(
    body: JsonObject,
    *,
    restore_id: str,
    now: datetime,
    ports: StartRestorePorts,
) -> JsonObject:
    """The same restore id starts one restore only.

    Raises TargetBusyError, TooManyRestoresError, and every error that names a field of the request.
    """
    table = ports.keeper.table
    known = table.get(restore_id)
    if known is not None and known.get("status") == Status.READY:
        # Its answer was lost, too, and it was quick.
        return _accepted(restore_id)
    if known is not None and known.get("status") not in FINISHED and "request" in known:
        # Its answer was lost: the devices are its own by now, and may be in use by its own volumes.
        _started(restore_id, known["request"], table, ports.executions)
        return _accepted(restore_id)
    request = resolve_request(body, table=table)
    enter_stack(request, restore_id=restore_id, now=now, keeper=ports.keeper)
    with _given_back_after_errors(restore_id, ports.keeper):
        assign_and_hold(request, restore_id=restore_id, now=now, ports=ports)
    record = {
        "status": Status.ACCEPTED.value,
        "startedAt": iso(now),
        "request": request.to_json(),
        "trigger": TRIGGER,
    }
    # Where a service did not answer it may have been started all the same, and then needs what it holds; else
    # its record, which says that it failed, lets others take its place.
    with _given_back_after_errors(restore_id, ports.keeper, but=ServiceUnavailableError):
        if not table.put_new(restore_id, record):
            table.update(restore_id, record)
        _started(restore_id, request.to_json(), table, ports.executions)
    return _accepted(restore_id)


@contextmanager
def _given_back_after_errors(
    restore_id: str, keeper: Keeper, *, but: type[RestoreError] | tuple[()] = ()
) -> Iterator[None]:
    """The restore's place in the stack, and its devices."""
    try:
        yield
    except but:
        raise
    except RestoreError:
        with suppress(RestoreError):
            give_back(restore_id, holds=keeper.holds)
        raise


def _started(restore_id: str, request: JsonObject, table: RestoreTable, starter: Executions) -> None:
    try:
        starter.start(restore_id, {"request": request, "trigger": TRIGGER})
    except RestoreError as error:
        table.update(restore_id, {"status": Status.FAILED.value, "failure": {"cause": str(error)}})
        raise


def _accepted(restore_id: str) -> JsonObject:
    return {"restoreId": restore_id, "status": Status.ACCEPTED.value, "links": links(restore_id)}


def links(restore_id: str) -> JsonObject:
    """Where to look next, and how to stop it."""
    return {"self": f"/restores/{restore_id}", "cancel": f"/restores/{restore_id}"}


def restore_id_of(call: JsonObject, *, table: RestoreTable, now: datetime, window: timedelta) -> str:
    """It follows from the call, so that a start whose answer got lost starts nothing twice.

    An execution's name is good for one start in 90 days (botocore: stepfunctions StartExecution). So the call
    after the window, or after a restore that has come to nothing, gets another name: with the first one's
    nothing would start, or be over before it began.
    """
    for number in itertools.count():
        text = json.dumps(call, sort_keys=True) + (f" {number}" if number else "")
        restore_id = f"restore-{hashlib.sha256(text.encode()).hexdigest()[:16]}"
        record = table.get(restore_id)
        if record is None or not _is_used_up(record, now - window):
            return restore_id
    raise AssertionError("there is always a next number")


def _is_used_up(record: JsonObject, since: datetime) -> bool:
    status, started_at = record.get("status"), parsed_time(record.get("startedAt"))
    is_dry_run = bool((record.get("request") or {}).get("dryRun"))
    ended = status in FINISHED or (is_dry_run and status == Status.PLANNED)
    if not ended:
        return False
    # Before a message is sent, the start may have taken effect although its answer was lost.
    came_to_nothing = status != Status.READY and "toldAt" in record
    return came_to_nothing or (started_at is not None and started_at < since)


@dataclass(frozen=True, kw_only=True)
class GetRestorePorts:
    """The ports that get_restore needs."""

    table: RestoreTable
    artifacts: Artifacts
    holds: Holds
    witness: RestoreExecutions | None = None
    """Step Functions, which knows a restore whose record is lost."""
    links: PageLinks | None = None


def get_restore(
    restore_id: str, ports: GetRestorePorts, *, known: str | None = None, now: datetime | None = None
) -> JsonObject | None:
    """Returns the record of the restore and its volumes as JSON; None where it still has the `known` version.

    With the time it has a link also where the page is drawn at each look. Raises RestoreNotFoundError.
    """
    record = found_record(restore_id, ports.table.get_whole(restore_id), ports)
    version = _version(record)
    if version == known:
        return None
    answer = _answer(restore_id, version, record, ports)
    if answer["reportUrl"] is None and now is not None:
        answer["reportUrl"] = _live_url(restore_id, now, ports.links)
    return answer


def _version(record: JsonObject) -> str:
    """Another one after every write that changed anything."""
    text = json.dumps(record, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _answer(restore_id: str, version: str, record: JsonObject, ports: GetRestorePorts) -> JsonObject:
    general: JsonObject = {}
    volumes: dict[int, JsonObject] = {}
    for name, value in record.items():
        concern, index = name_and_index(name)
        if index is None:
            general[name] = value
        elif concern != "plan" and isinstance(value, dict):
            volumes.setdefault(index, {"index": index})[concern] = value
    live = record.get("status") not in FINISHED
    for volume in volumes.values():
        if live:
            volume["agent"] = _agent(volume, ports.artifacts)
            if "copying" in volume:
                volume["copying"] = copying_progress(
                    restore_id, volume["index"], volume["copying"], ports.artifacts
                )
        if "report" in volume:
            volume["report"] |= {"reportUrl": _url(volume["report"], ports.artifacts)}
    return {
        "restoreId": restore_id,
        "version": version,
        **general,
        "plans": plans(record),
        "events": events(record),
        "reportUrl": _url(record, ports.artifacts),
        "volumes": [volumes[index] for index in sorted(volumes)],
    }


def found_record(
    restore_id: str, record: JsonObject | None, ports: GetRestorePorts | CancelRestorePorts
) -> JsonObject:
    """The record, made again where it is lost. Raises RestoreNotFoundError."""
    if is_lost(record) and ports.witness is not None:
        whole = ports.table.get_whole(restore_id)
        record = recovered(restore_id, whole, table=ports.table, executions=ports.witness, holds=ports.holds)
        record = record if record is not None and "status" in record else None
    if record is None or is_fleet(restore_id):
        raise RestoreNotFoundError(f"there is no restore {restore_id}")
    return record


def _url(holder: JsonObject, artifacts: Artifacts) -> str | None:
    """A fresh link, for an hour at most."""
    return page_url(holder.get("pageKey"), artifacts, seconds=ANSWER_SECONDS)


def _live_url(restore_id: str, now: datetime, links: PageLinks | None) -> str | None:
    until = now + timedelta(seconds=ANSWER_SECONDS)
    with suppress(RestoreError):
        return links.link(LinkedPage(restore_id, None), until=until) if links is not None else None
    return None


def _agent(volume: JsonObject, artifacts: Artifacts) -> JsonObject | None:
    key = volume.get("command", {}).get("dispatch", {}).get("progressKey")
    return artifacts.get_json(key) if isinstance(key, str) else None


@dataclass(frozen=True, kw_only=True)
class CancelRestorePorts:
    """The ports that cancel_restore needs."""

    table: RestoreTable
    waiters: Waiters
    tasks: Tasks
    holds: Holds
    witness: RestoreExecutions | None = None
    """Step Functions, which knows a restore whose record is lost."""


def cancel_restore(
    restore_id: str,
    ports: CancelRestorePorts,
) -> JsonObject:
    """Asking again changes nothing. Raises RestoreNotFoundError, RestoreEndedError.

    A volume that is at full speed is kept. Who comes first, the end of the last volume or this, the table
    decides.
    """
    record = found_record(restore_id, ports.table.get(restore_id), ports)
    asked_before = bool(record.get("cancelRequested"))
    if not asked_before:
        _stop_if_ended(restore_id, record)
    if record.get("status") not in FINISHED:
        if not mark_cancelled(restore_id, ports.table) and not asked_before:
            mark, why = _no_way_back(record)
            if mark is not None:
                raise RestoreEndedError(f"{restore_id} {why}")
            raise RestoreEndedError(
                f"{restore_id} is ready: its volumes are at full speed, and what costs money is being "
                "released; a volume that is not wanted any more is yours to delete"
            )
        wake_waiting(restore_id, record, waiters=ports.waiters, tasks=ports.tasks)
    return {"restoreId": restore_id, "status": record.get("status"), "cancelRequested": True}


def _no_way_back(record: JsonObject) -> tuple[str | None, str]:
    """(the mark of the record after which it cannot be cancelled, why); None where there is none."""
    target = (record.get("request") or {}).get("target") or {}
    if target.get("mode") == "rewind":
        return WRITING, (
            "writes the blocks of its snapshot, so that a volume would be mixed; wait until it has ended. "
            "The snapshot that it has made of the volume undoes it"
        )
    if target.get("reboot"):
        return attached_attribute(0), (
            f"has asked EC2 to swap the root volume of {target.get('instanceId')}; wait until it has ended. "
            "The old volume is kept, and can be swapped in again"
        )
    return None, ""


def mark_cancelled(restore_id: str, table: RestoreTable) -> bool:
    """False where all volumes are at full speed, a rewind writes, or EC2 swaps a root volume.

    Those that are not yet are looked at a part at a time; where all of a part get there in that moment, the
    next part is asked.
    """
    while True:
        record = table.get(restore_id) or {}
        mark, _ = _no_way_back(record)
        if mark is not None:
            return not record.get(mark) and table.request_cancel(restore_id, unless=[mark])
        names = [settled_attribute(index) for index in indexes(record)]
        open_ones = [name for name in names if not record.get(name)]
        if names and not open_ones:
            return False
        if table.request_cancel(restore_id, unless=open_ones[:MOST_AT_ONCE]):
            return True


def wake_waiting(restore_id: str, record: JsonObject, *, waiters: Waiters, tasks: Tasks) -> int:
    """How many waited and now look: the restore for its approval, or volumes for an event of AWS."""
    signals = [approval_signal(restore_id), *(cancel_signal(restore_id, at) for at in indexes(record))]
    return sum(tasks.wake(token) for signal in signals for token in waiters.take(signal))


def _stop_if_ended(restore_id: str, record: JsonObject) -> None:
    status = record.get("status")
    if status in FINISHED:
        raise RestoreEndedError(f"{restore_id} has ended: it is {status}; nothing is left to cancel")
    if status == Status.PLANNED and (record.get("request") or {}).get("dryRun"):
        raise RestoreEndedError(f"{restore_id} was a dry run: there is nothing to cancel")
