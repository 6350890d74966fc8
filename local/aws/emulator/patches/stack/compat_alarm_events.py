"""An alarm that changes its state is an event on the default bus, as SetAlarmState makes it, too.

Why: the emulator sends the alarm's own actions only. AWS sends an event of each change of state (CloudWatch
user guide, "Alarm events and EventBridge", from which the fields are). It names no exception for alarms whose
actions are disabled, so there is none here.
"""

from __future__ import annotations

import contextvars
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from local.aws.emulator import seam

PutEvent = Callable[[str, str, dict[str, Any], list[str]], None]
"""Puts an event of a detail type and source, with detail and resources, on the default bus."""


def apply(put_event: PutEvent) -> None:
    """Mend the emulator's CloudWatch."""
    alarms = seam.module("services.cloudwatch")
    dispatch = seam.known(alarms, "_dispatch_alarm_actions", "alarm, old_state, new_state, reason")

    def dispatch_with_event(alarm: dict[str, Any], old_state: str, new_state: str, reason: str) -> None:
        dispatch(alarm, old_state, new_state, reason)
        detail = _detail(alarm, old_state, new_state, reason)
        sent = ("CloudWatch Alarm State Change", "aws.cloudwatch", detail, [alarm["AlarmArn"]])
        # In a thread of its own: what the event starts may call this service again.
        target = contextvars.copy_context().run
        threading.Thread(target=target, args=(put_event, *sent), daemon=True).start()

    dispatch_with_event.__wrapped__ = dispatch  # type: ignore[attr-defined]
    seam.replace(alarms, "_dispatch_alarm_actions", dispatch_with_event)


def _detail(alarm: dict[str, Any], old_state: str, new_state: str, reason: str) -> dict[str, Any]:
    at = datetime.fromtimestamp(time.time(), UTC).strftime("%Y-%m-%dT%H:%M:%S.000+0000")
    return {
        "alarmName": alarm["AlarmName"],
        "configuration": {"description": alarm.get("AlarmDescription", ""), "metrics": []},
        "previousState": {"value": old_state, "timestamp": at},
        "state": {"value": new_state, "reason": reason, "timestamp": at},
    }
