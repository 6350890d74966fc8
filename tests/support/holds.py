"""The port Holds in memory, and what goes with it."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from rewarm.domain.volume.holds import AlarmStart, ConcurrencyLimits, Running, TargetHolds
from rewarm.ports.executions import RestoreExecutions
from rewarm.ports.restores import RestoreTable
from rewarm.steps.select.admission import Keeper


@dataclass
class FakeHolds:
    """Port Holds; `before_keep` lets another restore come in between."""

    targets: dict[str, TargetHolds] = field(default_factory=dict)
    entries: dict[str, Running] = field(default_factory=dict)
    alarms: dict[str, AlarmStart] = field(default_factory=dict)
    versions: itertools.count[int] = field(default_factory=itertools.count)
    intruders: list[TargetHolds] = field(default_factory=list)

    def on_target(self, instance_id: str) -> TargetHolds:
        return self.targets.get(instance_id, TargetHolds(instance_id))

    def keep(self, before: TargetHolds, after: TargetHolds) -> bool:
        if self.intruders:
            self._write(self.intruders.pop(0))
        if self.on_target(before.instance_id).version != before.version:
            return False
        self._write(after)
        return True

    def enter(self, restore_id: str, *, instance_id: str | None, now: datetime) -> bool:
        if restore_id in self.entries:
            return False
        self.entries[restore_id] = Running(restore_id, now, instance_id)
        return True

    def note_instance(self, running: Running) -> None:
        if running.restore_id in self.entries:
            self.entries[running.restore_id] = running

    def leave(self, restore_id: str) -> None:
        self.entries.pop(restore_id, None)

    def running(self) -> list[Running]:
        return sorted(self.entries.values(), key=lambda one: (one.since, one.restore_id))

    def entry(self, restore_id: str) -> Running | None:
        return self.entries.get(restore_id)

    def alarm(self, alarm_name: str) -> AlarmStart | None:
        return self.alarms.get(alarm_name)

    def keep_alarm(self, alarm_name: str, before: AlarmStart | None, after: AlarmStart) -> bool:
        known = self.alarms.get(alarm_name)
        if (known.version if known else None) != (before.version if before else None):
            return False
        self.alarms[alarm_name] = replace(after, version=str(next(self.versions)))
        return True

    def _write(self, after: TargetHolds) -> None:
        if after.holds:
            self.targets[after.instance_id] = replace(after, version=str(next(self.versions)))
        else:
            self.targets.pop(after.instance_id, None)


def keeper(
    table: RestoreTable,
    holds: FakeHolds | None = None,
    *,
    per_instance: int = 10,
    in_stack: int = 100,
    executions: RestoreExecutions | None = None,
) -> Keeper:
    """With these limits."""
    return Keeper(holds or FakeHolds(), table, ConcurrencyLimits(per_instance, in_stack), executions)


@dataclass
class FakePace:
    """Port Pace: everybody at once, unless told otherwise."""

    seconds_a_call: float = 0.0
    given: float = 0.0

    def due(self, calls: int, *, now: datetime) -> datetime:
        begins = now + timedelta(seconds=self.given)
        self.given += self.seconds_of(calls)
        return begins

    def seconds_of(self, calls: int) -> float:
        return calls * self.seconds_a_call
