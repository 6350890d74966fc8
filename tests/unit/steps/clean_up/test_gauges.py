"""The sweeper's gauges: what runs, and what no restore needs any more."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from rewarm.domain.errors import AccessDeniedError, RestoreError, ThrottledError
from rewarm.domain.model import RunningFastRestore, VolumeSettings
from rewarm.steps.clean_up.gauges import GaugePorts, Reading, read_gauges
from tests.support.builders import NOW, RESTORE_ID, SNAPSHOT_ID, ZONE, World
from tests.support.fakes import FakeTable
from tests.support.worlds.performance import STACK, ChangeWorld, FakeInventory, FakeRestoreExecutions

USER = f"{RESTORE_ID}/0"
RUNNING = FakeRestoreExecutions(running={(RESTORE_ID, 0)})
BOOSTED = VolumeSettings(
    "gp3", 100, 4_000, 1_000,
    tags={"rewarm:stack": STACK, "rewarm:boost": "gp3 iops=3000", "rewarm:restore-id": RESTORE_ID},
)  # fmt: skip


def enabled(*users: str, hours: float = 3) -> RunningFastRestore:
    return RunningFastRestore(SNAPSHOT_ID, ZONE, NOW - timedelta(hours=hours), frozenset(users))


def read(
    inventory: FakeInventory,
    world: ChangeWorld | None = None,
    executions: FakeRestoreExecutions | None = None,
) -> Reading:
    return read_gauges(
        GaugePorts(
            stack_name=STACK,
            now=NOW,
            inventory=inventory,
            volumes=(world or ChangeWorld()).volumes,
            executions=executions or FakeRestoreExecutions(),
            prices=World().prices,
            table=FakeTable(),
        )
    )


def values(reading: Reading) -> dict[str, float]:
    assert (reading.problems, reading.later) == ((), ())
    return {one.name: one.value for one in reading.gauges}


def test_nothing_is_told_as_nothing() -> None:
    assert values(read(FakeInventory())) == {
        "RestoresInFlight": 0,
        "FastSnapshotRestores": 0,
        "FastSnapshotRestoresLeft": 0,
        "FastSnapshotRestoreUsd": 0,
        "BoostedVolumes": 0,
        "BoostedVolumesLeft": 0,
        "FailedVolumes": 0,
    }


def test_tells_what_fast_snapshot_restore_has_cost_and_whether_anybody_needs_it() -> None:
    inventory = FakeInventory(in_flight=2, running=[enabled(USER), enabled(hours=0.1)])
    seen = values(read(inventory, executions=RUNNING))
    price = float(World().prices.book(now=NOW).fsr_usd_per_hour)
    assert seen["RestoresInFlight"] == 2
    assert (seen["FastSnapshotRestores"], seen["FastSnapshotRestoresLeft"]) == (2, 1)
    assert seen["FastSnapshotRestoreUsd"] == pytest.approx(3 * price + price), "one hour at the least"
    assert values(read(inventory))["FastSnapshotRestoresLeft"] == 2


def test_tells_boosts_and_what_failed_restores_left() -> None:
    world = ChangeWorld()
    world.put(BOOSTED)
    failed = {"rewarm:stack": STACK, "rewarm:failed": RESTORE_ID}
    world.put(replace(BOOSTED, tags=failed), "vol-00000000000000002")
    world.put(replace(BOOSTED, tags={**failed, "rewarm:stack": "another"}), "vol-00000000000000003")
    seen = values(read(FakeInventory(), world, RUNNING))
    assert (seen["BoostedVolumes"], seen["BoostedVolumesLeft"], seen["FailedVolumes"]) == (1, 0, 1)
    assert values(read(FakeInventory(), world))["BoostedVolumesLeft"] == 1


@pytest.mark.parametrize(
    ("failure", "where"), [(ThrottledError("slow down"), "later"), (AccessDeniedError("denied"), "problems")]
)
def test_what_cannot_be_read_has_no_value_and_keeps_no_other_from_being_read(
    failure: RestoreError, where: str
) -> None:
    reading = read(FakeInventory(failure=failure))
    names = {one.name for one in reading.gauges}
    assert "RestoresInFlight" not in names
    assert {"FastSnapshotRestores", "FailedVolumes"} <= names
    (told,) = getattr(reading, where)
    assert told.startswith("restores")
    assert str(failure) in told
