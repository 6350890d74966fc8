"""PUT, GET and DELETE /runbooks/{alarmName}: what to restore when an alarm goes off."""

from __future__ import annotations

from rewarm.contracts import parse_restore_request
from rewarm.domain.errors import InvalidRequestError, RunbookNotFoundError
from rewarm.domain.units import shown
from rewarm.ports import JsonObject, RestoreTable

MAX_ALARM_NAME = 255
"""botocore: cloudwatch PutMetricAlarm AlarmName, at most 255 characters."""


def put_runbook(alarm_name: str, body: JsonObject, *, table: RestoreTable) -> JsonObject:
    """Checked now, not on the worst day. Raises InvalidRequestError."""
    if not 1 <= len(alarm_name) <= MAX_ALARM_NAME:
        raise InvalidRequestError(
            f"found {shown(alarm_name)}; 1 to {MAX_ALARM_NAME} characters are allowed", field="alarmName"
        )
    request = parse_restore_request(body)
    if request.source.alarm is not None:
        raise InvalidRequestError(
            "a runbook must name what to restore itself, not another alarm", field="source.alarm"
        )
    table.put_runbook(alarm_name, request.to_json())
    return {"alarmName": alarm_name, "request": request.to_json()}


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
