"""PUT, GET and DELETE /runbooks/{alarmName}: what to restore when an alarm goes off."""

from __future__ import annotations

import json

from rewarm.contracts import parse_restore_request
from rewarm.domain.errors import InvalidRequestError, RunbookNotFoundError
from rewarm.domain.units import shown
from rewarm.ports import JsonObject
from rewarm.ports.restores import RestoreTable

MAX_ALARM_NAME = 255
"""botocore: cloudwatch PutMetricAlarm AlarmName, at most 255 characters."""
NO_SLASH = "a name with / cannot be part of the address /runbooks/{alarmName}; give the alarm another name"
"""API Gateway does not say what it makes of %2F in a path; where it is taken for /, no route fits."""


def put_runbook(alarm_name: str, body: JsonObject, *, prefix: str, table: RestoreTable) -> JsonObject:
    """Its fields are checked now, not on the worst day; whether what they name is there, `POST /plans` says.

    Raises InvalidRequestError.
    """
    _check_name(alarm_name, prefix)
    request = parse_restore_request(body)
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
    table.put_runbook(alarm_name, request.to_json())
    return {"alarmName": alarm_name, "request": request.to_json()}


def _check_name(alarm_name: str, prefix: str) -> None:
    """Only the names that the stack's rule lets through, and that an address can hold."""
    if not 1 <= len(alarm_name) <= MAX_ALARM_NAME:
        raise InvalidRequestError(
            f"found {shown(alarm_name)}; 1 to {MAX_ALARM_NAME} characters are allowed", field="alarmName"
        )
    if not alarm_name.startswith(prefix):
        raise InvalidRequestError(
            f"found {shown(alarm_name)}; only alarms whose names begin with {shown(prefix)} "
            "(the stack's parameter AlarmNamePrefix) start restores",
            field="alarmName",
        )
    if "/" in alarm_name:
        raise InvalidRequestError(f"found {shown(alarm_name)}; {NO_SLASH}", field="alarmName")


def get_runbook(alarm_name: str, *, table: RestoreTable) -> JsonObject:
    """Raises RunbookNotFoundError."""
    request = table.runbook(alarm_name)
    if request is None:
        raise RunbookNotFoundError(f'the alarm "{alarm_name}" has no runbook', field="alarmName")
    return {"alarmName": alarm_name, "request": request}


def delete_runbook(alarm_name: str, *, table: RestoreTable) -> JsonObject:
    """Raises RunbookNotFoundError."""
    if not table.delete_runbook(alarm_name):
        raise RunbookNotFoundError(f'the alarm "{alarm_name}" has no runbook', field="alarmName")
    return {"alarmName": alarm_name, "deleted": True}
