"""A volume's reads and writes from CloudWatch."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING

from rewarm.adapters.minute_sums import minute_sums
from rewarm.domain.volume.performance_change import Activity

if TYPE_CHECKING:
    from mypy_boto3_cloudwatch.client import CloudWatchClient

_OPS = {"volumeReadOps": "VolumeReadOps", "volumeWriteOps": "VolumeWriteOps"}
_BYTES = {"volumeReadBytes": "VolumeReadBytes", "volumeWriteBytes": "VolumeWriteBytes"}


class CloudWatchActivity:
    """The port VolumeActivity."""

    def __init__(self, cloudwatch: CloudWatchClient) -> None:
        self._cloudwatch = cloudwatch

    def activity(self, volume_id: str, *, since: datetime, until: datetime) -> list[Activity]:
        """Per minute, oldest first; a minute counts when both its counts of operations are there."""
        found = minute_sums(self._cloudwatch, volume_id, _OPS | _BYTES, since=since, until=until)
        return [
            Activity(minute, _total(sums, _OPS), _total(sums, _BYTES))
            for minute, sums in found
            if all(name in sums for name in _OPS)
        ]


def _total(sums: dict[str, float], names: Iterable[str]) -> float:
    return sum(sums.get(name, 0.0) for name in names)
