"""What changes of performance and the sweeper need, in memory; ready-made values of a change."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from rewarm.domain.errors import ThrottledError
from rewarm.domain.model import RunningFastRestore, Volume, VolumeSettings
from rewarm.domain.volume.leftovers import ExecutionEnd, ExecutionStart
from rewarm.domain.volume.performance import (
    STACK_TAG,
    Activity,
    ModificationRule,
    PerformanceSettings,
    VolumeModification,
)
from rewarm.domain.volume.proof import CREATION_TAG
from rewarm.ports import JsonObject
from rewarm.steps.performance.check_performance import CheckPerformanceEvent
from rewarm.steps.performance.routes import (
    StartPerformanceChangePorts,
    start_performance_change,
)
from tests.support.builders import ALICE, NOW, VOLUME_ID, ZONE
from tests.support.fakes import FakeExecutions, FakeLog, FakeModifications, FakeTable, FakeVolumes
from tests.support.wired import wired

STACK = "rewarm"
CHANGE_ID = "performance-0123456789abcdef"
IO2 = VolumeSettings("io2", 100, iops=1_000, tags={STACK_TAG: STACK, CREATION_TAG: "1"})
ORIGINAL = PerformanceSettings(volume_type="io2", iops=1_000)
TARGET = PerformanceSettings(volume_type="io2", iops=2_000)


@dataclass
class FakeTrail:
    """Port CallTrail."""

    calls: dict[str, list[datetime]] = field(default_factory=dict)
    failure: Exception | None = None

    def modifications(self, volume_id: str, *, since: datetime) -> list[datetime]:
        if self.failure is not None:
            raise self.failure
        return sorted(one for one in self.calls.get(volume_id, []) if one >= since)


@dataclass
class FakeActivity:
    """The method `activity` of the port Metrics."""

    minutes: list[Activity] = field(default_factory=list)
    failure: Exception | None = None

    def activity(self, volume_id: str, *, since: datetime, until: datetime) -> list[Activity]:
        assert volume_id
        if self.failure is not None:
            raise self.failure
        return [one for one in self.minutes if since <= one.minute < until]

    def rates(self, first: datetime, *rates: float, size: int = 16_384) -> None:
        """Operations a second, a minute each."""
        self.minutes += [
            Activity(first + timedelta(minutes=number), rate * 60, rate * 60 * size)
            for number, rate in enumerate(rates)
        ]


@dataclass
class FakeRestoreExecutions:
    """Port StackExecutions; what is not said otherwise was stopped."""

    running: set[tuple[str, int]] = field(default_factory=set)
    failure: Exception | None = None
    ends: dict[str, ExecutionEnd] = field(default_factory=dict)
    calls: int = 0
    most_calls: int | None = None
    """Step Functions throttles what comes after."""
    begins: dict[str, ExecutionStart] = field(default_factory=dict)
    """By name of the execution, of a restore or of a volume."""
    at_work: list[tuple[str, int]] = field(default_factory=list)
    """Volumes whose executions ran at whatever time is asked for."""

    def begun(self, restore_id: str, index: int | None = None) -> ExecutionStart | None:
        return self.begins.get(restore_id if index is None else f"{restore_id}-{index}")

    def ended_badly(self, since: datetime) -> list[str]:
        restores = {
            name: one for name, one in self.begins.items() if name.rpartition("-")[0] not in self.begins
        }
        return [name for name, one in restores.items() if one.started_at >= since and not one.runs]

    def volumes_at(self, instant: datetime) -> list[tuple[str, int]]:
        assert instant.tzinfo is not None
        return list(self.at_work)

    def names_running(self) -> frozenset[str]:
        self._count()
        restores = {name for name, end in self.ends.items() if end.runs}
        return frozenset(restores | {f"{name}-{index}" for name, index in self.running})

    def _count(self) -> None:
        self.calls += 1
        if self.most_calls is not None and self.calls > self.most_calls:
            raise ThrottledError("DescribeExecution: slow down")

    def is_over(self, restore_id: str, index: int) -> bool:
        self._count()
        if self.failure is not None:
            raise self.failure
        return (restore_id, index) not in self.running

    def ending(self, restore_id: str) -> ExecutionEnd:
        self._count()
        if self.failure is not None:
            raise self.failure
        return self.ends.get(restore_id, ExecutionEnd("ABORTED"))

    def volume_runs(self, restore_id: str, index: int) -> bool:
        self._count()
        return (restore_id, index) in self.running


@dataclass
class FakeInventory:
    """Port Inventory."""

    in_flight: int = 0
    running: list[RunningFastRestore] = field(default_factory=list)
    failure: Exception | None = None

    def restores_in_flight(self) -> int:
        if self.failure is not None:
            raise self.failure
        return self.in_flight

    def fast_restores(self) -> list[RunningFastRestore]:
        return list(self.running)


@dataclass
class TimedModifications(FakeModifications):
    """Port VolumeModifications, with the time at which each change starts."""

    now: datetime = NOW

    def start(self, volume_id: str, target: PerformanceSettings) -> None:
        before = self.volumes.get(volume_id).settings
        super().start(volume_id, target)
        original = PerformanceSettings(before.volume_type, before.iops, before.throughput_mib_s)
        change = replace(self.changes[volume_id], started_at=self.now, original=original)
        self.changes[volume_id] = change


@dataclass
class ChangeWorld:
    """One io2 volume of the stack, 1,000 IOPS, and everything around it."""

    volumes: FakeVolumes = field(default_factory=lambda: FakeVolumes(NOW))
    modifications: TimedModifications = field(init=False)
    trail: FakeTrail = field(default_factory=FakeTrail)
    log: FakeLog = field(default_factory=FakeLog)
    activity: FakeActivity = field(default_factory=FakeActivity)
    table: FakeTable = field(default_factory=FakeTable)
    executions: FakeExecutions = field(default_factory=FakeExecutions)

    def __post_init__(self) -> None:
        self.modifications = TimedModifications(self.volumes)
        self.put()

    def put(self, settings: VolumeSettings = IO2, volume_id: str = VOLUME_ID, state: str = "in-use") -> None:
        self.volumes.volumes[volume_id] = Volume(volume_id, state, ZONE, settings, None, None, (), NOW)

    def changed(self, state: str, started_at: datetime = NOW, **changes: Any) -> None:
        """EC2's latest change of the volume."""
        told = VolumeModification(state, TARGET, started_at=started_at, original=ORIGINAL)
        self.modifications.changes[VOLUME_ID] = replace(told, **changes)

    def ask(self, body: JsonObject, *, now: datetime = NOW, **changes: Any) -> JsonObject:
        """POST /volumes/{volumeId}/performance."""
        volume_id = changes.pop("volume_id", VOLUME_ID)
        change_id = changes.pop("change_id", CHANGE_ID)
        settings = {"stack_name": STACK, "rule": ModificationRule.FOUR_IN_24_H}
        ports = wired(StartPerformanceChangePorts, self, **{**settings, **changes})
        return start_performance_change(volume_id, body, change_id=change_id, by=ALICE, now=now, ports=ports)


def check_event(now: datetime, **changes: Any) -> CheckPerformanceEvent:
    """A look at the change from 1,000 to 2,000 IOPS that started at NOW."""
    values: dict[str, Any] = {
        "restore_id": CHANGE_ID,
        "now": now,
        "volume_id": VOLUME_ID,
        "size_gib": 100,
        "original": ORIGINAL,
        "target": TARGET,
        "started_at": NOW,
    }
    return CheckPerformanceEvent(**{**values, **changes})
