"""The port of CloudWatch's metrics."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from rewarm.domain.model import ReadActivity
from rewarm.domain.volume.performance_change import Activity


class Metrics(Protocol):
    """What CloudWatch shows of a volume (namespace AWS/EBS, a minute a datapoint)."""

    def read_activity(self, volume_id: str, *, since: datetime, until: datetime) -> list[ReadActivity]:
        """Returns the reads of each minute, the oldest first. A minute without a datapoint is left out."""

    def activity(self, volume_id: str, *, since: datetime, until: datetime) -> list[Activity]:
        """Returns reads and writes together of each minute, the oldest first.

        A minute counts where both its numbers of operations are there.
        """
