"""PUT, GET and DELETE /runbooks/{alarmName}: what to restore when an alarm goes off."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import asdict, dataclass

from rewarm.contracts.parsing import parse_restore_request
from rewarm.contracts.request import RestoreRequest
from rewarm.domain.errors import InvalidRequestError, RunbookNotFoundError
from rewarm.domain.model import Caller, LeftOut
from rewarm.domain.parts import EVERY_PART, Part, Parts
from rewarm.domain.units import shown
from rewarm.ports import JsonObject
from rewarm.ports.instances import CommandDocuments
from rewarm.ports.restores import RUNBOOK, History, RestoreTable
from rewarm.steps.record.replacing import store
from rewarm.steps.record.restore import asked_through_api
from rewarm.steps.select.hooks import check_document

MAX_ALARM_NAME = 255
"""botocore: cloudwatch PutMetricAlarm AlarmName, at most 255 characters, and no ASCII control characters."""
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


@dataclass(frozen=True, kw_only=True)
class PutRunbookPorts:
    """The ports that put_runbook needs."""

    table: RestoreTable
    documents: CommandDocuments
    stack_name: str
    parts: Parts = EVERY_PART


def put_runbook(
    alarm_name: str,
    body: JsonObject,
    *,
    by: Caller,
    prefix: str,
    ports: PutRunbookPorts,
    replaces: str | None = None,
) -> JsonObject:
    """Checks the fields now, not when the alarm goes off, and the document of `after`.

    Snapshots and instances come and go, so only `POST /plans` checks whether what is named exists.
    `replaces` is what steps/record/replacing.py takes.

    Raises InvalidRequestError, PartLeftOutError, AlreadyStoredError.
    """
    _check_name(alarm_name, prefix)
    request = parse_restore_request(body, ports.parts)
    if request.dry_run:
        raise InvalidRequestError(
            "found true; the alarm would restore nothing. Leave it out; POST /plans with the source "
            f"{json.dumps({'alarm': alarm_name}, ensure_ascii=False)} plans the runbook and creates nothing",
            field="dryRun",
        )
    if request.source.alarm is not None:
        raise InvalidRequestError(
            "a runbook must name what to restore itself, not another alarm", field="source.alarm"
        )
    if request.is_drill:
        raise InvalidRequestError("is filled in when a drill starts; leave it out", field="drill.runbook")
    if request.left_out:
        raise InvalidRequestError("is filled in when the alarm goes off; leave it out", field="leftOut")
    check_document(request, None, stack_name=ports.stack_name, documents=ports.documents)
    what = f"another runbook of {shown(alarm_name)}"
    trigger = asked_through_api(by)
    store(ports.table, (RUNBOOK, alarm_name), request, trigger=trigger, replaces=replaces, what=what)
    return {"alarmName": alarm_name, "request": request.to_json(), "writtenBy": asdict(by)}


def _check_name(alarm_name: str, prefix: str) -> None:
    """Allows only names that CloudWatch allows and the stack's rule accepts."""
    if not 1 <= len(alarm_name) <= MAX_ALARM_NAME or _CONTROL.search(alarm_name):
        raise InvalidRequestError(
            f"found {shown(alarm_name)}; allowed are 1 to {MAX_ALARM_NAME} characters, but no control ones",
            field="alarmName",
        )
    if not alarm_name.startswith(prefix):
        raise InvalidRequestError(
            f"found {shown(alarm_name)}; allowed are names that begin with {shown(prefix)} (the stack's "
            "parameter AlarmNamePrefix): only such alarms start restores",
            field="alarmName",
        )


def get_runbook(alarm_name: str, *, table: RestoreTable, history: History) -> JsonObject:
    """Returns the stored request and the results of its drills. Raises RunbookNotFoundError."""
    item = table.stored(RUNBOOK, alarm_name)
    if item is None:
        raise RunbookNotFoundError(f"the alarm {shown(alarm_name)} has no runbook", field="alarmName")
    drills = history.drills(alarm_name)
    return {
        "alarmName": alarm_name,
        "request": item["request"],
        "writtenBy": written_by(item),
        "drills": drills,
    }


def written_by(item: JsonObject) -> JsonObject | None:
    """Who wrote the runbook or rule; None where another version kept it."""
    by: JsonObject | None = (item.get("trigger") or {}).get("askedBy")
    return by


def delete_runbook(alarm_name: str, *, table: RestoreTable) -> JsonObject:
    """Deletes the runbook. Raises RunbookNotFoundError."""
    if not table.discard(RUNBOOK, alarm_name):
        raise RunbookNotFoundError(f"the alarm {shown(alarm_name)} has no runbook", field="alarmName")
    return {"alarmName": alarm_name, "deleted": True}


