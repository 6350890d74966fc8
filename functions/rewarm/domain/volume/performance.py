"""A volume's performance: as ModifyVolume takes it, as the tag `rewarm:boost` keeps it, and in words.

And its change: when EC2 accepts one, and whether CloudWatch shows it. A volume may be modified four times
within a rolling 24 hours, each only after the last one is completed. Some partitions keep the earlier rule
of six hours in between (botocore, ModifyVolume).

Published measurements of io2 (16 KiB random writes, 64 jobs): changes of 1,000 to 2,000 IOPS and of 5,000 to
100 IOPS show in the datapoint of the same or the next minute. A volume under load runs up to 5 % above its
limit: 1,053 at 1,000, 5,184 at 5,000.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import field, replace
from datetime import datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Literal

from rewarm.domain.errors import InvalidRequestError
from rewarm.domain.model import MIB, Boost, Volume, VolumeSettings
from rewarm.domain.units import clock_text, count_text, usd_text
from rewarm.domain.value import Value
from rewarm.domain.volume.volume_types import VOLUME_TYPES, WantedVolume, settle, speed

STACK_TAG, MANAGED_TAG = "rewarm:stack", "rewarm:managed"
"""On the volumes of a stack; `true` on others of the account that its API may change."""
BOOST_TAG = "rewarm:boost"
"""On a volume that was created with more than it is to have: what to go back to, as `as_text` writes it."""
_TEXT = re.compile(r"(?P<type>[a-z0-9]+)(?: iops=(?P<iops>\d+))?(?: throughputMibS=(?P<throughput>\d+))?")
MINUTE = timedelta(minutes=1)
REACHED = 0.95
"""Share of a raised limit that shows it within a minute."""
ABOVE = 1.1
"""Multiple of its limit that a volume may reach, as measured; beyond it another limit holds."""
BUSY = 0.8
"""Share of a lowered limit from which the limit holds the load back."""
LOADED = 0.5
"""Share of the smaller limit: with so much load CloudWatch may show the change soon, so we wait."""
DAY = timedelta(hours=24)
PER_DAY = 4
PAUSE = timedelta(hours=6)
FULL_TIB = timedelta(hours=6)
"""EBS user guide, "Monitor the progress of volume modifications": a full 1 TiB takes about six hours."""
LOOKS_AGAIN = timedelta(minutes=15)
"""The sweeper lowers what nobody else could; template.yaml has its schedule."""
SAME = timedelta(seconds=30)
"""CloudTrail's time of the call and EC2's start of the modification are those of one change; EC2 takes the
next one only when the first is completed."""


class PerformanceSettings(Value):
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


class VolumeModification(Value):
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
        """Whether the new settings are in force; EBS may still be moving blocks."""
        return self.state in {"optimizing", "completed"}

    @property
    def under_way(self) -> bool:
        """Whether EC2 accepts no other change of this volume now."""
        return self.state in {"modifying", "optimizing"}


BoostState = Literal["raised", "not-raised", "lowering", "lowered", "not-lowered", "left-alone"]


class BoostOutcome(Value):
    """A boost and what became of it once the volume was warm; the settings are in words."""

    state: BoostState = field(
        metadata={"description": "left-alone: somebody has changed it, so it is not lowered."}
    )
    boosted: str
    target: str
    reason: str = ""
    usd_per_hour: Decimal | None = field(
        default=None, metadata={"ge": 0, "description": "What an adopted volume costs until it is lowered."}
    )
    command: str = field(default="", metadata={"description": "Lowers it by hand."})

    @property
    def costs(self) -> bool:
        """Whether the volume still has it."""
        return self.state in COSTS

    @property
    def sentence(self) -> str:
        """For people."""
        if self.costs:
            price = "money" if self.usd_per_hour is None else f"{usd_text(self.usd_per_hour)} an hour"
            return f"It is still boosted to {self.boosted} and still costs {price}: {self.reason}."
        if self.state == "not-raised":
            return f"It was not boosted to {self.boosted}: {self.reason}."
        if self.state == "left-alone":
            return f"It was boosted to {self.boosted}, and is not lowered to {self.target}: {self.reason}."
        tail = f" ({self.reason})" if self.reason else ""
        return f"It was boosted to {self.boosted} for the warm-up and is lowered to {self.target}{tail}."


COSTS = frozenset({"lowering", "not-lowered"})
"""States of a boost that the volume still has."""


def modify_command(volume_id: str, target: PerformanceSettings) -> str:
    """Changes the volume's performance by hand."""
    iops = f" --iops {target.iops}" if target.iops is not None else ""
    throughput = f" --throughput {target.throughput_mib_s}" if target.throughput_mib_s is not None else ""
    return f"aws ec2 modify-volume --volume-id {volume_id}{iops}{throughput}"


def boost_refusal(volume: Volume, *, asked: bool) -> str | None:
    """Why the volume may not be boosted for its warm-up; None where request and owner allow it."""
    name = volume.volume_id
    tags = volume.settings.tags
    if not asked:
        return "the request does not allow it; source.existing.boost does, and rewarm warm --boost"
    if tags.get(MANAGED_TAG) != "true":
        return (
            f"the owner of {name} has not allowed it by the tag {MANAGED_TAG}=true; to allow it: "
            f"aws ec2 create-tags --resources {name} --tags Key={MANAGED_TAG},Value=true"
        )
    if BOOST_TAG in tags:
        return f"{name} is boosted already, by the restore that made it"
    return None


def performance_of(settings: VolumeSettings | Boost) -> PerformanceSettings:
    """Of a volume, or of a boost."""
    return PerformanceSettings(settings.volume_type, settings.iops, settings.throughput_mib_s)


