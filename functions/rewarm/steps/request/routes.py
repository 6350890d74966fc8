"""The routes of one restore: POST /restores, GET and DELETE /restores/{id}, and the page behind a link.

POST refuses at once everything that can be refused; then the state machine takes over. GET shows the record,
with the current progress of the agent and of copy-blocks. DELETE asks the restore to stop: waiting states are
woken, and the next state cleans up.

GET /pages/{token} shows the page to whoever has the link. A restore that has ended has its page in the
bucket, and the answer leads there. Until then each look draws the page from the record. So it is always up to
date, and nothing has to write it.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from datetime import datetime, timedelta

from rewarm.domain.errors import (
    RestoreEndedError,
    RestoreError,
    RestoreNotFoundError,
    ServiceUnavailableError,
)
from rewarm.domain.fleets import is_fleet
from rewarm.domain.model import Caller
from rewarm.domain.parts import EVERY_PART, Parts
from rewarm.domain.units import iso
from rewarm.domain.value import Value
from rewarm.ports import JsonObject
from rewarm.ports.artifacts import Artifacts
from rewarm.ports.executions import Executions, RestoreExecutions, Tasks, Waiters
from rewarm.ports.instances import CommandDocuments
from rewarm.ports.messages import LinkedPage, PageLinks
from rewarm.ports.restores import Holds, RestoreTable
from rewarm.steps.record.bucket import ANSWER_SECONDS, page_url
from rewarm.steps.record.loading import copying_progress
from rewarm.steps.record.lost_records import is_lost, recovered
from rewarm.steps.record.restore import (
    KnownRestore,
    LookAtWaysBack,
    RestoreNotes,
    Status,
    asked_through_api,
    cancelled_news,
)
from rewarm.steps.record.volume import KnownVolume
from rewarm.steps.record.way_back import shown_way_back
from rewarm.steps.request.runbooks import resolve_request
from rewarm.steps.select.admission import HoldingPorts, Keeper, assign_and_hold, enter_stack
from rewarm.steps.select.hooks import check_document
from rewarm.steps.select.release_target import give_back
from rewarm.steps.select.sources import Selected
from rewarm.steps.warm.wake_up import wake_waiting


class StartRestorePorts(HoldingPorts, kw_only=True):
    """The ports that start_restore needs."""

    executions: Executions
    documents: CommandDocuments
    stack_name: str
    parts: Parts = EVERY_PART


def start_restore(
    body: JsonObject,
    *,
    restore_id: str,
    by: Caller,
    now: datetime,
    ports: StartRestorePorts,
) -> JsonObject:
    """Starts the restore; the same restore id starts only one.

    Raises TargetBusyError, TooManyRestoresError, and every error that names a field of the request.
    """
    record = RestoreNotes(ports.keeper.table, restore_id)
    known = record.read()
    trigger = asked_through_api(by)
    if known.status == Status.READY:
        # The first answer was lost, and the restore was quick.
        return _accepted(restore_id)
    if known.request_json is not None and not known.is_finished:
        # The first answer was lost: the devices are held by this restore, and its volumes may use them.
        _started(record, known.request_json, known.trigger_json or trigger, ports.executions)
        return _accepted(restore_id)
    request = resolve_request(body, table=record.table, parts=ports.parts)
    enter_stack(request, restore_id=restore_id, now=now, keeper=ports.keeper)
    with _given_back_after_errors(restore_id, ports.keeper):
        selected = assign_and_hold(request, restore_id=restore_id, now=now, ports=ports)
        platform = selected.volumes[0].platform
        check_document(request, platform, stack_name=ports.stack_name, documents=ports.documents)
    # If a service did not answer, the restore may have started, and then needs what it holds. If not, its
    # record says that it failed, so others can take its place.
    with _given_back_after_errors(restore_id, ports.keeper, but=ServiceUnavailableError):
        record.note_accepted(request.to_json(), trigger, now)
        _started(record, request.to_json(), trigger, ports.executions)
    return _accepted(restore_id, selected)


@contextmanager
def _given_back_after_errors(
    restore_id: str, keeper: Keeper, *, but: type[RestoreError] | tuple[()] = ()
) -> Iterator[None]:
    """Releases the restore's place in the stack and its devices after an error."""
    try:
        yield
    except but:
        raise
    except RestoreError:
        with suppress(RestoreError):
            give_back(restore_id, None, holds=keeper.holds)
        raise


