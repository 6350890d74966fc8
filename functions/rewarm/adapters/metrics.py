"""A volume's metrics from CloudWatch (AWS/EBS, per minute, only while the volume is attached)."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime
from typing import TYPE_CHECKING

from rewarm.adapters.aws_errors import naming_errors
from rewarm.domain.model import ReadActivity

if TYPE_CHECKING:
    from mypy_boto3_cloudwatch.client import CloudWatchClient
    from mypy_boto3_cloudwatch.type_defs import MetricDataQueryTypeDef

_METRICS = {"ops": "VolumeReadOps", "bytes": "VolumeReadBytes", "seconds": "VolumeTotalReadTime"}


class CloudWatchMetrics:
    """The port Metrics."""

    def __init__(self, cloudwatch: CloudWatchClient) -> None:
        self._cloudwatch = cloudwatch

    def read_activity(self, volume_id: str, *, since: datetime, until: datetime) -> list[ReadActivity]:
        """Per minute, oldest first; minutes without a datapoint are left out.

        A minute that comes twice (on two pages) counts with its higher value: never quieter than it was.
        """
        minutes: dict[datetime, dict[str, float]] = defaultdict(dict)
        paginator = self._cloudwatch.get_paginator("get_metric_data")
        with naming_errors():
            for page in paginator.paginate(
                MetricDataQueries=[_sum(name, metric, volume_id) for name, metric in _METRICS.items()],
                StartTime=since,
                EndTime=until,
                ScanBy="TimestampAscending",
            ):
                for result in page["MetricDataResults"]:
                    for minute, value in zip(result["Timestamps"], result["Values"], strict=True):
                        known = minutes[minute].get(result["Id"], value)
                        minutes[minute][result["Id"]] = max(known, value)
        return [
            ReadActivity(minute, found["ops"], found.get("bytes", 0.0), found.get("seconds", 0.0))
            for minute, found in sorted(minutes.items())
            if "ops" in found
        ]


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
