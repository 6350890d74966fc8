"""State `Parse Request`: makes one complete request of the execution's input, once per event."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator
from datetime import datetime, timedelta
from typing import Literal

from pydantic import Field

from rewarm.contracts.base import Contract, Instant, StepEvent
from rewarm.contracts.request import RestoreRequest
from rewarm.contracts.values import Trigger
from rewarm.domain.errors import (
    InvalidRequestError,
    PartLeftOutError,
    RunbookNotFoundError,
    ServiceUnavailableError,
    TooManyRestoresError,
)
from rewarm.domain.model import Caller
from rewarm.domain.parts import EVERY_PART, Parts
from rewarm.domain.units import elapsed_text, shown
from rewarm.domain.value import Value
from rewarm.domain.volume.holds import AlarmStart, Running
from rewarm.ports import JsonObject
from rewarm.ports.restores import MOST_ROUNDS, Pace, RestoreTable
from rewarm.steps.record.restore import RestoreNotes, Status, parsed_time
from rewarm.steps.registration import Metric, state
from rewarm.steps.request.alarm_events import alarm_trigger, suppression
from rewarm.steps.request.runbooks import request_of_runbook, resolve_request
from rewarm.steps.select.admission import Keeper, enter_stack
from rewarm.steps.select.turns import seconds_until, turn_of_restore

ALARM_SOURCE = "aws.cloudwatch"
OWN_ALARMS = "operations-of-"
"""How the names of the stack's own alarms begin (template.yaml)."""
OLDEST_ALARM = timedelta(hours=1)
"""EventBridge delivers within seconds, but may retry for a day; by then the volume may be in use again."""
REPLAY = "replay-name"
"""EventBridge user guide, "Replaying archived events": the field that it adds to an event."""
MAX_EVENT_KEY = 1_024
"""A key of DynamoDB has 2,048 bytes; a schedule's ARN is far shorter."""


class ParseRequestEvent(StepEvent):
    """The execution's input as it came."""

    started_at: Instant
    input: JsonObject


class ParseRequestResult(Contract):
    """The request with every default filled in, or the restore that already handles the event."""

    outcome: Literal["accepted", "duplicate", "suppressed", "look"]
    request: RestoreRequest | None = None
    trigger: Trigger
    deadline_at: Instant | None = None
    duplicate_of: str | None = None
    wait_seconds: int = Field(
        default=0, ge=0, description="Until it is this restore's turn; EC2 answers so many calls a second."
    )


class ParseRequestPorts(Value, kw_only=True):
    """The ports that parse_request needs."""

    keeper: Keeper
    pace: Pace
    cooldown: timedelta
    alarm_accounts: Collection[str]
    """Whose alarms start restores."""
    region: str
    parts: Parts = EVERY_PART


def _metrics(_event: ParseRequestEvent, result: ParseRequestResult) -> Iterator[Metric]:
    if result.outcome not in {"accepted", "look"}:
        yield Metric("StartsIgnored", dimensions={"outcome": result.outcome})


@state("Parse Request", metrics=_metrics)
def parse_request(
    event: ParseRequestEvent,
    ports: ParseRequestPorts,
) -> ParseRequestResult:
    """Returns the complete request, or why the event starts no restore: mostly an earlier restore.

    A look of rules only waits until it is due.

    Raises InvalidRequestError, PartLeftOutError, RunbookNotFoundError, TooManyRestoresError.
    """
    table = ports.keeper.table
    cooldown = ports.cooldown
    look_at = parsed_time(event.input.get("lookAt"))
    if look_at is not None:
        return _later_look(look_at, event)
    if event.input.get("source") == ALARM_SOURCE:
        trigger = alarm_trigger(event.input)
        _check_origin(event, trigger, ports)
        _check_age(event, trigger, table)
        runbook = table.runbook(trigger.alarm_name or "")
        own = (runbook or {}).get("alarmCooldownMinutes")
        cooldown = ports.cooldown if own is None else timedelta(minutes=own)
        earlier = _earlier_event(event, trigger, runbook, cooldown, ports.keeper)
    else:
        trigger = _requested_by(event.input)
        earlier = _earlier_run(event, trigger, ports.keeper)
    if earlier is not None:
        return _ignored(event, trigger, earlier, table)
    record = RestoreNotes(table, event.restore_id)
    since = event.started_at
    held_until = event.now + cooldown if trigger.kind == "alarm" else None
    request = _request(event, trigger, held_until, record, ports.parts)
    deadline_at = trigger.deadline_at or _deadline(request, since)
    record.note_begun(since, trigger, held_until, request=request.to_json(), deadline_at=deadline_at)
    try:
        enter_stack(request, restore_id=event.restore_id, now=event.now, keeper=ports.keeper)
    except TooManyRestoresError as error:
        record.note_waiting(str(error))
        raise
    return ParseRequestResult(
        outcome="accepted",
        request=request,
        trigger=trigger,
        deadline_at=deadline_at,
        wait_seconds=seconds_until(_turn(event, request, trigger, ports), event.now),
    )


