"""Sums of a volume's metrics from CloudWatch (AWS/EBS, per minute, only while the volume is attached)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from rewarm.adapters.aws_errors import naming_errors

if TYPE_CHECKING:
    from mypy_boto3_cloudwatch.client import CloudWatchClient
    from mypy_boto3_cloudwatch.type_defs import MetricDataQueryTypeDef


def minute_sums(
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
