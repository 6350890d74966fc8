"""What a finished restore measured, phase by phase, and how much that says about another restore.

The progress of an initialization is kept for pictures, as a series of samples that stays small.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import field
from datetime import datetime
from enum import StrEnum
from itertools import pairwise
from typing import NamedTuple

from rewarm.domain.model import MIB, Strategy
from rewarm.domain.value import Value

HALF_LIFE_DAYS = 90.0
"""A restore of three months ago counts half. This is a choice: AWS changes, but drills are rare."""
OTHER_VOLUME_TYPE = 0.25
OTHER_ZONE = 0.5
OTHER_INSTANCE_TYPE = 0.5
"""Weight of a restore that differs in this. These are choices; the quantiles need only their order."""

MOST_SAMPLES = 240
"""More than a picture has room for; 48 hours are a sample every 12 to 24 minutes then."""


class Phase(StrEnum):
    """The parts of a restore, in the order in which they happen; each strategy has some of them."""

    COPY = "copy"
    """Until the snapshot's copy is complete, where it comes from another Region."""
    QUEUE = "queue"
    """Until other volumes of the restore have left it what they share."""
    PREPARE = "prepare"
    """Until fast snapshot restore is enabled and has a credit."""
    CREATE = "create"
    """From CreateVolume until the volume is available."""
    ATTACH = "attach"
    """Until it is attached."""
    BOOT = "boot"
    """Until the instance that is started with its new volumes is up."""
    MEASURE = "measure"
    """A few dozen reads of the cold volume, where EBS loads it; elsewhere the agent makes them."""
    DELIVER = "deliver"
    """From SendCommand until the agent reads, or has taken the volume that it writes."""
    EVIDENCE = "evidence"
    """Of a rewind: until the snapshot of the volume as it was is completed."""
    READ = "read"
    """The agent reads."""
    LOAD = "load"
    """EBS loads, by rate or in the background, and reports it late. Begins when the volume is usable."""
    WRITE = "write"
    """Blocks are copied out of the snapshot, written, and read back; the volume is usable after that."""
    SETTLE = "settle"
    """From the end of reading until the volume's metrics are quiet, where nothing is measured."""
    VERIFY = "verify"
    """Random reads of the warm volume, and everything to the end. Begins when the agent has read."""


class Likeness(Value):
    """The properties by which two restores are compared."""

    volume_type: str
    availability_zone: str
    instance_type: str | None


class Measured(Value):
    """One volume that reached full speed."""

    name: str
    """Restore and index: the same volume counts once, however often it was recorded."""
    at: datetime
    strategy: Strategy
    likeness: Likeness
    written_bytes: int
    data_bytes: int
    snapshot_size_gib: int
    seconds: Mapping[Phase, float]
    """Phases that this restore had, and that were seen from beginning to end."""
    lead_seconds: float | None = None
    """How long PREPARE takes by AWS's figures; None where somebody else had enabled it."""
    read_limit_mib_s: float | None = None
    """What volume, instance and the user's own limit allowed the agent."""
    rate_mib_s: int | None = None
    """The provisioned initialization rate."""
    points: tuple[Point, ...] = field(default=())
    estimated_p50_seconds: float = 0.0
    estimated_p90_seconds: float = 0.0
    actual_seconds: float = 0.0
    """From the plan to full speed."""
    parts: tuple[tuple[str, float], ...] = field(default=())
    """Title and seconds of each part that brought the application back; empty where none did."""

    def of(self, phase: Phase) -> float | None:
        """Returns the seconds of the phase; None where it was not measured or is not a duration."""
        value = self.seconds.get(phase)
        return value if value is not None and math.isfinite(value) and value >= 0 else None

    @property
    def read_mib_s(self) -> float | None:
        """The agent's mean rate; None where nothing was read or the phase was not measured."""
        seconds = self.of(Phase.READ)
        return self.written_bytes / MIB / seconds if seconds and self.written_bytes else None

    @property
    def paid_seconds(self) -> float | None:
        """How long loading takes at the provisioned rate; None without one."""
        return self.data_bytes / MIB / self.rate_mib_s if self.rate_mib_s else None


def weight(record: Measured, wanted: Likeness, now: datetime) -> float:
    """Returns how much a restore counts: 1 if it is new and alike, less for each difference and with age."""
    days = max(0.0, (now - record.at).total_seconds() / 86_400)
    found = math.pow(0.5, days / HALF_LIFE_DAYS)
    if record.likeness.volume_type != wanted.volume_type:
        found *= OTHER_VOLUME_TYPE
    if record.likeness.availability_zone != wanted.availability_zone:
        found *= OTHER_ZONE
    if record.likeness.instance_type != wanted.instance_type:
        found *= OTHER_INSTANCE_TYPE
    return found


MOST_POINTS = 24

Point = tuple[float, int]
"""Seconds since the first look at loading, and bytes that were loaded then."""


def with_point(points: Sequence[Point], seconds: float, bytes_done: int) -> list[Point]:
    """Returns the points and a new one. Beyond MOST_POINTS every second point is left out.

    A point without progress replaces the last one, so that a standstill needs no space.
    """
    kept = list(points)
    if kept and seconds <= kept[-1][0]:
        return kept
    if len(kept) > 1 and kept[-1][1] == kept[-2][1] == bytes_done:
        kept.pop()
    kept.append((seconds, bytes_done))
    if len(kept) > MOST_POINTS:
        kept = [kept[0], *kept[2:-1:2], kept[-1]]
    return kept


class Sample(NamedTuple):
    """One look at the initialization; None where a source said nothing."""

    seconds: float
    """Since the restore began."""
    percent: float
    bytes_done: int
    mib_per_second: float | None = None
    """As the agent reported it."""
    read_ops: float | None = None
    """VolumeReadOps of the last whole minute."""
    read_ms: float | None = None
    """VolumeTotalReadTime / VolumeReadOps."""


def with_sample(series: Sequence[Sample], new: Sample) -> list[Sample]:
    """Returns the series and a new sample. A sample that is not later than the last is left out.

    Beyond MOST_SAMPLES every second one is left out, but never the first and the last.
    """
    kept = list(series)
    if kept and new.seconds <= kept[-1].seconds:
        return kept
    kept.append(new)
    return kept if len(kept) <= MOST_SAMPLES else [kept[0], *kept[2:-1:2], kept[-1]]


def rates_mib_s(series: Sequence[Sample]) -> list[float | None]:
    """Returns the agent's rate, else the mean since the sample before; None where neither is known.

    An agent that has finished still reports its last rate. So without progress the rate is 0.
    """
    found = [series[0].mib_per_second] if series else []
    for before, after in pairwise(series):
        gained = after.bytes_done - before.bytes_done
        mean = gained / MIB / (after.seconds - before.seconds)
        found.append(mean if gained == 0 else after.mib_per_second or (mean if gained > 0 else None))
    return found
