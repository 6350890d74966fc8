"""Restores and volumes begin in turn: EC2 answers so many describe calls a second, to the whole account.

A thousand that begin at once would be refused, try again, and be refused again. What they need is known, so
each is given a time, and waits in the state machine, where waiting costs nothing.
"""

from __future__ import annotations

import math
from datetime import datetime

from rewarm.domain.units import clock_text
from rewarm.ports.holds import Pace

CALLS_OF_RESTORE = 5
"""Describe calls up to the plan: snapshot, source volume, instance, fast snapshot restore, quotas."""
CALLS_OF_VOLUME = 9
"""Describe calls of a volume from CreateVolume to the end, with the agent, which needs most."""
WORTH_TELLING_SECONDS = 30


def turn_of_restore(pace: Pace, now: datetime) -> datetime:
    """When the restore may look for its snapshots."""
    return pace.due(CALLS_OF_RESTORE, now=now)


def turn_of_volumes(count: int, pace: Pace, now: datetime) -> list[datetime]:
    """When each of the volumes may be begun, in their order."""
    return [pace.due(CALLS_OF_VOLUME, now=now) for _ in range(count)]


def seconds_until(instant: datetime | None, now: datetime) -> int:
    """Whole seconds, as a Wait state takes them."""
    return 0 if instant is None else max(0, math.ceil((instant - now).total_seconds()))


def turn_notes(last: datetime, now: datetime) -> list[str]:
    """For the plan's reader, where the wait is worth telling."""
    if (last - now).total_seconds() < WORTH_TELLING_SECONDS:
        return []
    told = (
        "Many restores begin at this time, and EC2 answers so many calls a second: it is the turn of this "
        f"one at {clock_text(last)}; the times count from then on."
    )
    return [told]
