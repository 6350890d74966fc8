"""The two SNS topics: plain text for e-mail and programs, and Amazon Q Developer's schema for chat."""

from __future__ import annotations

import hashlib
import json
import re
from typing import TYPE_CHECKING

from rewarm.adapters.aws_errors import naming_errors
from rewarm.adapters.messages import Audience, shortened
from rewarm.ports import JsonObject

if TYPE_CHECKING:
    from mypy_boto3_sns.client import SNSClient

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
    """SNS wants ASCII without line breaks, at most 100 characters (SNS API reference, Publish)."""
    ascii_only = re.sub(r"[^\x20-\x7e]+", " ", f"Rewarm: {title}").strip()
    return ascii_only[:_SUBJECT]


def plain_text(message: JsonObject) -> str:
    """For people's mail."""
    parts = [message["title"], message["text"]]
    parts += (
        ["\n".join(f"{field['name']}: {field['value']}" for field in message["fields"])]
        if message["fields"]
        else []
    )
    parts += ["\n".join(f"- {step}" for step in message.get("nextSteps", []))]
    parts += [f"Report (the link ends by itself): {message['reportUrl']}"] if message.get("reportUrl") else []
    parts += [f"{message.get('kind', 'Restore')}: {message['restoreId']}"]
    return "\n\n".join(part for part in parts if part)


def custom_notification(message: JsonObject) -> JsonObject:
    """The schema of custom notifications, version 1.0, with its limits.

    Amazon Q Developer in chat applications administrator guide, "Custom notifications". A message that does
    not fit the schema is not shown.
    """
    lines = [message["text"], *(f"*{field['name']}*: {field['value']}" for field in message["fields"])]
    # Last, and never cut: half an address leads nowhere.
    url = message.get("reportUrl")
    link = f"\nReport: {url}" if url else ""
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
