"""The ports of a volume's performance: what CloudWatch shows, and changes of type, IOPS and throughput."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from rewarm.domain.blocks.rewind_facts import WrittenSince
from rewarm.domain.model import ReadActivity
from rewarm.domain.volume.performance import Performance, VolumeModification
from rewarm.domain.volume.performance_change import Activity


class VolumeModifications(Protocol):
    """EC2's ModifyVolume, and what became of it."""

    def latest(self, volume_id: str) -> VolumeModification | None:
        """Returns the latest change; None where the volume was never changed. Raises VolumeNotFoundError."""

    def start(self, volume_id: str, target: Performance) -> None:
        """Starts a change. Not idempotent. Raises ModificationPostponedError, VolumeNotFoundError."""


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


class Metrics(Protocol):
    """What CloudWatch shows of a volume (namespace AWS/EBS, a minute a datapoint)."""

    def read_activity(self, volume_id: str, *, since: datetime, until: datetime) -> list[ReadActivity]:
        """Returns the reads of each minute, the oldest first. A minute without a datapoint is left out."""

    def activity(self, volume_id: str, *, since: datetime, until: datetime) -> list[Activity]:
        """Returns reads and writes together of each minute, the oldest first.

        A minute counts where both its numbers of operations are there.
        """

    def written(self, volume_id: str, *, since: datetime, until: datetime) -> WrittenSince | None:
        """Returns what was written to the volume, by the hour where it is long; None without a datapoint."""
