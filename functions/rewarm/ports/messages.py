"""The channels on which people and programs are told."""

from __future__ import annotations

from typing import Protocol

from rewarm.ports import JsonObject


class Messages(Protocol):
    """Everyone who listens."""

    def send(self, message: JsonObject) -> list[str]:
        """Sends domain.messages.Message as JSON, with `notify`; the names of the channels that took it."""
