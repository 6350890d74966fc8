"""When is VolumeReadOps stable after a warm-up? Per-minute sums that come late, twice, in any order or never.

Stable: the latest whole minutes after the agent's end (`minutes` of them) each read no more than before the
warm-up, with some tolerance. Where an application reads the volume meanwhile, the count never goes back: then
the mean time of a read (VolumeTotalReadTime / VolumeReadOps) must be that of a warm volume.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from rewarm.domain.model import ReadActivity

MINUTE = timedelta(minutes=1)
READ_OPS_TOLERANCE_FACTOR = 1.25
READ_OPS_TOLERANCE = 60.0
"""Back to the level before: at most a quarter more, and one read a second more."""
DEFAULT_STABLE_MINUTES = 1
MOST_STABLE_MINUTES = 15
DEFAULT_PATIENCE_SECONDS = 60
"""Datapoints come minutes late; with a measurement to follow, a volume that is fast is not kept waiting."""
MOST_PATIENCE_SECONDS = 3_600
UNMEASURED_PATIENCE_SECONDS = 900
"""Where no measurement follows, CloudWatch is the only witness beside the agent: worth a wait."""
FRESH_READS = timedelta(minutes=10)
"""CloudWatch's datapoints come some minutes late."""


@dataclass(frozen=True, slots=True)
class StableRule:
    """What counts as stable, and how long it is waited for."""

    minutes: int = DEFAULT_STABLE_MINUTES
    patience: timedelta = timedelta(seconds=DEFAULT_PATIENCE_SECONDS)
    warm_read_ms: float = 20.0


@dataclass(frozen=True, slots=True)
class ReadsVerdict:
    """Whether CloudWatch has nothing more to say, why, and when to look again where it has."""

    settled: bool
    reason: str
    patience_seconds: float = 0.0
    is_proof: bool = True
    """False where nobody waits any longer for what CloudWatch did not say."""


def read_ops_level(activity: Sequence[ReadActivity]) -> float:
    """Reads a minute before the warm-up: the median of the datapoints there are; 0 for a new volume."""
    return statistics.median(point.read_ops for point in activity) if activity else 0.0


def read_latency_ms(point: ReadActivity) -> float | None:
    """VolumeTotalReadTime / VolumeReadOps; None for a minute without reads (or without their time)."""
    if point.read_ops <= 0 or point.read_seconds <= 0:
        return None
    return 1_000 * point.read_seconds / point.read_ops


def latest_read_latency_ms(activity: Sequence[ReadActivity]) -> float | None:
    """Of the newest minute in which anything was read."""
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
    """Judges the whole minutes since the agent ended; after the rule's patience the measurement decides."""
    points = _whole_minutes(activity, ended, now)[-rule.minutes :]
    left = (ended + rule.patience - now).total_seconds()
    if len(points) < rule.minutes:
        said = "CloudWatch had no VolumeReadOps of a whole minute after that yet"
        if rule.minutes > 1:
            said = f"VolumeReadOps has {len(points)} of {rule.minutes} whole minutes since the agent finished"
        return _undecided(said, left)
    busiest = max(points, key=lambda point: point.read_ops)
    level = f"VolumeReadOps is {busiest.read_ops:.0f} a minute, {level_before:.0f} before the warm-up"
    if busiest.read_ops <= _quiet_limit(level_before):
        return ReadsVerdict(True, level)
    latencies = [read_latency_ms(point) for point in points]
    slowest = max((latency for latency in latencies if latency is not None), default=None)
    if slowest is not None and slowest <= rule.warm_read_ms:
        return ReadsVerdict(True, f"{level}: something else reads the volume, at {slowest:.1f} ms a read")
    return _undecided(f"{level}: not quiet yet", left)


def _undecided(said: str, left_seconds: float) -> ReadsVerdict:
    if left_seconds <= 0:
        return ReadsVerdict(True, said, is_proof=False)
    return ReadsVerdict(False, said, left_seconds)


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
