"""The port of the channels that carry messages to people and programs."""

from __future__ import annotations

from typing import Protocol

from rewarm.ports import JsonObject


class Messages(Protocol):
    """Every channel that the stack has."""

    def send(self, message: JsonObject) -> list[str]:
        """Sends a message of domain.words.message as JSON, and returns the names of the channels that took
        it.

        Its `notify` says which channels the request wants. A channel that fails is left out, and raises
        nothing.
        """
