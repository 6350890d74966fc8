"""POST /restores: everything that can be refused is refused at once; then the state machine takes over."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

from rewarm.domain.errors import RestoreError, ServiceUnavailableError
from rewarm.domain.units import iso
from rewarm.ports import JsonObject
from rewarm.ports.executions import Executions
from rewarm.ports.restores import RestoreTable
from rewarm.steps.record.records import FINISHED, Status, parsed_time
from rewarm.steps.request.runbooks import resolve_request
from rewarm.steps.select.target_lock import HoldingPorts, Keeper, assign_and_hold, enter_stack, give_back

TRIGGER: JsonObject = {"kind": "api"}


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
