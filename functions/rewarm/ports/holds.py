"""Devices that restores work on, and restores that run."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from rewarm.domain.volume.holds import AlarmStart, Running, TargetHolds


class Holds(Protocol):
    """Devices that restores work on, restores that run, and what alarms have started."""

    def on_target(self, instance_id: str) -> TargetHolds:
        """What is held on the instance now."""

    def keep(self, before: TargetHolds, after: TargetHolds) -> bool:
        """Writes all of it at once; False where somebody changed it since `before` was read."""

    def enter(self, restore_id: str, *, instance_id: str | None, now: datetime) -> bool:
        """Notes that the restore runs; False where that is noted already."""

    def leave(self, restore_id: str) -> None:
        """It runs no more; does nothing where it is not noted."""

    def running(self) -> list[Running]:
        """All restores of the stack that run, the first one first."""

    def entry(self, restore_id: str) -> Running | None:
        """None where it is not noted as running."""

    def alarm(self, alarm_name: str) -> AlarmStart | None:
        """The last restore that the alarm started; None where there is none."""

    def keep_alarm(self, alarm_name: str, before: AlarmStart | None, after: AlarmStart) -> bool:
        """False where somebody changed it since `before` was read."""
