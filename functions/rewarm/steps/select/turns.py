"""When it is the turn of a restore and of its volumes at EC2.

EC2 limits an account's describe calls per second. A thousand restores that begin at once would be refused
again and again. Their calls are known beforehand, so each restore and each volume gets a time. They wait for
it in the state machine, where waiting costs nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import accumulate

from rewarm.contracts.values import VolumeAssignment
from rewarm.domain.units import clock_text
from rewarm.ports.restores import Pace

CALLS_OF_RESTORE = 3
"""Describe calls up to the plan: snapshot, source volume, instance or fast snapshot restore."""
CALLS_OF_ADOPTION = 8
"""The same where volumes are there already: volumes, their instance, snapshots, and each of them twice."""
CALLS_OF_VOLUME = 4
"""Three describe calls of a volume in its first minute: available, attached, its status; later ones spread.

A fourth makes volumes begin a little slower than EC2's limits: 5 CreateVolume and 20 describe calls a second.
"""
CALLS_OF_ADOPTED = 8
"""The same for an adopted volume: it is looked at longer, because the agent gives way to others."""
WORTH_TELLING_SECONDS = 30


def turn_of_restore(pace: Pace, now: datetime, *, adopts: bool) -> datetime:
    """When the restore may look for its snapshots, or for the volumes that it adopts."""
    return pace.due(CALLS_OF_ADOPTION if adopts else CALLS_OF_RESTORE, now=now)


def turn_of_volumes(volumes: Iterable[VolumeAssignment], pace: Pace, now: datetime) -> list[datetime]:
    """When each of the volumes may be begun, in their order."""
    calls = (CALLS_OF_VOLUME if volume.adopts is None else CALLS_OF_ADOPTED for volume in volumes)
    return [pace.due(count, now=now) for count in calls]


def turns_of_fleet(volume_counts: Sequence[int], pace: Pace) -> list[float]:
    """After how many seconds each restore of a fleet may begin with all its volumes, in this order."""
    seconds = [pace.seconds_of(calls_of_restore(count)) for count in volume_counts]
    return [0.0, *accumulate(seconds)][: len(seconds)]


def calls_of_restore(volume_count: int) -> int:
    """Describe calls of a restore with all its volumes."""
    return CALLS_OF_RESTORE + volume_count * CALLS_OF_VOLUME


def seconds_until(instant: datetime | None, now: datetime) -> int:
    """Whole seconds for a Wait state."""
    return 0 if instant is None else max(0, math.ceil((instant - now).total_seconds()))


def turn_notes(last: datetime, now: datetime) -> list[str]:
    """A note for the plan's reader, if the wait is long enough to mention."""
    if (last - now).total_seconds() < WORTH_TELLING_SECONDS:
        return []
    note = (
        "Many restores begin at this time, and EC2 answers so many calls a second: it is the turn of this "
        f"one at {clock_text(last)}; the times count from then on."
    )
    return [note]
