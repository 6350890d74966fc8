"""A volume's performance: as ModifyVolume takes it, as the tag `rewarm:boost` keeps it, and in words."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

from rewarm.domain.model import Boost, VolumeSettings

STACK_TAG, MANAGED_TAG = "rewarm:stack", "rewarm:managed"
"""On the volumes of a stack; `true` on others of the account that its API may change."""
BOOST_TAG = "rewarm:boost"
"""On a volume that was created with more than it is to have: what to go back to, as `as_text` writes it."""
_TEXT = re.compile(r"(?P<type>[a-z0-9]+)(?: iops=(?P<iops>\d+))?(?: throughputMibS=(?P<throughput>\d+))?")


@dataclass(frozen=True, slots=True)
class PerformanceSettings:
    """What ModifyVolume sets; null where the type has no such setting."""

    volume_type: str
    iops: int | None = None
    throughput_mib_s: int | None = None

    def fits(self, settings: VolumeSettings | PerformanceSettings) -> bool:
        """The settings are these already; what is None here may be anything."""
        return (
            self.volume_type == settings.volume_type
            and self.iops in (None, settings.iops)
            and self.throughput_mib_s in (None, settings.throughput_mib_s)
        )

    @property
    def as_text(self) -> str:
        """`gp3 iops=3000 throughputMibS=125`, for a tag's value."""
        iops = f" iops={self.iops}" if self.iops is not None else ""
        throughput = f" throughputMibS={self.throughput_mib_s}" if self.throughput_mib_s is not None else ""
        return f"{self.volume_type}{iops}{throughput}"

    @property
    def in_words(self) -> str:
        """`gp3 with 3,000 IOPS and 125 MiB/s`."""
        parts = [f"{self.iops:,} IOPS"] if self.iops is not None else []
        parts += [f"{self.throughput_mib_s:,} MiB/s"] if self.throughput_mib_s is not None else []
        return f"{self.volume_type} with {' and '.join(parts)}" if parts else self.volume_type


@dataclass(frozen=True, slots=True)
class VolumeModification:
    """The latest change of a volume; `state` is modifying, optimizing, completed or failed."""

    state: str
    target: PerformanceSettings
    message: str | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    progress_percent: int | None = None
    original: PerformanceSettings | None = None

    @property
    def in_force(self) -> bool:
        """The new settings count; EBS may still be moving blocks."""
        return self.state in {"optimizing", "completed"}

    @property
    def under_way(self) -> bool:
        """EC2 takes no other change of this volume now."""
        return self.state in {"modifying", "optimizing"}


@dataclass(frozen=True, slots=True)
class BoostOutcome:
    """A boost and what became of it once the volume was warm; the settings are in words."""

    boosted: str
    target: str
    is_lowered: bool
    reason: str = ""

    @property
    def sentence(self) -> str:
        """For people."""
        if not self.is_lowered:
            return f"It is still boosted to {self.boosted} and still costs money: {self.reason}."
        tail = f" ({self.reason})" if self.reason else ""
        return f"It was boosted to {self.boosted} for the warm-up and is lowered to {self.target}{tail}."


def performance_of(settings: VolumeSettings | Boost) -> PerformanceSettings:
    """Of a volume, or of a boost."""
    return PerformanceSettings(settings.volume_type, settings.iops, settings.throughput_mib_s)


def parse_performance(text: str) -> PerformanceSettings:
    """What `as_text` wrote. Raises ValueError."""
    found = _TEXT.fullmatch(text)
    if found is None:
        raise ValueError(f'"{text}" is not written as {PerformanceSettings("gp3", 3_000, 125).as_text}')
    iops, throughput = found["iops"], found["throughput"]
    return PerformanceSettings(
        found["type"], int(iops) if iops else None, int(throughput) if throughput else None
    )
