"""What changes of performance and the sweeper need from the world, beside the ports of aws/ports.py.

Every method may raise ThrottledError, ServiceUnavailableError, AccessDeniedError and RequestRefusedError;
further errors are named at the method.
"""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from rewarm.domain.model import Volume
from rewarm.domain.volume.performance_change import Activity


class VolumeActivity(Protocol):
    """CloudWatch AWS/EBS, reads and writes together."""

    def activity(self, volume_id: str, *, since: datetime, until: datetime) -> list[Activity]:
        """Per minute, oldest first; minutes without a datapoint are left out."""


class CallTrail(Protocol):
    """CloudTrail's history of calls."""

    def modifications(self, volume_id: str, *, since: datetime) -> list[datetime]:
        """When ModifyVolume was called for the volume and taken, oldest first; some minutes late."""


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


class BoostedVolumes(Protocol):
    """EBS volumes that were boosted for a warm-up."""

    def boosted(self, stack_name: str) -> list[Volume]:
        """Those of the stack that still carry the tag `rewarm:boost`."""


class RestoreExecutions(Protocol):
    """The executions behind a restore."""

    def is_over(self, restore_id: str, index: int) -> bool:
        """Neither the restore nor the restore of this one of its volumes runs any more."""