def _started(record: RestoreNotes, request: JsonObject, trigger: JsonObject, starter: Executions) -> None:
    try:
        starter.start(record.restore_id, {"request": request, "trigger": trigger})
    except RestoreError as error:
        record.note_not_started(str(error))
        raise


def _accepted(restore_id: str, selected: Selected | None = None) -> JsonObject:
    """The answer; to a repeated call, for which nothing is selected again, it only names the restore."""
    known: JsonObject = {
        "waitsBecause": selected.waits_because if selected else None,
        "leftOut": [asdict(left) for left in selected.request.left_out] if selected else [],
    }
    return {"restoreId": restore_id, "status": Status.ACCEPTED.value, **known, "links": links(restore_id)}


def links(restore_id: str) -> JsonObject:
    """Where to look next, and how to stop it."""
    return {"self": f"/restores/{restore_id}", "cancel": f"/restores/{restore_id}"}


def restore_id_of(call: JsonObject, *, table: RestoreTable, now: datetime, window: timedelta) -> str:
    """The restore's id, which follows from the call, so that a retried call starts nothing twice.

    An execution's name can be used once in 90 days (botocore: stepfunctions StartExecution). So the same call
    gets another id after the window, and after a restore that failed: with the first id nothing would start.
    """
    for number in itertools.count():
        text = json.dumps(call, sort_keys=True) + (f" {number}" if number else "")
        restore_id = f"restore-{hashlib.sha256(text.encode()).hexdigest()[:16]}"
        if not _is_used_up(RestoreNotes(table, restore_id).read(), now - window):
            return restore_id
    raise AssertionError("there is always a next number")


def _is_used_up(record: KnownRestore, since: datetime) -> bool:
    if record.goes_on:
        return False
    # Until the message is sent, the start may have taken effect although its answer was lost.
    came_to_nothing = record.status != Status.READY and record.message_sent_at is not None
    return came_to_nothing or (record.started_at is not None and record.started_at < since)


class GetRestorePorts(Value, kw_only=True):
    """The ports that get_restore needs."""

    table: RestoreTable
    artifacts: Artifacts
    holds: Holds
    witness: RestoreExecutions | None = None
    """Step Functions, which knows a restore whose record is lost."""
    links: PageLinks | None = None
    way_back: LookAtWaysBack | None = None
    """None: no ways back are shown."""


def get_restore(
    restore_id: str, ports: GetRestorePorts, *, known: str | None = None, now: datetime | None = None
) -> JsonObject | None:
    """Returns the record of the restore and its volumes as JSON; None if it still has the `known` version.

    With `now`, it has a link even to a page that is drawn at each call. Raises RestoreNotFoundError.
    """
    record = found_record(restore_id, RestoreNotes(ports.table, restore_id).read_whole(), ports)
    if record.version == known:
        return None
    answer = _answer(restore_id, ports.way_back(record) if ports.way_back else record, ports)
    if answer["reportUrl"] is None and now is not None:
        answer["reportUrl"] = _live_url(restore_id, now, ports.links)
    return answer


def _answer(restore_id: str, record: KnownRestore, ports: GetRestorePorts) -> JsonObject:
    shown = record.public()
    for volume in shown["volumes"]:
        index = volume["index"]
        if not record.is_finished:
            volume["agent"] = _agent(record.volume(index), ports.artifacts)
            if "copying" in volume:
                volume["copying"] = copying_progress(restore_id, index, volume["copying"], ports.artifacts)
        if ports.way_back is not None:
            volume.update(shown_way_back(record, index))
        if "report" in volume:
            url = _url(record.volume(index).report.page_key, ports.artifacts)
            volume["report"] = {**volume["report"], "reportUrl": url}
    shown["volumes"].sort(key=lambda volume: volume["index"])
    own = {"restoreId": restore_id, "version": record.version}
    return {**own, **shown, "reportUrl": _url(record.page_key, ports.artifacts)}


