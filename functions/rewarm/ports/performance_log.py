"""The ports of a volume's changes in the last days."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol


class PerformanceLog(Protocol):
    """Our notes of each volume's changes: EC2 shows the latest one only."""

    def starts(self, volume_id: str) -> list[datetime]:
        """Returns when changes of the last days started, the oldest first."""

    def note_start(self, volume_id: str, started_at: datetime) -> None:
        """Notes when a change started. Noting the same time again changes nothing."""

    def change_id(self, volume_id: str) -> str | None:
        """Returns the id of the latest change that was asked of this stack; None where there was none."""

    def begin(self, volume_id: str, change_id: str) -> None:
        """Notes the id of a change that was asked of this stack."""


class CallTrail(Protocol):
    """CloudTrail's history of calls."""

    def modifications(self, volume_id: str, *, since: datetime) -> list[datetime]:
        """Returns when ModifyVolume was called for the volume and accepted, the oldest first.

        CloudTrail shows a call some minutes late.
        """
