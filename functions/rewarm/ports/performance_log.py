"""Changes of a volume's performance."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol


class PerformanceLog(Protocol):
    """What we know of each volume's changes; EC2 tells of the latest one only."""

    def starts(self, volume_id: str) -> list[datetime]:
        """When changes of the last days started, oldest first."""

    def note_start(self, volume_id: str, started_at: datetime) -> None:
        """The same time again changes nothing."""

    def change_id(self, volume_id: str) -> str | None:
        """The latest change that was asked of us."""

    def begin(self, volume_id: str, change_id: str) -> None:
        """A change was asked of us."""


class CallTrail(Protocol):
    """CloudTrail's history of calls."""

    def modifications(self, volume_id: str, *, since: datetime) -> list[datetime]:
        """When ModifyVolume was called for the volume and taken, oldest first; some minutes late."""
