"""A restore of a hundred volumes, step by step as its state machine goes."""

from __future__ import annotations

import json
from typing import Any

from rewarm.contracts.base import Contract
from rewarm.contracts.events import AnnounceEvent
from rewarm.steps.announce.announce import announce
from rewarm.steps.plan.choose_strategy import (
    ChooseStrategyEvent,
    ChooseStrategyPorts,
    ChooseStrategyResult,
    choose_strategy,
)
from rewarm.steps.plan.load_plan import LoadPlanEvent, load_plan
from rewarm.steps.report.keep_result import KeepResultEvent, keep_result
from rewarm.steps.select.select_snapshot import (
    SelectSnapshotEvent,
    SelectSnapshotPorts,
    SelectSnapshotResult,
    select_snapshot,
)
from tests.support.builders import RESTORE_ID, World, at, instance, measurement, request, snapshot
from tests.support.fakes import FakeVolumeExecutions
from tests.support.holds import FakePace
from tests.support.wired import wired

VOLUMES = 100
MOST_BYTES = 262_144
"""AWS documentation, "Step Functions service quotas": input or result of a task, state or execution."""
SOURCE = "i-0fedcba9876543210"
TAGS = {f"key-{number:02d}": "a value that says something" for number in range(30)}
REQUEST: dict[str, Any] = {
    "source": {"instanceId": SOURCE},
    "target": {"availabilityZone": "ap-northeast-1a"},
    "objective": {"readyWithinMinutes": 120, "maxCostUsd": 500},
    "volume": {"tags": TAGS},
}


def world_of_many() -> World:
    """An instance with a hundred volumes, and eleven newer snapshots of each that cannot be used."""
    world = World()
    devices = {f"/dev/sd{number:03d}": f"vol-{number:017x}" for number in range(VOLUMES)}
    world.instances.add(instance(SOURCE, devices=devices))
    for number, volume_id in enumerate(devices.values()):
        world.snapshots.add(snapshot(f"snap-{number:015x}00", volume_id=volume_id))
        for newer in range(1, 12):
            world.snapshots.add(
                snapshot(
                    f"snap-{number:015x}{newer:02x}",
                    volume_id=volume_id,
                    state="pending",
                    started_at=at(-newer),
                )
            )
    return world


def fits(told: Contract) -> None:
    """No payload is too large."""
    assert len(json.dumps(told.to_json())) < MOST_BYTES, type(told).__name__


class Restore:
    """The steps as the state machine runs them; each event and result must fit."""

    def __init__(self) -> None:
        self.world, self.request = world_of_many(), request(REQUEST)
        self.common: dict[str, Any] = {"restore_id": RESTORE_ID, "now": at(1)}

    def select(self) -> SelectSnapshotResult:
        """State Select Snapshot."""
        world, event = self.world, SelectSnapshotEvent(**self.common, request=self.request)
        found = select_snapshot(
            event,
            wired(SelectSnapshotPorts, world, keeper=world.keeper()),
        )
        fits(event)
        fits(found)
        return found

    def choose(self, key: str) -> ChooseStrategyResult:
        """State Choose Strategy."""
        world = self.world
        event = ChooseStrategyEvent(**self.common, request=self.request, deadline_at=at(120), volumes_key=key)
        planned = choose_strategy(event, wired(ChooseStrategyPorts, world, pace=FakePace()))
        fits(event)
        fits(planned)
        return planned

    def tell(self, planned: ChooseStrategyResult) -> str:
        """State Announce Plan; what it says."""
        details = {
            "summary": planned.summary.to_json(),
            "plansKey": planned.plans_key,
            "trigger": {"kind": "api"},
            "deadlineAt": "2026-11-21T05:00:00Z",
        }
        event = AnnounceEvent(**self.common, event="plan", request=self.request, details=details)
        fits(event)
        world = self.world
        announce(event, table=world.table, messages=world.messages, artifacts=world.artifacts)
        return str(world.messages.sent[-1]["text"])

    def carry_out(self, index: int) -> dict[str, Any]:
        """One iteration of Restore Volumes; every third volume fails, with the cause of its execution."""
        loaded = load_plan(LoadPlanEvent(**self.common, index=index), artifacts=self.world.artifacts)
        fits(loaded)
        assert loaded.volume.index == index
        whole: dict[str, Any] = {
            "verdict": "ready", "index": index, "volumeId": f"vol-{index:017x}",
            "plan": loaded.plan.to_json(),
            "snapshotId": loaded.volume.snapshot_id, "readyAt": "2026-11-21T03:07:30Z",
            "after": {"finished": True, "verdict": "fast", "result": measurement()},
        }  # fmt: skip
        if index % 3 == 0:
            cause = json.dumps({"Status": "FAILED", "Error": "AgentFailedError", "Cause": "x" * 20_000})
            whole = {"verdict": "failed", "index": index, "error": "States.TaskFailed", "cause": cause}
        event = KeepResultEvent(**self.common, result=whole)
        fits(event)
        result: dict[str, Any] = keep_result(
            event,
            artifacts=self.world.artifacts,
            volume_executions=FakeVolumeExecutions(),
            table=self.world.table,
        ).to_json()
        return result
