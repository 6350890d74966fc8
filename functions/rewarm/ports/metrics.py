"""CloudWatch's metrics of volumes."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from rewarm.domain.model import ReadActivity
from rewarm.domain.volume.performance_change import Activity


class Metrics(Protocol):
    """CloudWatch AWS/EBS."""

    def read_activity(self, volume_id: str, *, since: datetime, until: datetime) -> list[ReadActivity]:
        """Per minute, oldest first; minutes without a datapoint are left out."""

    def activity(self, volume_id: str, *, since: datetime, until: datetime) -> list[Activity]:
        """Per minute, oldest first; minutes without a datapoint are left out."""