def _turn(
    event: ParseRequestEvent, request: RestoreRequest, trigger: Trigger, ports: ParseRequestPorts
) -> datetime:
    """When the restore may begin to ask EC2."""
    if trigger.turn_at is not None:
        return trigger.turn_at
    if request.dry_run:
        return event.now
    return turn_of_restore(ports.pace, event.now, adopts=request.source.existing is not None)


def _check_origin(event: ParseRequestEvent, trigger: Trigger, ports: ParseRequestPorts) -> None:
    """Other accounts and Regions may send events to this bus, and their alarms may have the same names.

    Raises InvalidRequestError.
    """
    allowed = {"account": ports.alarm_accounts, "region": {ports.region}}
    for name, values in allowed.items():
        found = event.input.get(name)
        if found not in values:
            RestoreNotes(ports.keeper.table, event.restore_id).put_begun(event.started_at, trigger)
            raise InvalidRequestError(
                f"the alarm's event names {shown(found)}; allowed is {' or '.join(sorted(values))}",
                field=name,
            )


def _check_age(event: ParseRequestEvent, trigger: Trigger, table: RestoreTable) -> None:
    """Comes before the alarm is claimed, so that an old event never keeps the next one from restoring.

    Raises InvalidRequestError.
    """
    went_off = parsed_time(event.input.get("time"))
    if went_off is None or event.started_at - went_off <= OLDEST_ALARM:
        return
    RestoreNotes(table, event.restore_id).put_begun(event.started_at, trigger)
    age, most = (each.total_seconds() for each in (event.started_at - went_off, OLDEST_ALARM))
    raise InvalidRequestError(
        f"the alarm went off {elapsed_text(age)} before its event arrived, and after {elapsed_text(most)} "
        "an event starts no restore; if it is still wanted, send POST /restores with source.alarm",
        field="time",
    )


def _request(
    event: ParseRequestEvent,
    trigger: Trigger,
    held_until: datetime | None,
    record: RestoreNotes,
    parts: Parts,
) -> RestoreRequest:
    try:
        if trigger.kind == "alarm":
            return request_of_runbook(trigger.alarm_name or "", table=record.table, parts=parts)
        return resolve_request(_body(event.input), table=record.table, parts=parts)
    except (InvalidRequestError, PartLeftOutError, RunbookNotFoundError):
        record.put_begun(event.started_at, trigger, held_until)
        raise


def _earlier_event(
    event: ParseRequestEvent,
    trigger: Trigger,
    runbook: JsonObject | None,
    cooldown: timedelta,
    keeper: Keeper,
) -> Earlier | None:
    if (trigger.alarm_name or "").startswith(OWN_ALARMS):
        return Earlier("suppressed", None, "it is an alarm about Rewarm itself; a failed restore starts none")
    if REPLAY in event.input:
        return Earlier("suppressed", None, "EventBridge replayed it from an archive")
    suppressed = _suppression(event, trigger, keeper.table)
    if suppressed is not None:
        return Earlier("suppressed", None, suppressed)
    return earlier_delivery(trigger.event_id or event.restore_id, event.restore_id, keeper) or earlier_alarm(
        trigger.alarm_name or "",
        event.restore_id,
        runbook=runbook,
        cooldown=cooldown,
        now=event.now,
        keeper=keeper,
    )


def _suppression(event: ParseRequestEvent, trigger: Trigger, table: RestoreTable) -> str | None:
    """Comes before the alarm is claimed, so that a suppressed alarm begins no cooldown."""
    try:
        return suppression(event.input, trigger.alarm_name or "")
    except InvalidRequestError:
        RestoreNotes(table, event.restore_id).put_begun(event.started_at, trigger)
        raise


