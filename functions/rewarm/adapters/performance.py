"""A volume's performance: CloudWatch's metrics, changes by ModifyVolume, and what is known of earlier ones.

Metrics are those of AWS/EBS, per minute, and only while the volume is attached. Our notes of changes are in
the table (one item a volume, `performance#<volume>`). They do not use the attributes `status` and
`startedAt`, which are an index's key, where DynamoDB accepts only text.
CloudTrail's event history (botocore, LookupEvents: the
last 90 days) is searched by the event's name, not by the resource. AWS does not document which resources it
lists for an EC2 call, but every event has the call's parameters. Calls that EC2 refused carry an `errorCode`.
"""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from rewarm.adapters.aws_errors import code_of, naming_errors
from rewarm.adapters.table.restores import RESTORE_SECONDS
from rewarm.adapters.table.table_items import from_item, to_attribute
from rewarm.domain.blocks.rewind_facts import WrittenSince
from rewarm.domain.model import ReadActivity
from rewarm.domain.units import iso
from rewarm.domain.volume.performance import Activity, PerformanceSettings, VolumeModification

if TYPE_CHECKING:
    from mypy_boto3_cloudwatch.client import CloudWatchClient
    from mypy_boto3_cloudwatch.type_defs import MetricDataQueryTypeDef
    from mypy_boto3_dynamodb.client import DynamoDBClient
    from mypy_boto3_ec2.client import EC2Client

NEVER_MODIFIED = "InvalidVolumeModification.NotFound"
KEPT_SECONDS = 3 * 86_400
"""Longer than the 24 hours in which EC2 counts the starts of changes."""
MOST_PAGES = 4
"""Pages of 50 events; two look-ups a second are allowed for the whole account."""
_EVENTS_ON_A_PAGE = 50
_MINUTE, _HOUR = 60, 3_600
_READS = {"ops": "VolumeReadOps", "bytes": "VolumeReadBytes", "seconds": "VolumeTotalReadTime"}
_WRITES = {"ops": "VolumeWriteOps", "bytes": "VolumeWriteBytes"}
_OPS = {"volumeReadOps": "VolumeReadOps", "volumeWriteOps": "VolumeWriteOps"}
_BYTES = {"volumeReadBytes": "VolumeReadBytes", "volumeWriteBytes": "VolumeWriteBytes"}


class Ec2VolumeModifications:
    """The port VolumeModifications."""

    def __init__(self, ec2: EC2Client) -> None:
        self._ec2 = ec2

    def latest(self, volume_id: str) -> VolumeModification | None:
        with naming_errors():
            try:
                found = self._ec2.describe_volumes_modifications(VolumeIds=[volume_id])
            except ClientError as error:
                if code_of(error) == NEVER_MODIFIED:
                    return None
                raise
        if not found["VolumesModifications"]:
            return None
        change = found["VolumesModifications"][0]
        return VolumeModification(
            state=change.get("ModificationState", "modifying"),
            target=PerformanceSettings(
                change.get("TargetVolumeType", ""), change.get("TargetIops"), change.get("TargetThroughput")
            ),
            message=change.get("StatusMessage") or None,
            started_at=change.get("StartTime"),
            ended_at=change.get("EndTime"),
            progress_percent=change.get("Progress"),
            original=PerformanceSettings(
                change.get("OriginalVolumeType", ""),
                change.get("OriginalIops"),
                change.get("OriginalThroughput"),
            ),
        )

    def start(self, volume_id: str, target: PerformanceSettings) -> None:
        """No client token: after a lost answer, botocore's retry fails because a change is under way."""
        request: dict[str, Any] = {"VolumeId": volume_id, "VolumeType": target.volume_type}
        if target.iops is not None:
            request["Iops"] = target.iops
        if target.throughput_mib_s is not None:
            request["Throughput"] = target.throughput_mib_s
        with naming_errors():
            self._ec2.modify_volume(**request)


class DynamoPerformanceLog:
    """The port PerformanceLog."""

    def __init__(self, dynamodb: DynamoDBClient, table: str, clock: Callable[[], float] = time.time) -> None:
        self._dynamodb = dynamodb
        self._table = table
        self._clock = clock

    def starts(self, volume_id: str) -> list[datetime]:
        return sorted(datetime.fromisoformat(text) for text in self._item(volume_id).get("starts", []))

    def note_start(self, volume_id: str, started_at: datetime) -> None:
        """Adds to a set of times, so that two writers lose nothing, and removes old times."""
        self._update(volume_id, "ADD starts :times", {":times": {"SS": [iso(started_at)]}})
        old = [
            iso(start) for start in self.starts(volume_id) if self._clock() - start.timestamp() > KEPT_SECONDS
        ]
        if old:
            self._update(volume_id, "DELETE starts :times", {":times": {"SS": old}})

    def change_id(self, volume_id: str) -> str | None:
        return self._item(volume_id).get("changeId")

    def begin(self, volume_id: str, change_id: str) -> None:
        self._update(volume_id, "SET changeId = :id", {":id": {"S": change_id}})

    def _item(self, volume_id: str) -> dict[str, Any]:
        with naming_errors():
            answer = self._dynamodb.get_item(TableName=self._table, Key=_key(volume_id), ConsistentRead=True)
        return from_item(answer.get("Item", {}))

    def _update(self, volume_id: str, expression: str, values: dict[str, Any]) -> None:
        expires = "expiresAt = :expires"
        both = f"{expression}, {expires}" if expression.startswith("SET ") else f"{expression} SET {expires}"
        with naming_errors():
            self._dynamodb.update_item(
                TableName=self._table,
                Key=_key(volume_id),
                UpdateExpression=both,
                ExpressionAttributeValues={
                    **values,
                    ":expires": to_attribute(int(self._clock()) + RESTORE_SECONDS),
                },
            )