def request_of_runbook(
    alarm_name: str, *, table: RestoreTable, parts: Parts = EVERY_PART, changes: JsonObject | None = None
) -> RestoreRequest:
    """The request of an alarm's runbook; `changes` override it, except for its source.

    Leaves out what the runbook names and the stack lacks, if a restore without it is useful and harmless.
    Refuses it in `changes` and in a drill: whoever asks now can ask for less.
    """
    runbook = table.runbook(alarm_name)
    if runbook is None:
        raise RunbookNotFoundError(
            f"the alarm {shown(alarm_name)} has no runbook that says what to restore; "
            f"rewarm runbook put {shlex.quote(alarm_name)} makes one",
            field="source.alarm",
        )
    asked = changes or {}
    if asked.get("drill") is not None:
        parts.need(Part.DRILLS, found="an object", field="drill")
    is_drill = asked.get("drill") is not None
    merged = _with_runbook(asked, runbook if is_drill else _within(parts, runbook, asked))
    request = parse_restore_request(
        _as_drill(merged, asked, alarm_name) if is_drill else {**merged, "drill": None}, parts
    )
    if request.source.alarm is not None:
        raise InvalidRequestError(
            f"the runbook of {shown(alarm_name)} names another alarm; "
            "a runbook must name what to restore itself",
            field="source.alarm",
        )
    return request


def resolve_request(body: JsonObject, *, table: RestoreTable, parts: Parts = EVERY_PART) -> RestoreRequest:
    """The request as sent; if its source is an alarm, the alarm's runbook with the request's changes."""
    source = body.get("source")
    alarm = source.get("alarm") if isinstance(source, dict) else None
    others = (
        {name for name, value in source.items() if value is not None} if isinstance(source, dict) else set()
    )
    if isinstance(alarm, str) and 1 <= len(alarm) <= MAX_ALARM_NAME and others == {"alarm"}:
        return request_of_runbook(alarm, table=table, parts=parts, changes=body)
    request = parse_restore_request(body, parts)
    # The API has replaced the runbook's name with its request, so the execution gets this request.
    if request.drill is not None and not request.is_drill:
        raise InvalidRequestError("only goes with source.alarm: a drill is one of a runbook", field="drill")
    return request


def _with_runbook(request: JsonObject, runbook: JsonObject) -> JsonObject:
    """The runbook, with what the caller asked for differently.

    `source` is always the runbook's; another target replaces the runbook's as a whole.
    """
    merged = dict(runbook)
    for name, value in request.items():
        if name == "source" or value is None:
            continue
        both_objects = name != "target" and isinstance(value, dict) and isinstance(merged.get(name), dict)
        merged[name] = {**merged[name], **value} if both_objects else value
    return merged


def _within(parts: Parts, runbook: JsonObject, asked: JsonObject) -> JsonObject:
    """The runbook without what the stack lacks, and with a list of that."""
    source, target, objective = (runbook.get(name) or {} for name in ("source", "target", "objective"))
    kept = dict(runbook)
    found: list[LeftOut | None] = []
    brings_back = runbook.get("after") and asked.get("after") is None
    of_application = Part.APPLICATIONS
    # A new volume changes nothing that is there, but only a rewind can undo a rewind.
    may_attach = target.get("mode") == "rewind" and not asked.get("target") and not source.get("undoOf")
    if may_attach and parts.lacks(Part.REWINDS):
        found.append(parts.left_out(Part.REWINDS, "target.mode"))
        kept["target"] = {"instanceId": target.get("instanceId"), "mode": "attach"}
        of_application = Part.REWINDS  # its folders have the old volume
    if brings_back and parts.lacks(of_application):
        found.append(parts.left_out(of_application, "after"))
        kept["after"] = None
    is_asked = (asked.get("objective") or {}).get("strategy") is not None
    if objective.get("strategy") == "direct-write" and not is_asked and parts.lacks(Part.REWINDS):
        found.append(parts.left_out(Part.REWINDS, "objective.strategy"))
        kept["objective"] = {**objective, "strategy": "auto"}
    return {**kept, "leftOut": [asdict(left) for left in found if left is not None]}


def _as_drill(runbook: JsonObject, request: JsonObject, name: str) -> JsonObject:
    """The runbook as its drill, to the target of the request or of the runbook's `drill`.

    Raises InvalidRequestError where neither names one: a drill never goes to the runbook's own target.
    """
    drill = runbook["drill"]
    if not isinstance(drill, dict):
        return runbook
    target = request.get("target") or drill.get("target")
    if target is None:
        raise InvalidRequestError(
            "is missing; a drill goes to an instance with the tag rewarm:drills, or to a zone, and "
            "not to the runbook's own target",
            field="drill.target",
        )
    own = {"onFailure": "clean-up", "target": target, "drill": {**drill, "target": None, "runbook": name}}
    return {**runbook, **own, "after": runbook.get("after") if drill.get("after") is True else None}
