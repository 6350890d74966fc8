"""When may a volume be modified again? (botocore, ModifyVolume: four times within a rolling 24 hours, each
only after the one before is completed; some partitions keep the earlier rule of six hours in between.)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from rewarm.domain.units import clock_text, count_text
from rewarm.domain.volume.performance import VolumeModification

DAY = timedelta(hours=24)
PER_DAY = 4
PAUSE = timedelta(hours=6)
FULL_TIB = timedelta(hours=6)
"""EBS user guide, "Monitor the progress of volume modifications": a full 1 TiB takes about six hours."""
SAME = timedelta(seconds=30)
"""CloudTrail's time of the call and EC2's start of the modification are those of one change; EC2 takes the
next one only when the first is completed."""


class ModificationRule(StrEnum):
    """The parameter ModificationRule of template.yaml."""

    FOUR_IN_24_H = "4-in-24-h"
    SIX_HOURS = "6-h"


@dataclass(frozen=True, slots=True)
class Slots:
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
        reason = f"{_told(latest)}; {reason}" if reason else _told(latest)
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


def _told(latest: VolumeModification) -> str:
    done = f", {latest.progress_percent} % done" if latest.progress_percent is not None else ""
    return f"its change to {latest.target.in_words} is {latest.state}{done}"


def _expected_end(latest: VolumeModification, size_gib: int, now: datetime) -> datetime:
    """An estimate: from its progress, else from the size; always a little ahead."""
    since = latest.started_at or now
    end = since + FULL_TIB * (size_gib / 1_024)
    if latest.progress_percent:
        end = since + (now - since) * (100 / latest.progress_percent)
    return max(end, now + timedelta(minutes=1))
