"""SSM Run Command."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Protocol

from rewarm.domain.model import CommandStatus
from rewarm.domain.ready.sent_commands import SentCommand


class Commands(Protocol):
    """SSM Run Command with this stack's documents."""

    def send(
        self,
        instance_id: str,
        parameters: Mapping[str, str],
        *,
        platform: str,
        comment: str,
        timeout_seconds: int,
    ) -> str:
        """The command's id. Not idempotent (SendCommand has no token). Raises AgentUnreachableError."""

    def find(self, comment: str, *, platform: str, since: datetime) -> list[SentCommand]:
        """Commands with this comment, the newest first; one of the last seconds may be missing."""

    def time(self) -> datetime:
        """Now, for the note of a command that is about to be sent."""

    def status(self, command_id: str, instance_id: str) -> CommandStatus | None:
        """None while SSM does not know the invocation yet (normal right after `send`)."""

    def cancel(self, command_id: str, instance_id: str) -> None:
        """Does nothing where it has finished."""
