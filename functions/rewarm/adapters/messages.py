"""Sends each message to everyone who listens; one deaf channel never keeps it from the others."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Literal, Protocol

from rewarm.ports import JsonObject

LOG = logging.getLogger(__name__)

Audience = Literal["slack", "email", "programs"]
"""Whom a request's `notify` can leave out; programs always hear."""


class Channel(Protocol):
    """One way to tell somebody; `send` raises one of domain/errors.py where it was not taken."""

    name: str
    audience: Audience

    def send(self, message: JsonObject) -> None:
        """Deliver it, or raise."""


class MessageFanOut:
    """The port Messages."""

    def __init__(self, channels: Sequence[Channel]) -> None:
        self._channels = channels

    def send(self, message: JsonObject) -> list[str]:
        """Sends to each channel that the request wants, and returns the names of those that took it."""
        notify = message.get("notify") or {}
        wanted = [channel for channel in self._channels if notify.get(channel.audience, True)]
        return [channel.name for channel in wanted if self._taken(channel, message)]

    def _taken(self, channel: Channel, message: JsonObject) -> bool:
        try:
            channel.send(message)
        except Exception as error:  # a message is never worth a restore
            # Without its traceback: that could show the address of a webhook.
            LOG.warning("%s did not take the message: %s: %s", channel.name, type(error).__name__, error)
            return False
        return True


def shortened(text: str, limit: int) -> str:
    """The text, or its beginning and an ellipsis."""
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
