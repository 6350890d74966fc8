"""A stack with restores that are over, and everything that the sweeper looks at."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from rewarm.contracts.events import ReportEvent
from rewarm.contracts.results import ReportResult
from rewarm.domain.model import Attachment, Volume, VolumeSettings
from rewarm.domain.volume.leftovers import ExecutionEnd
from rewarm.ports import JsonObject
from rewarm.steps.clean_up.gauges import KnownExecutions
from rewarm.steps.clean_up.missing_reports import PagePorts
from rewarm.steps.clean_up.sweep import SweptResource, sweep, sweep_one
from rewarm.steps.clean_up.sweep_restores import SweepPorts
from tests.support.builders import (
    DEVICE,
    INSTANCE_ID,
    NOW,
    RESTORE_ID,
    SNAPSHOT_ID,
    VOLUME_ID,
    ZONE,
    at,
    request,
)
from tests.support.fakes import (
    FakeArtifacts,
    FakeCommands,
    FakeEvidence,
    FakeFastRestores,
    FakeFleets,
    FakeHistory,
    FakeMessages,
    FakeModifications,
    FakePageLinks,
    FakeSnapshotCopies,
    FakeTable,
    FakeTaggedSnapshots,
    FakeVolumes,
)
from tests.support.holds import FakeHolds
from tests.support.wired import wired
from tests.support.worlds.performance import STACK, FakeRestoreExecutions
from tests.support.worlds.signals import FakeTasks, FakeWaiters

MADE: JsonObject = {
    "volumeId": VOLUME_ID,
    "snapshotId": SNAPSHOT_ID,
    "availabilityZone": ZONE,
    "instanceId": INSTANCE_ID,
    "device": DEVICE,
    "createdAt": "2026-11-21T03:00:00Z",
}


@dataclass
class SweepWorld:
    """One restore of one volume; its execution was stopped, unless a test says otherwise."""

    volumes: FakeVolumes = field(default_factory=lambda: FakeVolumes(NOW))
    modifications: FakeModifications = field(init=False)
    commands: FakeCommands = field(default_factory=FakeCommands)
    fast_restores: FakeFastRestores = field(default_factory=FakeFastRestores)
    fleets: FakeFleets = field(default_factory=FakeFleets)
    copies: FakeSnapshotCopies = field(default_factory=FakeSnapshotCopies)
    evidence: FakeEvidence = field(default_factory=FakeEvidence)
    tagged_snapshots: FakeTaggedSnapshots = field(default_factory=FakeTaggedSnapshots)
    table: FakeTable = field(default_factory=FakeTable)
    executions: FakeRestoreExecutions = field(default_factory=FakeRestoreExecutions)
    holds: FakeHolds = field(default_factory=FakeHolds)
    messages: FakeMessages = field(default_factory=FakeMessages)
    waiters: FakeWaiters = field(default_factory=FakeWaiters)
    tasks: FakeTasks = field(default_factory=FakeTasks)
    artifacts: FakeArtifacts = field(default_factory=FakeArtifacts)
    history: FakeHistory = field(default_factory=FakeHistory)
    counted: list[ReportResult] = field(default_factory=list)
    pauses: int = 0
    links: FakePageLinks = field(default_factory=FakePageLinks)
    seconds_left: int | None = None
    """Each restore that is looked at takes one."""

    def __post_init__(self) -> None:
        self.modifications = FakeModifications(self.volumes)

    def begun(self, restore_id: str = RESTORE_ID, **changes: Any) -> None:
        """The restore of a volume that is being made."""
        record = {
            "status": "restoring",
            "startedAt": "2026-11-21T03:00:00Z",
            "request": request().to_json(),
            "volumeCount": 1,
            "volume0": MADE,
            **changes,
        }
        self.table.put_new(restore_id, {name: value for name, value in record.items() if value is not None})
        self.holds.enter(restore_id, instance_id=INSTANCE_ID, now=NOW)

    def made(self, volume_id: str = VOLUME_ID, *, attached: str | None = None, **tags: str) -> None:
        """A volume of the restore; keyword arguments are tags, with `_` for `-` and without `rewarm:`."""
        own = {"stack": STACK, "restore-id": RESTORE_ID, "volume-index": "0", "snapshot-id": SNAPSHOT_ID}
        told = {**own, **{name.replace("_", "-"): value for name, value in tags.items()}}
        settings = VolumeSettings(
            "gp3", 100, tags={f"rewarm:{name}": one for name, one in told.items() if one}
        )
        at_instance = (Attachment(attached, DEVICE, "attached"),) if attached else ()
        state = "in-use" if attached else "available"
        self.volumes.volumes[volume_id] = Volume(
            volume_id, state, ZONE, settings, SNAPSHOT_ID, False, at_instance, NOW
        )

    def put(self, settings: VolumeSettings, volume_id: str = VOLUME_ID) -> None:
        """A volume with these settings, in use."""
        self.volumes.volumes[volume_id] = Volume(
            volume_id, "in-use", ZONE, settings, SNAPSHOT_ID, None, (), NOW
        )

    def ended(self, status: str, restore_id: str = RESTORE_ID) -> None:
        """What Step Functions says of the restore's execution."""
        self.executions.ends[restore_id] = ExecutionEnd(status)

    def sweep(
        self, *, now: datetime | None = None, owner: str = "sweeper", only: str | None = None
    ) -> list[SweptResource]:
        """The schedule, or the event of one restore."""
        ports = self.ports(now or at(30), owner)
        return sweep(ports) if only is None else sweep_one(only, ports)

    def ports(self, now: datetime, owner: str = "sweeper") -> SweepPorts:
        """As the handler wires them for the schedule."""
        self.table.now = now
        pages = wired(PagePorts, self, draw=self._page, counted=self._counted)
        return wired(
            SweepPorts,
            self,
            stack_name=STACK,
            now=now,
            owner=owner,
            executions=KnownExecutions(self.executions),
            pages=pages,
            pause=self._pause,
            has_time=self._has_time,
        )

    def _has_time(self) -> bool:
        if self.seconds_left is None:
            return True
        self.seconds_left -= 1
        return self.seconds_left >= 0

    def _page(self, account: JsonObject) -> str | None:
        return f"<p>{account['verdict']}</p>"

    def _counted(self, event: ReportEvent, result: ReportResult) -> None:
        del event
        self.counted.append(result)

    def _pause(self) -> None:
        """EC2 goes on meanwhile."""
        self.pauses += 1
        for volume_id, volume in list(self.volumes.volumes.items()):
            if any(one.state == "detaching" for one in volume.attachments):
                self.volumes.change(volume_id, attachments=(), state="available")
