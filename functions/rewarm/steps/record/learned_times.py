"""How long the next restore takes, as far as finished restores of this account can tell."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from rewarm.contracts import VolumeAssignment
from rewarm.domain.errors import RestoreError
from rewarm.domain.time.history import learned
from rewarm.domain.time.measured import Likeness, Measured
from rewarm.domain.time.timings import Timings
from rewarm.ports.restores import History


def known_records(history: History) -> list[Measured]:
    """The records of finished restores.

    Empty where the history cannot be read: a plan by the shipped estimates is better than no restore.
    """
    try:
        return history.records()
    except RestoreError:
        return []


def timings_of(volume: VolumeAssignment, records: Sequence[Measured], now: datetime) -> Timings:
    """The shipped estimates, corrected by records of restores like this one."""
    return learned(records, likeness(volume), now=now)


def likeness(volume: VolumeAssignment) -> Likeness:
    """What two restores must share so that one can teach the other."""
    return Likeness(volume.volume.volume_type, volume.availability_zone, volume.instance_type)
