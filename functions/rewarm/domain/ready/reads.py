"""What reads show of a volume: how fast it must answer, and when VolumeReadOps is stable after a warm-up.

A volume is measured by random 4 KiB reads, one at a time, against what its type and limits promise.

VolumeReadOps comes as sums of a minute: late, twice, in any order or never. Stable: the latest whole minutes
after the end of our reads (`minutes` of them) each read no more than before the warm-up, with some tolerance.
If an application reads the volume meanwhile, the count stays high. Then the mean time of a read
(VolumeTotalReadTime / VolumeReadOps) must be that of a warm volume.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from rewarm.domain.model import InstanceEbsLimits, ReadActivity, VolumeSettings
from rewarm.domain.value import Value
from rewarm.domain.volume.volume_types import HDD_TYPES, speed

MINUTE = timedelta(minutes=1)
READ_OPS_TOLERANCE_FACTOR = 1.25
READ_OPS_TOLERANCE = 60.0
"""Back to the level before: at most a quarter more, and one read a second more."""
DEFAULT_STABLE_MINUTES = 1
MOST_STABLE_MINUTES = 15
DEFAULT_PATIENCE_SECONDS = 300
"""The first whole minute after the last read is over 60 to 120 s later. AWS does not document how
long CloudWatch then needs; three minutes are allowed (unverified)."""
MOST_PATIENCE_SECONDS = 3_600
FRESH_READS = timedelta(minutes=10)
"""CloudWatch's datapoints come some minutes late."""

DEFAULT_SAMPLES = 256
"""Enough reads that p99 is not the slowest of all: one hiccup of a busy machine is no cold volume."""
MAX_SAMPLES = 10_000
SAMPLES_BEFORE = 24
"""Enough for a median of a cold volume; each read fetches a block, so few, and some seconds at the most."""
MOST_MEASUREMENTS = 2
"""A volume that looks slow is measured once more: what is cold stays slow, a moment's load does not."""
PAUSES_SECONDS = (30, 60, 120)
"""Before each further measurement of a rewound volume. Its blocks are there, so slow reads are those of a
machine that is busy, and may be less busy then."""
SSD_P50_MS = {"io2": 1.0}
SSD_DEFAULT_P50_MS = 10.0
"""EBS user guide, "Amazon EBS volume types": single-digit milliseconds; io2 below one on average."""
SSD_P99_LIMIT_MS = 20.0
HDD_P50_MS = 15.0
"""No figure of AWS: a disk's seek and half a turn."""
HDD_P99_LIMIT_MS = 60.0
HDD_IO_KIB = 1_024
"""EBS user guide, "I/O characteristics": each small random read counts as 1 MiB against the throughput."""
THROTTLED_READS = 2
"""At the IOPS limit a read waits for its turn; the 99th of a hundred may wait for two."""


class StableRule(Value):
    """What counts as stable, and how long it is waited for."""

    minutes: int = DEFAULT_STABLE_MINUTES
    patience: timedelta = timedelta(seconds=DEFAULT_PATIENCE_SECONDS)
    warm_read_ms: float = 20.0


class Opinion(StrEnum):
    """What VolumeReadOps says of a volume that counts as ready."""

    CONFIRMS = "confirms"
    CONTRADICTS = "contradicts"
    """Whole minutes are there, and there are still slow reads."""
    SILENT = "silent"
    """CloudWatch had too few whole minutes until the patience was over."""


class ReadsVerdict(Value):
    """What CloudWatch says, why, and how long to wait where it has not said it yet."""

    opinion: Opinion
    reason: str
    patience_seconds: float = 0.0

    @property
    def settled(self) -> bool:
        """Whether waiting for CloudWatch is over."""
        return self.opinion is Opinion.CONFIRMS or self.patience_seconds <= 0


def read_ops_level(activity: Sequence[ReadActivity]) -> float:
    """Reads a minute before the warm-up: the median of the datapoints there are; 0 for a new volume."""
    return statistics.median(point.read_ops for point in activity) if activity else 0.0


def read_latency_ms(point: ReadActivity) -> float | None:
    """VolumeTotalReadTime / VolumeReadOps; None for a minute without reads (or without their time)."""
    if point.read_ops <= 0 or point.read_seconds <= 0:
        return None
    return 1_000 * point.read_seconds / point.read_ops


def latest_read_latency_ms(activity: Sequence[ReadActivity]) -> float | None:
    """Mean time of a read in the newest minute in which anything was read."""
    known = [(point.minute, read_latency_ms(point)) for point in activity]
    found = [(minute, latency) for minute, latency in known if latency is not None]
    return max(found)[1] if found else None


