"""What the steps of a change of performance share: its record, and when it was requested."""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum

from rewarm.domain.errors import RestoreError
from rewarm.domain.model import Volume
from rewarm.domain.value import Value
from rewarm.domain.volume.performance import DAY, ModificationRule, Slots, VolumeModification, slots
from rewarm.ports.restores import RestoreTable
from rewarm.ports.volumes import CallTrail, PerformanceLog, VolumeModifications, VolumeStore

NEAR = timedelta(minutes=5)
"""Between CloudTrail's time of the call and EC2's start of the modification there are seconds."""


class ChangeStatus(StrEnum):
    """Where a change is."""

    ACCEPTED = "accepted"
    CHANGING = "changing"
    CHANGED = "changed"
    FAILED = "failed"


class PerformancePorts(Value, kw_only=True):
    """The ports that a look at a volume's performance needs."""

    rule: ModificationRule
    volumes: VolumeStore
    modifications: VolumeModifications
    trail: CallTrail
    log: PerformanceLog
    table: RestoreTable


def known_slots(
    volume: Volume, latest: VolumeModification | None, *, now: datetime, ports: PerformancePorts
) -> Slots:
    """EC2's latest change, CloudTrail's calls and our own notes, counted together."""
    name = volume.volume_id
    starts = [*ports.log.starts(name), *called(name, ports.trail, since=now - DAY)]
    return slots(ports.rule, starts, latest, size_gib=volume.settings.size_gib, now=now)


def called(volume_id: str, trail: CallTrail, *, since: datetime) -> list[datetime]:
    """Empty if CloudTrail does not answer: it only adds calls, and EC2 has the last word."""
    try:
        return trail.modifications(volume_id, since=since)
    except RestoreError:
        return []


def requested_at(volume_id: str, started_at: datetime, trail: CallTrail) -> datetime | None:
    """When ModifyVolume was called, by CloudTrail; None while it does not show the call."""
    found = called(volume_id, trail, since=started_at - NEAR)
    near = [instant for instant in found if abs(instant - started_at) <= NEAR]
    return min(near, key=lambda instant: abs(instant - started_at), default=None)