def _earlier_run(event: ParseRequestEvent, trigger: Trigger, keeper: Keeper) -> Earlier | None:
    """The earlier restore of a schedule's run. EventBridge Scheduler replaces the placeholder of its time."""
    at = trigger.scheduled_at
    if trigger.kind != "schedule" or at is None or at.startswith("<"):
        return None
    key = f"schedule {trigger.schedule_name} {at}"
    return earlier_delivery(key[:MAX_EVENT_KEY], event.restore_id, keeper)


def _later_look(look_at: datetime, event: ParseRequestEvent) -> ParseRequestResult:
    seconds = seconds_until(look_at, event.now)
    return ParseRequestResult(outcome="look", trigger=Trigger(kind="rule"), wait_seconds=seconds)


def _ignored(
    event: ParseRequestEvent, trigger: Trigger, earlier: Earlier, table: RestoreTable
) -> ParseRequestResult:
    """Notes the event in the table, so that whoever looks for it finds the restore that handles it."""
    RestoreNotes(table, event.restore_id).put_ignored(
        earlier.outcome, event.started_at, trigger, owner_id=earlier.restore_id, reason=earlier.reason
    )
    return ParseRequestResult(outcome=earlier.outcome, trigger=trigger, duplicate_of=earlier.restore_id)


def _body(execution_input: JsonObject) -> JsonObject:
    body = execution_input.get("request")
    if not isinstance(body, dict):
        raise InvalidRequestError(
            f"found {shown(sorted(execution_input))}; allowed is an object with request and trigger, or an "
            "EventBridge event of a CloudWatch alarm",
            field="input",
        )
    return body


def _requested_by(execution_input: JsonObject) -> Trigger:
    _body(execution_input)
    kind = execution_input.get("trigger") or {"kind": "api"}
    allowed = {"api", "schedule", "fleet", "rule"}
    if not isinstance(kind, dict) or kind.get("kind") not in allowed:
        raise InvalidRequestError(
            f"found {shown(kind)}; allowed is api, schedule, fleet or rule", field="trigger.kind"
        )
    trigger = Trigger.model_validate(kind)
    if trigger.kind != "schedule":
        return trigger
    name = trigger.schedule_name
    return trigger.model_copy(update={"asked_by": Caller("schedule", f"schedule {name}") if name else None})


def _deadline(request: RestoreRequest, started_at: datetime) -> datetime | None:
    minutes = request.objective.ready_within_minutes
    return None if minutes is None else started_at + timedelta(minutes=minutes)


class Earlier(Value):
    """The restore that already handles an event; without id where none does, and the event is ignored."""

    outcome: Literal["duplicate", "suppressed"]
    restore_id: str | None
    reason: str


def earlier_delivery(key: str, restore_id: str, keeper: Keeper) -> Earlier | None:
    """Returns the restore of an earlier delivery; None for the first. EventBridge delivers at least once."""
    owner = keeper.table.claim_event(key, restore_id)
    if owner == restore_id:
        return None
    return Earlier("duplicate", owner, "it was delivered twice")


def earlier_alarm(
    alarm_name: str,
    restore_id: str,
    *,
    runbook: JsonObject | None,
    cooldown: timedelta,
    now: datetime,
    keeper: Keeper,
) -> Earlier | None:
    """Returns the alarm's last restore until it has ended and its cooldown is over; else None.

    One that was suppressed, because another restore had its device, begins no cooldown. Raises
    ServiceUnavailableError.
    """
    digest = _digest(runbook)
    for _round in range(MOST_ROUNDS):
        last = keeper.holds.alarm(alarm_name)
        if last is not None and last.restore_id == restore_id:
            return None
        if last is not None and keeper.table.standing(last.restore_id).status != Status.SUPPRESSED:
            ends = last.cooldown_ends(cooldown, digest)
            if now < ends:
                return Earlier("suppressed", last.restore_id, f"the cooldown ends at {ends:%H:%M:%S} UTC")
            is_noted = keeper.holds.entry(last.restore_id) is not None
            if is_noted and not keeper.is_over(Running(last.restore_id, last.at), now):
                return Earlier("suppressed", last.restore_id, "it still runs")
        if keeper.holds.keep_alarm(alarm_name, last, AlarmStart(restore_id, now, digest)):
            return None
    raise ServiceUnavailableError(f'the alarm "{alarm_name}" goes off all the time; try again')


def _digest(runbook: JsonObject | None) -> str:
    return hashlib.sha256(json.dumps(runbook, sort_keys=True).encode()).hexdigest()[:16]
