"""A volume's metrics from CloudWatch (AWS/EBS, per minute, only while the volume is attached)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from rewarm.adapters.aws_errors import naming_errors
from rewarm.domain.model import ReadActivity
from rewarm.domain.volume.performance_change import Activity

if TYPE_CHECKING:
    from mypy_boto3_cloudwatch.client import CloudWatchClient
    from mypy_boto3_cloudwatch.type_defs import MetricDataQueryTypeDef

_READS = {"ops": "VolumeReadOps", "bytes": "VolumeReadBytes", "seconds": "VolumeTotalReadTime"}
_OPS = {"volumeReadOps": "VolumeReadOps", "volumeWriteOps": "VolumeWriteOps"}
_BYTES = {"volumeReadBytes": "VolumeReadBytes", "volumeWriteBytes": "VolumeWriteBytes"}


class CloudWatchMetrics:
    """The port Metrics."""

    def __init__(self, cloudwatch: CloudWatchClient) -> None:
        self._cloudwatch = cloudwatch

    def read_activity(self, volume_id: str, *, since: datetime, until: datetime) -> list[ReadActivity]:
        found = _minute_sums(self._cloudwatch, volume_id, _READS, since=since, until=until)
        return [
            ReadActivity(minute, sums["ops"], sums.get("bytes", 0.0), sums.get("seconds", 0.0))
            for minute, sums in found
            if "ops" in sums
        ]

    def activity(self, volume_id: str, *, since: datetime, until: datetime) -> list[Activity]:
        """Per minute, oldest first; a minute counts when both its counts of operations are there."""
        found = _minute_sums(self._cloudwatch, volume_id, _OPS | _BYTES, since=since, until=until)
        return [
            Activity(minute, _total(sums, _OPS), _total(sums, _BYTES))
            for minute, sums in found
            if all(name in sums for name in _OPS)
        ]


def _minute_sums(
    cloudwatch: CloudWatchClient,
    volume_id: str,
    metrics: Mapping[str, str],
    *,
    since: datetime,
    until: datetime,
) -> list[tuple[datetime, dict[str, float]]]:
    """Each minute with its sums by the keys of `metrics`, oldest first; what has no datapoint is left out.

    A key is the query's id, which begins with a small letter (botocore, MetricDataQuery). A minute that comes
    twice (on two pages) counts with its higher value: never quieter than it was.
    """
    minutes: dict[datetime, dict[str, float]] = defaultdict(dict)
    paginator = cloudwatch.get_paginator("get_metric_data")
    with naming_errors():
        for page in paginator.paginate(
            MetricDataQueries=[_sum(name, metric, volume_id) for name, metric in metrics.items()],
            StartTime=since,
            EndTime=until,
            ScanBy="TimestampAscending",
        ):
            for result in page["MetricDataResults"]:
                for minute, value in zip(result["Timestamps"], result["Values"], strict=True):
                    known = minutes[minute].get(result["Id"], value)
                    minutes[minute][result["Id"]] = max(known, value)
    return sorted(minutes.items())


def _sum(name: str, metric: str, volume_id: str) -> MetricDataQueryTypeDef:
    return {
        "Id": name,
        "MetricStat": {
            "Metric": {
                "Namespace": "AWS/EBS",
                "MetricName": metric,
                "Dimensions": [{"Name": "VolumeId", "Value": volume_id}],
            },
            "Period": 60,
            "Stat": "Sum",
        },
    }


def _total(sums: dict[str, float], names: Iterable[str]) -> float:
    return sum(sums.get(name, 0.0) for name in names)
