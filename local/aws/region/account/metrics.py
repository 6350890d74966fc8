"""AWS/EBS metrics, one datapoint a minute, from what instances did (EBS user guide, "CloudWatch metrics").

CloudWatch has a minute some time after it is over. The delay differs by minute and volume.
Metrics come only while a volume is attached. VolumeReadOps counts what the instance read, never what EBS
loaded in the background.
"""

from __future__ import annotations

import heapq
import itertools
import math
import zlib
from collections.abc import Callable
from dataclasses import dataclass

from local import Json
from local.aws.machines.dataplane import DataPlaneError, VolumeCounters
from local.aws.region.core import Core
from local.aws.region.resources import FastRestore
from local.aws.region.snapshots.fast_restore import FastRestores, bucket_size
from local.aws.region.tables import Tables

MINUTE_SECONDS = 60
NAMESPACE = "AWS/EBS"
MAX_DATA_PER_CALL = 1_000
"""botocore, PutMetricData: at most 1,000 metrics a call."""

Publish = Callable[[str, list[Json]], None]


@dataclass(slots=True)
class _Seen:
    """Where a volume's datapoints stand: published up to `minute`, at which the counters were these."""

    counters: VolumeCounters
    minute: int
    attached: bool = True


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
        self._followed = 0, 0
        """The minute, and how often something had been attached or detached, when it looked last."""
        self._credits_minute = math.floor(core.now() / MINUTE_SECONDS)
        self._held: list[tuple[float, int, Json]] = []
        """Datapoints that CloudWatch does not have yet: time of arrival, a number, the entry."""
        self._order = itertools.count()

    def publish_due(self) -> None:
        """Publish every minute that has arrived; when lab time skipped some, each gets its datapoint."""
        if self._publish is None:
            return
        minute = math.floor(self._core.now() / MINUTE_SECONDS)
        followed = minute, self._tables.attachment_changes
        if followed != self._followed:
            self._followed = followed
            self._measure(minute)
        data = self._arrived()
        for start in range(0, len(data), MAX_DATA_PER_CALL):
            self._publish(NAMESPACE, data[start : start + MAX_DATA_PER_CALL])

    def _measure(self, minute: int) -> None:
        self._follow(minute)
        data: list[Json] = []
        for volume_id, seen in list(self._seen.items()):
            data.extend(self._volume(volume_id, seen, minute))
        data.extend(self._credits(minute))
        self._hold(data)

    def _hold(self, data: list[Json]) -> None:
        dues = [_minute_end(entry) + self._delay(entry) for entry in data]
        for due, entry in zip(dues, data, strict=True):
            heapq.heappush(self._held, (due, next(self._order), entry))
        for due in {due for due in dues if due > self._core.now()}:
            self._core.at(due, lambda _due: None)

    def _arrived(self) -> list[Json]:
        arrived = []
        while self._held and self._held[0][0] <= self._core.now():
            arrived.append(heapq.heappop(self._held)[2])
        return arrived

    def _delay(self, entry: Json) -> float:
        """Seconds after the minute; the same for all metrics of one resource, so that they agree."""
        least, most = self._core.settings.metric_delay_seconds
        name = f"{entry['Dimensions'][0]['Value']}/{entry['Timestamp']}"
        return least + (most - least) * (zlib.crc32(name.encode()) % 1_000) / 1_000

    def _follow(self, minute: int) -> None:
        """Know what is attached; a volume's first minute is the one in which it was attached."""
        with self._core.transaction():
            since = {
                volume.volume_id: min(each.attach_time for each in volume.attachments.values())
                for volume in self._tables.volumes.values()
                if volume.attachments and volume.has_data
            }
            gone = set(self._seen) - set(self._tables.volumes)
        for volume_id in gone:
            del self._seen[volume_id]
        for volume_id, seen in self._seen.items():
            seen.attached = seen.attached and volume_id in since
        for volume_id, attach_time in since.items():
            seen = self._seen.setdefault(volume_id, _Seen(VolumeCounters(), minute, attached=False))
            if not seen.attached:
                seen.minute, seen.attached = math.floor(attach_time / MINUTE_SECONDS), True

    def _volume(self, volume_id: str, seen: _Seen, minute: int) -> list[Json]:
        """The datapoints of every minute that has passed; a detached volume still gets its last one."""
        if seen.minute >= minute:
            return []
        try:
            counters = self._core.dataplane.counters(volume_id)
        except DataPlaneError:
            return []
        data: list[Json] = []
        last = minute if seen.attached else seen.minute + 1
        if not seen.attached and counters == seen.counters:
            last = seen.minute
        for one in range(seen.minute, last):
            # Lab time runs ahead only while nothing works, so what was done belongs to the first minute.
            data.extend(_datapoints(volume_id, one, seen.counters, counters))
            seen.counters = counters
        seen.minute = minute
        return data

    def _credits(self, minute: int) -> list[Json]:
        data: list[Json] = []
        if minute <= self._credits_minute:
            return data
        with self._core.transaction():
            enabled = [
                (fast_restore, self._fast_restores.credits(fast_restore))
                for fast_restore in self._tables.fast_restores.values()
                if fast_restore.state == "enabled"
            ]
        for passed in range(self._credits_minute, minute):
            for one, balance in enabled:
                data.extend(_credit_points(one, balance, passed))
        self._credits_minute = minute
        return data


def _minute_end(entry: Json) -> float:
    return float(entry["Timestamp"]) + MINUTE_SECONDS


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
    """One entry of PutMetricData; the timestamp is the start of the minute, in seconds since the epoch."""
    return {
        "MetricName": name,
        "Dimensions": dimensions,
        "Timestamp": minute * MINUTE_SECONDS,
        "Value": float(value),
        "Unit": unit,
    }
