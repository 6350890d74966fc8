"""A volume's reads and writes from CloudWatch (AWS/EBS, per minute, only while the volume is attached)."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime
from typing import TYPE_CHECKING

from rewarm.adapters.aws_errors import naming_errors
from rewarm.domain.performance_change import Activity

if TYPE_CHECKING:
    from mypy_boto3_cloudwatch.client import CloudWatchClient
    from mypy_boto3_cloudwatch.type_defs import MetricDataQueryTypeDef

_OPS, _BYTES = ("VolumeReadOps", "VolumeWriteOps"), ("VolumeReadBytes", "VolumeWriteBytes")


class CloudWatchActivity:
    """The port VolumeActivity."""

    def __init__(self, cloudwatch: CloudWatchClient) -> None:
        self._cloudwatch = cloudwatch

    def activity(self, volume_id: str, *, since: datetime, until: datetime) -> list[Activity]:
        """Per minute, oldest first; a minute counts when both its counts of operations are there."""
        minutes: dict[datetime, dict[str, float]] = defaultdict(dict)
        paginator = self._cloudwatch.get_paginator("get_metric_data")
        with naming_errors():
            for page in paginator.paginate(
                MetricDataQueries=[_sum(metric, volume_id) for metric in (*_OPS, *_BYTES)],
                StartTime=since,
                EndTime=until,
                ScanBy="TimestampAscending",
            ):
                for result in page["MetricDataResults"]:
                    for minute, value in zip(result["Timestamps"], result["Values"], strict=True):
                        minutes[minute][result["Id"]] = value
        return [
            Activity(minute, _total(found, _OPS), _total(found, _BYTES))
            for minute, found in sorted(minutes.items())
            if all(_id(metric) in found for metric in _OPS)
        ]


def _total(found: dict[str, float], metrics: tuple[str, ...]) -> float:
    return sum(found.get(_id(metric), 0.0) for metric in metrics)


def _id(metric: str) -> str:
    """An id begins with a small letter (botocore, MetricDataQuery)."""
    return metric[0].lower() + metric[1:]


def _sum(metric: str, volume_id: str) -> MetricDataQueryTypeDef:
    return {
        "Id": _id(metric),
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
