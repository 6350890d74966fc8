"""The ports of what keeps restores out of each other's way."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from rewarm.domain.volume.holds import AlarmStart, Running, TargetHolds


class Holds(Protocol):
    """Devices that restores work on, restores that run, and what alarms have started."""

    def on_target(self, instance_id: str) -> TargetHolds:
        """Returns the devices of the instance that restores hold."""

    def keep(self, before: TargetHolds, after: TargetHolds) -> bool:
        """Writes `after` in place of `before`, as a whole; returns False where it was changed meanwhile."""

    def enter(self, restore_id: str, *, instance_id: str | None, now: datetime) -> bool:
        """Notes that the restore runs; returns False where that was noted already."""

    def leave(self, restore_id: str) -> None:
        """Notes that the restore runs no more. Does nothing where it was not noted as running."""

    def running(self) -> list[Running]:
        """Returns all restores of the stack that run, the one that began first in front."""

    def entry(self, restore_id: str) -> Running | None:
        """Returns the note of the restore; None where it is not noted as running."""

    def alarm(self, alarm_name: str) -> AlarmStart | None:
        """Returns the last restore that the alarm started; None where there was none."""

    def keep_alarm(self, alarm_name: str, before: AlarmStart | None, after: AlarmStart) -> bool:
        """Writes `after` in place of `before`; returns False where the alarm started another restore
        meanwhile.
        """


class Pace(Protocol):
    """The describe calls that EC2 allows in a second, given away in the order of asking."""

    def due(self, calls: int, *, now: datetime) -> datetime:
        """Returns when so many calls may begin. Nobody else is given that time."""

    def seconds_of(self, calls: int) -> float:
        """Returns in how many seconds so many calls can be made."""