def _key(volume_id: str) -> dict[str, Any]:
    return {"pk": {"S": f"performance#{volume_id}"}}


class CloudTrailCalls:
    """The port CallTrail."""

    def __init__(self, cloudtrail: Any) -> None:
        self._cloudtrail = cloudtrail

    def modifications(self, volume_id: str, *, since: datetime) -> list[datetime]:
        paginator = self._cloudtrail.get_paginator("lookup_events")
        with naming_errors():
            pages = paginator.paginate(
                LookupAttributes=[{"AttributeKey": "EventName", "AttributeValue": "ModifyVolume"}],
                StartTime=since,
                PaginationConfig={"MaxItems": MOST_PAGES * _EVENTS_ON_A_PAGE, "PageSize": _EVENTS_ON_A_PAGE},
            )
            found = [event for page in pages for event in page.get("Events", [])]
        return sorted(
            event["EventTime"] for event in found if volume_id in _changed(event.get("CloudTrailEvent", ""))
        )


def _changed(record: str) -> list[Any]:
    """Every value among the parameters of a call that EC2 accepted; none for a refused call."""
    try:
        call = json.loads(record)
    except ValueError:
        return []
    if not isinstance(call, dict) or call.get("errorCode"):
        return []
    return list(_values(call.get("requestParameters")))


def _values(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        for part in value.values():
            yield from _values(part)
    else:
        yield value


class CloudWatchMetrics:
    """The port Metrics."""

    def __init__(self, cloudwatch: CloudWatchClient) -> None:
        self._cloudwatch = cloudwatch

    def read_activity(self, volume_id: str, *, since: datetime, until: datetime) -> list[ReadActivity]:
        found = _sums(self._cloudwatch, volume_id, _READS, since=since, until=until)
        return [
            ReadActivity(minute, sums["ops"], sums.get("bytes", 0.0), sums.get("seconds", 0.0))
            for minute, sums in found
            if "ops" in sums
        ]

    def activity(self, volume_id: str, *, since: datetime, until: datetime) -> list[Activity]:
        """Per minute, oldest first; a minute counts when both its counts of operations are there."""
        found = _sums(self._cloudwatch, volume_id, _OPS | _BYTES, since=since, until=until)
        return [
            Activity(minute, _total(sums, _OPS), _total(sums, _BYTES))
            for minute, sums in found
            if all(name in sums for name in _OPS)
        ]

    def written(self, volume_id: str, *, since: datetime, until: datetime) -> WrittenSince | None:
        """CloudWatch keeps minutes for 15 days and hours for 455, and includes the whole first period."""
        period = _MINUTE if until - since <= timedelta(days=1) else _HOUR
        found = _sums(self._cloudwatch, volume_id, _WRITES, since=since, until=until, period=period)
        if not found:
            return None
        ops, size_bytes = (sum(sums.get(name, 0.0) for _, sums in found) for name in _WRITES)
        return WrittenSince(ops, size_bytes)


def _sums(
    cloudwatch: CloudWatchClient,
    volume_id: str,
    metrics: Mapping[str, str],
    *,
    since: datetime,
    until: datetime,
    period: int = _MINUTE,
) -> list[tuple[datetime, dict[str, float]]]:
    """Each minute with its sums by the keys of `metrics`, oldest first; what has no datapoint is left out.

    By the period also each hour. A key is the query's id, which begins with a small letter (botocore,
    MetricDataQuery). A minute that comes twice (on two pages) counts with its higher value: never quieter
    than it was.
    """
    minutes: dict[datetime, dict[str, float]] = defaultdict(dict)
    paginator = cloudwatch.get_paginator("get_metric_data")
    with naming_errors():
        for page in paginator.paginate(
            MetricDataQueries=[_sum(name, metric, volume_id, period) for name, metric in metrics.items()],
            StartTime=since,
            EndTime=until,
            ScanBy="TimestampAscending",
        ):
            for result in page["MetricDataResults"]:
                for minute, value in zip(result["Timestamps"], result["Values"], strict=True):
                    known = minutes[minute].get(result["Id"], value)
                    minutes[minute][result["Id"]] = max(known, value)
    return sorted(minutes.items())


def _sum(name: str, metric: str, volume_id: str, period: int) -> MetricDataQueryTypeDef:
    return {
        "Id": name,
        "MetricStat": {
            "Metric": {
                "Namespace": "AWS/EBS",
                "MetricName": metric,
                "Dimensions": [{"Name": "VolumeId", "Value": volume_id}],
            },
            "Period": period,
            "Stat": "Sum",
        },
    }


def _total(sums: dict[str, float], names: Iterable[str]) -> float:
    return sum(sums.get(name, 0.0) for name in names)