def parse_performance(text: str) -> PerformanceSettings:
    """What `as_text` wrote. Raises ValueError."""
    found = _TEXT.fullmatch(text)
    if found is None:
        raise ValueError(f'"{text}" is not written as {PerformanceSettings("gp3", 3_000, 125).as_text}')
    iops = found["iops"]
    throughput = found["throughput"]
    return PerformanceSettings(
        found["type"], int(iops) if iops else None, int(throughput) if throughput else None
    )


class Activity(Value):
    """One minute of a volume's CloudWatch metrics, reads and writes together."""

    minute: datetime
    ops: float
    transferred_bytes: float


class Limit(Value):
    """The limit that a change of performance changes, as it can be seen from outside."""

    unit: str
    """`IOPS` or `MiB/s`."""
    before: float
    after: float

    def rate(self, activity: Activity) -> float:
        """(VolumeReadOps + VolumeWriteOps) / 60, or the same of the bytes."""
        amount = activity.ops if self.unit == "IOPS" else activity.transferred_bytes / MIB
        return amount / MINUTE.total_seconds()


class Sight(Value):
    """CloudWatch shows that the new limit holds."""

    minute: datetime
    rate: float
    rate_before: float | None


def settle_target(volume: VolumeSettings, wanted: WantedVolume) -> PerformanceSettings:
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


def changed_limit(before: PerformanceSettings, after: PerformanceSettings, size_gib: int) -> Limit | None:
    """IOPS where they change, else throughput; None where neither does, or AWS's own default is meant."""
    old = speed(_settings(before, size_gib))
    new = speed(_settings(after, size_gib))
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
    # A load that ends does not show a lower limit: it must have been above the new limit and be at it now.
    falls = before is not None and before > limit.after * ABOVE
    return falls and limit.after * BUSY <= rate <= limit.after * ABOVE


def is_loaded(limit: Limit, activity: Sequence[Activity]) -> bool:
    """In the latest minute that CloudWatch has, the volume worked enough for the change to show soon."""
    if not activity:
        return False
    latest = max(activity, key=lambda each: each.minute)
    return limit.rate(latest) >= LOADED * min(limit.before, limit.after)


def _settings(performance: PerformanceSettings, size_gib: int) -> VolumeSettings:
    bare = VolumeSettings(performance.volume_type, size_gib)
    return replace(bare, iops=performance.iops, throughput_mib_s=performance.throughput_mib_s)


class ModificationRule(StrEnum):
    """The parameter ModificationRule of template.yaml."""

    FOUR_IN_24_H = "4-in-24-h"
    SIX_HOURS = "6-h"


class Slots(Value):
    """What the rule leaves; `next_free_at` is None where a change may start now."""

    rule: ModificationRule
    started_at: tuple[datetime, ...]
    """The changes of the last 24 hours that are known of, oldest first."""
    next_free_at: datetime | None = None
    reason: str = ""


def slots(
    rule: ModificationRule,
    starts: Iterable[datetime],
    latest: VolumeModification | None,
    *,
    size_gib: int,
    now: datetime,
) -> Slots:
    """What is known of a volume's changes, against the rule."""
    own = [latest.started_at] if latest is not None and latest.started_at is not None else []
    recent = tuple(start for start in distinct([*starts, *own]) if start > now - DAY)
    free_at, reason = _by_rule(rule, recent)
    if latest is not None and latest.under_way:
        free_at = max(filter(None, (free_at, _expected_end(latest, size_gib, now))))
        reason = f"{_in_words(latest)}; {reason}" if reason else _in_words(latest)
    if free_at is None or free_at <= now:
        return Slots(rule, recent)
    return Slots(rule, recent, free_at, reason)


def distinct(starts: Iterable[datetime]) -> list[datetime]:
    """Each change once, oldest first."""
    found: list[datetime] = []
    for start in sorted(starts):
        if not found or start - found[-1] > SAME:
            found.append(start)
    return found


def _by_rule(rule: ModificationRule, recent: Sequence[datetime]) -> tuple[datetime | None, str]:
    if rule is ModificationRule.SIX_HOURS:
        if not recent:
            return None, ""
        return recent[-1] + PAUSE, f"it was modified at {clock_text(recent[-1])}, less than 6 hours ago"
    if len(recent) < PER_DAY:
        return None, ""
    times = ", ".join(clock_text(start) for start in recent)
    return recent[-PER_DAY] + DAY, f"{count_text(len(recent), 'modification')} within 24 hours ({times})"


def _in_words(latest: VolumeModification) -> str:
    done = f", {latest.progress_percent} % done" if latest.progress_percent is not None else ""
    return f"its change to {latest.target.in_words} is {latest.state}{done}"


def change_lasts(size_gib: int, rule: ModificationRule = ModificationRule.FOUR_IN_24_H) -> timedelta:
    """How long EC2 takes no other change of a volume, at most: until it has finished the last one.

    Under the rule of six hours it takes none before these are over, however small the volume is.
    """
    finished = FULL_TIB * (size_gib / 1_024)
    return max(finished, PAUSE) if rule is ModificationRule.SIX_HOURS else finished


def _expected_end(latest: VolumeModification, size_gib: int, now: datetime) -> datetime:
    """An estimate: from its progress, else from the size; always a little ahead."""
    since = latest.started_at or now
    end = since + change_lasts(size_gib)
    if latest.progress_percent:
        end = since + (now - since) * (100 / latest.progress_percent)
    return max(end, now + timedelta(minutes=1))
