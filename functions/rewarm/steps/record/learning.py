"""What this account's finished restores say of the next one."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from rewarm.contracts import VolumeAssignment
from rewarm.domain.errors import RestoreError
from rewarm.domain.time.history import learned
from rewarm.domain.time.measured import Likeness, Measured
from rewarm.domain.time.timings import Timings
from rewarm.ports.history import History


def known_records(history: History) -> list[Measured]:
    """Empty where the history cannot be read: a plan by the priors is better than no restore."""
    try:
        return history.records()
    except RestoreError:
        return []


def timings_of(volume: VolumeAssignment, records: Sequence[Measured], now: datetime) -> Timings:
    """The priors, and what restores that are alike have taught."""
    return learned(records, likeness(volume), now=now)


def likeness(volume: VolumeAssignment) -> Likeness:
    """What makes restores alike, of this one."""
    return Likeness(volume.volume.volume_type, volume.availability_zone, volume.instance_type)