def found_record(
    restore_id: str, record: KnownRestore, ports: GetRestorePorts | CancelRestorePorts
) -> KnownRestore:
    """The record, made again if it is lost. Raises RestoreNotFoundError."""
    is_known = record.is_known
    if is_lost(record) and ports.witness is not None:
        whole = RestoreNotes(ports.table, restore_id).read_whole()
        record = recovered(restore_id, whole, table=ports.table, executions=ports.witness, holds=ports.holds)
        is_known = record.status is not None
    if not is_known or is_fleet(restore_id):
        raise RestoreNotFoundError(f"there is no restore {restore_id}")
    return record


def _url(page_key: str | None, artifacts: Artifacts) -> str | None:
    """A new link, valid for an hour at most."""
    return page_url(page_key, artifacts, seconds=ANSWER_SECONDS)


def _live_url(restore_id: str, now: datetime, links: PageLinks | None) -> str | None:
    until = now + timedelta(seconds=ANSWER_SECONDS)
    with suppress(RestoreError):
        return links.link(LinkedPage(restore_id, None), until=until) if links is not None else None
    return None


def _agent(volume: KnownVolume, artifacts: Artifacts) -> JsonObject | None:
    sent = volume.command.dispatch
    return artifacts.get_json(sent.progress_key) if sent is not None and sent.progress_key else None


class CancelRestorePorts(Value, kw_only=True):
    """The ports that cancel_restore needs."""

    table: RestoreTable
    waiters: Waiters
    tasks: Tasks
    holds: Holds
    witness: RestoreExecutions | None = None
    """Step Functions, which knows a restore whose record is lost."""


def cancel_restore(restore_id: str, *, by: Caller, now: datetime, ports: CancelRestorePorts) -> JsonObject:
    """Cancels the restore. Asking again changes nothing. Raises RestoreNotFoundError, RestoreEndedError.

    A volume at full speed is kept. A conditional write decides whether the cancellation or the last volume's
    full speed came first.
    """
    restore = RestoreNotes(ports.table, restore_id)
    record = found_record(restore_id, restore.read(), ports)
    asked_before = record.cancel_requested
    if not asked_before:
        _stop_if_ended(restore_id, record)
    if not record.is_finished:
        if not restore.cancel(None if asked_before else by) and not asked_before:
            mark, why = record.way_back()
            if mark is not None:
                raise RestoreEndedError(f"{restore_id} {why}")
            own = "" if record.request.is_adoption else "; one that is not wanted any more is yours to delete"
            raise RestoreEndedError(
                f"{restore_id} is ready: what costs money is being released, and its volumes are at full "
                f"speed{own}"
            )
        if not asked_before:
            restore.append_event(cancelled_news(by, now))
        wake_waiting(restore_id, record.indexes, waiters=ports.waiters, tasks=ports.tasks)
    return {"restoreId": restore_id, "status": record.status, "cancelRequested": True}


def _stop_if_ended(restore_id: str, record: KnownRestore) -> None:
    if record.is_finished:
        raise RestoreEndedError(f"{restore_id} has ended: it is {record.status}; nothing is left to cancel")
    if not record.goes_on:
        raise RestoreEndedError(f"{restore_id} was a dry run: there is nothing to cancel")


class ShownPage(Value):
    """Where the page is, or what it is drawn from."""

    url: str | None
    account: JsonObject


def show_page(token: str, *, now: datetime, links: PageLinks, ports: GetRestorePorts) -> ShownPage:
    """Returns the page that the link opens. Raises RestoreNotFoundError if the link is wrong or expired."""
    page = links.page_of(token, now=now)
    if page is None:
        raise RestoreNotFoundError("the link is wrong, or its time is over")
    record = RestoreNotes(ports.table, page.restore_id).read_whole()
    url = page_url(_key(page, record), ports.artifacts, seconds=ANSWER_SECONDS)
    if url is not None:
        return ShownPage(url, {})
    account = get_restore(page.restore_id, ports) or {}
    settled = [index for index in record.indexes if record.settled(index)]
    return ShownPage(None, {**account, "at": iso(now), "running": record.goes_on, "settled": settled})


def _key(page: LinkedPage, record: KnownRestore) -> str | None:
    """The key of the page in the bucket; None if it is not written yet."""
    if page.volume_index is not None:
        return record.volume(page.volume_index).report.page_key
    has_ended = is_fleet(page.restore_id) or not record.goes_on
    return record.page_key if has_ended else None