def is_read(activity: Sequence[ReadActivity], level_before: float, now: datetime) -> bool:
    """A sign of life where the agent's progress does not arrive.

    Its upload address ends with the credentials that signed it, after hours, and a network may let nothing
    be uploaded at all. An agent that hangs beside a busy application is ended by its own time limit.
    """
    limit = _quiet_limit(level_before)
    return any(point.read_ops > limit for point in activity if now - point.minute <= FRESH_READS)


def judge_reads(
    activity: Sequence[ReadActivity], rule: StableRule, *, level_before: float, ended: datetime, now: datetime
) -> ReadsVerdict:
    """Judges the whole minutes since the reads ended, as long as the rule has patience."""
    points = _whole_minutes(activity, ended, now)[-rule.minutes :]
    left = (ended + rule.patience - now).total_seconds()
    if len(points) < rule.minutes:
        said = "CloudWatch had no VolumeReadOps of a whole minute after that yet"
        if rule.minutes > 1:
            said = f"VolumeReadOps has {len(points)} of {rule.minutes} whole minutes since the agent finished"
        return ReadsVerdict(Opinion.SILENT, said, left)
    busiest = max(points, key=lambda point: point.read_ops)
    level = f"VolumeReadOps is {busiest.read_ops:.0f} a minute, {level_before:.0f} before the warm-up"
    if busiest.read_ops <= _quiet_limit(level_before):
        return ReadsVerdict(Opinion.CONFIRMS, level)
    latencies = [read_latency_ms(point) for point in points]
    slowest = max((latency for latency in latencies if latency is not None), default=None)
    if slowest is not None and slowest <= rule.warm_read_ms:
        said = f"{level}: something else reads the volume, at {slowest:.1f} ms a read"
        return ReadsVerdict(Opinion.CONFIRMS, said)
    return ReadsVerdict(Opinion.CONTRADICTS, f"{level}: not quiet yet", left)


def first_minute_over(ended: datetime) -> datetime:
    """When the first whole minute after this is over: CloudWatch cannot have it sooner."""
    return _next_minute(ended) + MINUTE


def _quiet_limit(level_before: float) -> float:
    return level_before * READ_OPS_TOLERANCE_FACTOR + READ_OPS_TOLERANCE


def _whole_minutes(activity: Sequence[ReadActivity], ended: datetime, now: datetime) -> list[ReadActivity]:
    """The minutes since the end that are over, the oldest first. Of a duplicate, the one with more reads."""
    first = _next_minute(ended)
    distinct: dict[datetime, ReadActivity] = {}
    for point in activity:
        if point.minute >= first and point.minute + MINUTE <= now:
            known = distinct.get(point.minute, point)
            distinct[point.minute] = max(known, point, key=lambda sample: sample.read_ops)
    return [distinct[minute] for minute in sorted(distinct)]


def _next_minute(instant: datetime) -> datetime:
    floor = instant.astimezone(UTC).replace(second=0, microsecond=0)
    return floor if floor == instant else floor + MINUTE


class ExpectedReads(Value):
    """What the volume's type and limits promise for random 4 KiB reads, one at a time."""

    p50_ms: float
    p99_ms: float
    iops: float
    limited_by: str


def expected_reads(settings: VolumeSettings, instance: InstanceEbsLimits | None = None) -> ExpectedReads:
    """By the volume's type and IOPS, and by the instance where its limits are known."""
    iops, limited_by = _iops_limit(settings, instance)
    hdd = settings.volume_type in HDD_TYPES
    p50 = HDD_P50_MS if hdd else SSD_P50_MS.get(settings.volume_type, SSD_DEFAULT_P50_MS)
    at_limit = 1_000 / iops
    if at_limit <= p50:
        limited_by = f"latency of {settings.volume_type}"
    p99 = max(HDD_P99_LIMIT_MS if hdd else SSD_P99_LIMIT_MS, THROTTLED_READS * at_limit)
    return ExpectedReads(max(p50, at_limit), p99, 1_000 / max(p50, at_limit), limited_by)


def p99_limit_ms(wanted: float | None, settings: VolumeSettings) -> float:
    """The request's limit; else what the volume promises. The instance is left out: it may burst."""
    return expected_reads(settings).p99_ms if wanted is None else wanted


def _iops_limit(settings: VolumeSettings, instance: InstanceEbsLimits | None) -> tuple[float, str]:
    can = speed(settings)
    own = float(can.iops)
    if settings.volume_type in HDD_TYPES:
        own = min(own, can.sustained_mib_s * 1_024 / HDD_IO_KIB)
    limits = [(own, f"IOPS of {settings.volume_type}")]
    if instance is not None and instance.baseline_iops:
        limits.append((float(instance.baseline_iops), "IOPS of the instance"))
    return min(limits)
