"""Rewarm's own events on EventBridge, for other programs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from rewarm.adapters.aws_errors import meaning, naming_errors
from rewarm.adapters.messages import Audience
from rewarm.ports import JsonObject

if TYPE_CHECKING:
    from mypy_boto3_events.client import EventBridgeClient

SOURCE = "rewarm"


class EventBus:
    """One channel of MessageFanOut."""

    name = "eventbridge"
    audience: Audience = "programs"

    def __init__(self, events: EventBridgeClient, bus: str) -> None:
        self._events = events
        self._bus = bus

    def send(self, message: JsonObject) -> None:
        """Put it on the bus; PutEvents tells of a refused event in an answer with HTTP 200."""
        with naming_errors():
            answer = self._events.put_events(
                Entries=[
                    {
                        "EventBusName": self._bus,
                        "Source": SOURCE,
                        "DetailType": detail_type(str(message["event"])),
                        "Detail": json.dumps(message),
                    }
                ]
            )
        for entry in answer["Entries"]:
            if "ErrorCode" in entry:
                code, text = entry["ErrorCode"], entry.get("ErrorMessage", "")
                raise meaning("PutEvents", code, text)(f"PutEvents: {code}: {text}")


def detail_type(event: str) -> str:
    """`Rewarm Restore Ready`; what is about something else names it: `Rewarm Performance Changed`."""
    words = event.replace("-", " ").title()
    return f"Rewarm {words}" if " " in words else f"Rewarm Restore {words}"
