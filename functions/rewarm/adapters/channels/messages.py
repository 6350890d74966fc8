"""Sends each message to every channel; a channel that fails never keeps the message from the others.

Rewarm's own events on EventBridge are for other programs. One SNS topic has plain text for e-mail and
programs; the other has Amazon Q Developer's schema for chat.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Literal, Protocol

from rewarm.adapters.aws_errors import meaning, naming_errors
from rewarm.domain.units import clock_text
from rewarm.ports import JsonObject

if TYPE_CHECKING:
    from mypy_boto3_events.client import EventBridgeClient
    from mypy_boto3_sns.client import SNSClient

LOG = logging.getLogger(__name__)

Audience = Literal["slack", "email", "programs"]
"""Audiences that a request's `notify` can leave out; programs always get the message."""


class Channel(Protocol):
    """One way to send messages."""

    name: str
    audience: Audience

    def send(self, message: JsonObject) -> None:
        """Delivers the message. Raises an error of domain/errors.py if it was not accepted."""


class MessageFanOut:
    """The port Messages."""

    def __init__(self, channels: Sequence[Channel], refused: Callable[[], None] = lambda: None) -> None:
        self._channels = channels
        self._refused = refused
        """Called for each message that a channel refuses."""

    def send(self, message: JsonObject) -> list[str]:
        notify = message.get("notify") or {}
        wanted = [channel for channel in self._channels if notify.get(channel.audience, True)]
        return [channel.name for channel in wanted if self._taken(channel, message)]

    def _taken(self, channel: Channel, message: JsonObject) -> bool:
        try:
            channel.send(message)
        except Exception as error:  # a message must not fail a restore
            # No traceback, because it could show the address of a webhook.
            LOG.warning("%s did not take the message: %s: %s", channel.name, type(error).__name__, error)
            self._refused()
            return False
        return True


def shortened(text: str, limit: int) -> str:
    """Returns the text, or its beginning and an ellipsis: at most `limit` characters."""
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


SOURCE = "rewarm"


class EventBus:
    """The channel of MessageFanOut for other programs."""

    name = "eventbridge"
    audience: Audience = "programs"

    def __init__(self, events: EventBridgeClient, bus: str) -> None:
        self._events = events
        self._bus = bus

    def send(self, message: JsonObject) -> None:
        """Puts the message on the bus. PutEvents reports a refused event in an answer with HTTP 200."""
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
                code = entry["ErrorCode"]
                text = entry.get("ErrorMessage", "")
                raise meaning("PutEvents", code, text)(f"PutEvents: {code}: {text}")


def detail_type(event: str) -> str:
    """Returns `Rewarm Restore Ready`, or if the event names its subject `Rewarm Performance Changed`."""
    words = event.replace("-", " ").title()
    return f"Rewarm {words}" if " " in words else f"Rewarm Restore {words}"


_SUBJECT = 100
_TITLE = 250
_DESCRIPTION = 8_000
_NEXT_STEP = 350
_KEYWORD = 75


class NotificationTopic:
    """One channel of MessageFanOut; subscribers can filter by event, severity and restoreId."""

    name = "email"
    audience: Audience = "email"

    def __init__(self, sns: SNSClient, topic_arn: str) -> None:
        self._sns = sns
        self._topic_arn = topic_arn

    def send(self, message: JsonObject) -> None:
        """Publish it as plain text."""
        attributes = {
            name: {"DataType": "String", "StringValue": str(message[name])}
            for name in ("event", "severity", "restoreId")
        }
        with naming_errors():
            self._sns.publish(
                TopicArn=self._topic_arn,
                Subject=subject(message["title"]),
                Message=plain_text(message),
                MessageAttributes=attributes,  # type: ignore[arg-type]
            )


class ChatTopic:
    """One channel of MessageFanOut, read by Amazon Q Developer in chat applications."""

    name = "chat"
    audience: Audience = "slack"

    def __init__(self, sns: SNSClient, topic_arn: str) -> None:
        self._sns = sns
        self._topic_arn = topic_arn

    def send(self, message: JsonObject) -> None:
        """Publish it as a custom notification."""
        with naming_errors():
            self._sns.publish(TopicArn=self._topic_arn, Message=json.dumps(custom_notification(message)))


def subject(title: str) -> str:
    """Returns the title in ASCII without line breaks, at most 100 characters (SNS API reference, Publish)."""
    ascii_only = re.sub(r"[^\x20-\x7e]+", " ", f"Rewarm: {title}").strip()
    return ascii_only[:_SUBJECT]


def plain_text(message: JsonObject) -> str:
    """Returns the message as the text of an e-mail."""
    parts = [message["title"], message["text"]]
    parts += (
        ["\n".join(f"{field['name']}: {field['value']}" for field in message["fields"])]
        if message["fields"]
        else []
    )
    parts += ["\n".join(f"- {step}" for step in message.get("nextSteps", []))]
    if message.get("reportUrl"):
        parts += [f"Page of the restore (the link lasts until {link_end(message)}): {message['reportUrl']}"]
    parts += [f"{message.get('kind', 'Restore')}: {message['restoreId']}"]
    return "\n\n".join(part for part in parts if part)


def link_end(message: JsonObject) -> str:
    """When the link of the message ends, for people."""
    return clock_text(datetime.fromisoformat(message["reportUntil"]))


def custom_notification(message: JsonObject) -> JsonObject:
    """Returns the message in the schema of custom notifications, version 1.0, within its limits.

    Amazon Q Developer in chat applications administrator guide, "Custom notifications". A message that does
    not fit the schema is not shown.
    """
    lines = [message["text"], *(f"*{field['name']}*: {field['value']}" for field in message["fields"])]
    # The link comes last and is never cut, because half an address is useless.
    url = message.get("reportUrl")
    link = f"\nPage of the restore, until {link_end(message)}: {url}" if url else ""
    return {
        "version": "1.0",
        "source": "custom",
        "id": hashlib.sha256(json.dumps(message, sort_keys=True).encode()).hexdigest()[:32],
        "content": {
            "textType": "client-markdown",
            "title": shortened(message["title"], _TITLE),
            "description": shortened("\n".join(lines), _DESCRIPTION - len(link)) + link,
            "nextSteps": [shortened(step, _NEXT_STEP) for step in message.get("nextSteps", [])],
            "keywords": [
                shortened(word, _KEYWORD) for word in ("rewarm", message["event"], message["severity"])
            ],
        },
        "metadata": {
            "threadId": message["restoreId"],
            "summary": shortened(message["title"], _TITLE),
            "eventType": f"rewarm-{message['event']}",
            "relatedResources": [],
            "additionalContext": {"restoreId": message["restoreId"]},
            "enableCustomActions": True,
        },
    }
