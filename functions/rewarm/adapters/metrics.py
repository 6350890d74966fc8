"""A volume's reads from CloudWatch, and how long they took."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from rewarm.adapters.minute_sums import minute_sums
from rewarm.domain.model import ReadActivity

if TYPE_CHECKING:
    from mypy_boto3_cloudwatch.client import CloudWatchClient

_METRICS = {"ops": "VolumeReadOps", "bytes": "VolumeReadBytes", "seconds": "VolumeTotalReadTime"}


class CloudWatchMetrics:
    """The port Metrics."""

    def __init__(self, cloudwatch: CloudWatchClient) -> None:
        self._cloudwatch = cloudwatch

    def read_activity(self, volume_id: str, *, since: datetime, until: datetime) -> list[ReadActivity]:
        """Per minute, oldest first; minutes without a datapoint are left out."""
        found = minute_sums(self._cloudwatch, volume_id, _METRICS, since=since, until=until)
        return [
            ReadActivity(minute, sums["ops"], sums.get("bytes", 0.0), sums.get("seconds", 0.0))
            for minute, sums in found
            if "ops" in sums
        ]
