"""AWS/EBS metrics, one datapoint a minute, from what instances did (EBS user guide, "CloudWatch metrics").

Metrics come only while a volume is attached. VolumeReadOps counts what the instance read, never what EBS
loaded in the background.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from local.dataplane import DataPlaneError, VolumeCounters
from local.region.core import Core, Json, stamp
from local.region.fast_restore import FastRestores, bucket_size
from local.region.resources import FastRestore
from local.region.tables import Tables

MINUTE_SECONDS = 60
NAMESPACE = "AWS/EBS"
MAX_DATA_PER_CALL = 1_000
"""botocore, PutMetricData: at most 1,000 metrics a call."""

Publish = Callable[[str, list[Json]], None]


@dataclass(slots=True)
class _Seen:
    """The counters at the end of the last published minute."""

    counters: VolumeCounters
    minute: int


class Metrics:
    """Turns the data plane's counters into datapoints; call `publish_due` regularly."""

    def __init__(
        self, core: Core, tables: Tables, fast_restores: FastRestores, publish: Publish | None
    ) -> None:
        self._core = core
        self._tables = tables
        self._fast_restores = fast_restores
        self._publish = publish
        self._seen: dict[str, _Seen] = {}
        self._credits_minute = math.floor(core.now() / MINUTE_SECONDS)

    def publish_due(self) -> None:
        """Publish every minute that has passed; when lab time skipped some, each gets its datapoint."""
        if self._publish is None:
            return
        now = self._core.now() - self._core.settings.metric_delay_seconds
        minute = math.floor(now / MINUTE_SECONDS)
        data: list[Json] = []
        for volume_id in self._attached():
            data.extend(self._volume(volume_id, minute))
        data.extend(self._credits(minute))
        for start in range(0, len(data), MAX_DATA_PER_CALL):
            self._publish(NAMESPACE, data[start : start + MAX_DATA_PER_CALL])

    def _attached(self) -> list[str]:
        """Attached volumes with data; what is no longer attached is forgotten."""
        with self._core.transaction():
            attached = [
                one.volume_id for one in self._tables.volumes.values() if one.attachments and one.has_data
            ]
        for gone in set(self._seen) - set(attached):
            del self._seen[gone]
        return attached

    def _volume(self, volume_id: str, minute: int) -> list[Json]:
        try:
            counters = self._core.dataplane.counters(volume_id)
        except DataPlaneError:
            return []
        seen = self._seen.get(volume_id)
        if seen is None:
            self._seen[volume_id] = _Seen(counters, minute)
            return []
        data: list[Json] = []
        for one in range(seen.minute, minute):
            # Lab time runs ahead only while nothing works, so what was done belongs to the first minute.
            data.extend(_datapoints(volume_id, one, seen.counters, counters))
            seen.counters = counters
        seen.minute = max(seen.minute, minute)
        return data

    def _credits(self, minute: int) -> list[Json]:
        data: list[Json] = []
        if minute <= self._credits_minute:
            return data
        with self._core.transaction():
            enabled = [
                (one, self._fast_restores.credits(one))
                for one in self._tables.fast_restores.values()
                if one.state == "enabled"
            ]
        for passed in range(self._credits_minute, minute):
            for one, balance in enabled:
                data.extend(_credit_points(one, balance, passed))
        self._credits_minute = minute
        return data


def _datapoints(volume_id: str, minute: int, before: VolumeCounters, after: VolumeCounters) -> list[Json]:
    reads, writes = after.read_ops - before.read_ops, after.write_ops - before.write_ops
    read_seconds = after.read_seconds - before.read_seconds
    write_seconds = after.write_seconds - before.write_seconds
    busy_seconds = read_seconds + write_seconds
    values: list[tuple[str, float, str]] = [
        ("VolumeReadOps", reads, "Count"),
        ("VolumeReadBytes", after.read_bytes - before.read_bytes, "Bytes"),
        ("VolumeTotalReadTime", read_seconds, "Seconds"),
        ("VolumeWriteOps", writes, "Count"),
        ("VolumeWriteBytes", after.write_bytes - before.write_bytes, "Bytes"),
        ("VolumeTotalWriteTime", write_seconds, "Seconds"),
        # Little's law: the average number of requests in flight.
        ("VolumeQueueLength", busy_seconds / MINUTE_SECONDS, "Count"),
        # Overlapping requests are counted once each, so a busy volume shows no idle time at all.
        ("VolumeIdleTime", max(0.0, MINUTE_SECONDS - busy_seconds), "Seconds"),
    ]
    dimensions = [{"Name": "VolumeId", "Value": volume_id}]
    return [_entry(name, value, unit, dimensions, minute) for name, value, unit in values]


def _credit_points(one: FastRestore, balance: float, minute: int) -> list[Json]:
    dimensions = [
        {"Name": "SnapshotId", "Value": one.snapshot.snapshot_id},
        {"Name": "AvailabilityZone", "Value": one.zone},
    ]
    return [
        _entry("FastSnapshotRestoreCreditsBalance", balance, "None", dimensions, minute),
        _entry("FastSnapshotRestoreCreditsBucketSize", bucket_size(one.snapshot), "None", dimensions, minute),
    ]


def _entry(name: str, value: float, unit: str, dimensions: list[Json], minute: int) -> Json:
    """One entry of PutMetricData; the timestamp is the start of the minute."""
    return {
        "MetricName": name,
        "Dimensions": dimensions,
        "Timestamp": stamp(minute * MINUTE_SECONDS),
        "Value": float(value),
        "Unit": unit,
    }
