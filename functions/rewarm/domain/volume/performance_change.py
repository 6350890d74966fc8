"""A change of a volume's performance on its own: which settings, and whether CloudWatch shows them.

Published measurements of io2 (16 KiB random writes, 64 jobs): 1,000 to 2,000 IOPS and 5,000 to 100 IOPS both
show in the datapoint of the next minute or the same one, and a volume under load runs up to 5 % above its
limit: 1,053 at 1,000, 5,184 at 5,000.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from rewarm.domain.errors import InvalidRequestError
from rewarm.domain.model import MIB, VolumeSettings
from rewarm.domain.volume.performance import Performance, performance_of
from rewarm.domain.volume.volume_types import VOLUME_TYPES, WantedVolume, settle, speed

MINUTE = timedelta(minutes=1)
REACHED = 0.95
"""Of a raised limit: that much within a minute shows it."""
ABOVE = 1.1
"""A volume may run so far above its limit, as measured; beyond it another limit holds."""
BUSY = 0.8
"""Of a lowered limit: that much is a load that the limit holds back."""
LOADED = 0.5
"""Of the smaller limit: with that much, CloudWatch may soon show the change, and it is worth a while."""


@dataclass(frozen=True, slots=True)
class Activity:
    """One minute of a volume's CloudWatch metrics, reads and writes together."""

    minute: datetime
    ops: float
    transferred_bytes: float


@dataclass(frozen=True, slots=True)
class Limit:
    """What a change changes that can be seen from outside."""

    unit: str
    """`IOPS` or `MiB/s`."""
    before: float
    after: float

    def rate(self, activity: Activity) -> float:
        """(VolumeReadOps + VolumeWriteOps) / 60, or the same of the bytes."""
        amount = activity.ops if self.unit == "IOPS" else activity.transferred_bytes / MIB
        return amount / MINUTE.total_seconds()


@dataclass(frozen=True, slots=True)
class Sight:
    """CloudWatch shows that the new limit holds."""

    minute: datetime
    rate: float
    rate_before: float | None


def settle_target(volume: VolumeSettings, wanted: WantedVolume) -> Performance:
    """What the volume is to have. Raises InvalidRequestError with the field, as the request has it.

    What is not asked for stays, as far as the type and the other settings allow it: 0.25 MiB/s for each IOPS
    of gp3, say.
    """
    _check_type(volume, wanted)
    try:
        settled = settle(wanted, volume, volume.size_gib)
    except InvalidRequestError as error:
        field = (error.field or "").removeprefix("volume.")
        raise InvalidRequestError(str(error).removeprefix(f"{error.field}: "), field=field) from None
    return performance_of(settled)


def _check_type(volume: VolumeSettings, wanted: WantedVolume) -> None:
    name = wanted.volume_type or volume.volume_type
    kind = VOLUME_TYPES.get(name)
    if kind is None:
        raise InvalidRequestError(
            f"a {name} volume has no performance setting; name the type that it is to become",
            field="volumeType",
        )
    if not kind.min_size_gib <= volume.size_gib <= kind.max_size_gib:
        raise InvalidRequestError(
            f"found {name}; such a volume has {kind.min_size_gib} to {kind.max_size_gib} GiB, "
            f"and this one {volume.size_gib}",
            field="volumeType",
        )
    if volume.multi_attach and name != volume.volume_type:
        raise InvalidRequestError(
            f"found {name}; a volume for several instances keeps its type", field="volumeType"
        )


def changed_limit(before: Performance, after: Performance, size_gib: int) -> Limit | None:
    """IOPS where they change, else throughput; None where neither does, or AWS's own default is meant."""
    old, new = speed(_settings(before, size_gib)), speed(_settings(after, size_gib))
    if old.iops != new.iops:
        return Limit("IOPS", old.iops, new.iops)
    if old.sustained_mib_s != new.sustained_mib_s:
        return Limit("MiB/s", old.sustained_mib_s, new.sustained_mib_s)
    return None


def sight(limit: Limit, activity: Sequence[Activity], since: datetime) -> Sight | None:
    """The first minute that only the new limit explains; None where load or difference are too small.

    `since` is when the change was asked for: its minute may already show it.
    """
    before: float | None = None
    for minute_sum in sorted(activity, key=lambda each: each.minute):
        rate = limit.rate(minute_sum)
        if minute_sum.minute + MINUTE > since and _shows(limit, rate, before):
            return Sight(minute_sum.minute, rate, before)
        before = rate
    return None


def _shows(limit: Limit, rate: float, before: float | None) -> bool:
    if limit.after > limit.before:
        return rate >= max(limit.after * REACHED, limit.before * ABOVE)
    # A load that goes away is no lower limit: it must have been above, and must be at the new limit now.
    falls = before is not None and before > limit.after * ABOVE
    return falls and limit.after * BUSY <= rate <= limit.after * ABOVE


def is_loaded(limit: Limit, activity: Sequence[Activity]) -> bool:
    """In the latest minute that CloudWatch has, the volume worked enough for the change to show soon."""
    if not activity:
        return False
    latest = max(activity, key=lambda each: each.minute)
    return limit.rate(latest) >= LOADED * min(limit.before, limit.after)


def _settings(performance: Performance, size_gib: int) -> VolumeSettings:
    bare = VolumeSettings(performance.volume_type, size_gib)
    return replace(bare, iops=performance.iops, throughput_mib_s=performance.throughput_mib_s)
