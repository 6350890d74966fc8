"""The sweeper: what has our tags and no record proves is named to people, and left as it is."""

from __future__ import annotations

from datetime import timedelta

import pytest

from rewarm.domain.errors import AccessDeniedError
from rewarm.domain.volume.leftovers import ExecutionStart, SweptResource
from rewarm.domain.volume.replacing import Place
from rewarm.steps.clean_up.end_stack import is_open
from tests.support.builders import DEVICE, INSTANCE_ID, NOW, RESTORE_ID, SNAPSHOT_ID, VOLUME_ID, at, snapshot
from tests.support.worlds.performance import STACK
from tests.support.worlds.replacing import OLD
from tests.support.worlds.sweeping import SweepWorld

COPY = "snap-0c000000000000001"


@pytest.fixture
def world() -> SweepWorld:
    """A restore whose execution was stopped, and of which the table knows nothing."""
    made = SweepWorld()
    began(made, "ABORTED")
    return made


def began(world: SweepWorld, status: str) -> None:
    world.executions.begins[f"{RESTORE_ID}-0"] = ExecutionStart({}, at(0), status)


def copy_of(world: SweepWorld, *, minutes: float = 5) -> None:
    tags = {
        "rewarm:stack": STACK,
        "rewarm:copy-of": SNAPSHOT_ID,
        "rewarm:restore-id": RESTORE_ID,
        "rewarm:volume-index": "0",
    }
    world.tagged_snapshots.there[COPY] = snapshot(COPY, started_at=at(minutes), tags=tags)


def unproven(world: SweepWorld, minutes: int = 30, owner: str = "sweeper") -> list[SweptResource]:
    return [one for one in world.sweep(now=at(minutes), owner=owner) if one.sweep == "unproven"]


def test_a_volume_whose_record_is_lost_is_named_once_a_day(world: SweepWorld) -> None:
    world.made(attached=INSTANCE_ID)
    before = world.volumes.volumes[VOLUME_ID]
    (found,) = unproven(world)
    assert (found.resource, found.state) == (VOLUME_ID, "left")
    assert (
        f"100 GiB of gp3, made at 2026-11-21T03:00:00Z, attached to {INSTANCE_ID}, are billed" in found.reason
    )
    assert f"aws ec2 delete-volume --volume-id {VOLUME_ID}" in found.reason
    assert f"aws ec2 delete-tags --resources {VOLUME_ID} --tags Key=rewarm:stack" in found.reason
    assert unproven(world, 45, "another sweep") == []
    assert len(unproven(world, 30 + 24 * 60, "another sweep")) == 1
    assert world.volumes.volumes == {VOLUME_ID: before}


@pytest.mark.parametrize("status", ["SUCCEEDED", "RUNNING", None])
def test_nothing_is_said_of_one_that_was_ready_or_runs_or_that_step_functions_does_not_know(
    world: SweepWorld, status: str | None
) -> None:
    """The record of a volume that somebody uses goes after 400 days."""
    world.executions.begins.clear()
    if status is not None:
        began(world, status)
    if status == "RUNNING":
        world.executions.running.add((RESTORE_ID, 0))
    world.made(attached=INSTANCE_ID)
    assert unproven(world) == []


@pytest.mark.parametrize("days", [-365, 30])
def test_nothing_is_said_of_a_volume_of_another_time(world: SweepWorld, days: int) -> None:
    """Backups take tags along, and somebody makes a volume of one later."""
    told = {"toldAt": "2026-11-21T03:10:00Z", "cleanUp0": {"unfinished": False}}
    world.begun(status="failed", finishedAt="2026-11-21T03:10:00Z", **told)
    world.holds.leave(RESTORE_ID)
    other = "vol-0fffffffffffffff0"
    world.made(other)
    world.volumes.change(other, created_at=NOW + timedelta(days=days))
    assert unproven(world) == []
    world.volumes.change(other, created_at=NOW)
    assert [one.resource for one in unproven(world)] == [other]


def test_a_copy_whose_record_is_lost_is_named(world: SweepWorld) -> None:
    copy_of(world)
    (found,) = unproven(world)
    assert (found.resource, found.state) == (COPY, "left")
    assert f"aws ec2 delete-snapshot --snapshot-id {COPY}" in found.reason
    assert COPY in world.tagged_snapshots.there


def test_a_copy_of_which_nothing_can_be_read_hides_no_other_one(
    world: SweepWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy_of(world)
    other = "snap-0aaaaaaaaaaaaaaaa"
    tags = {"rewarm:stack": STACK, "rewarm:calibration": "calibration-1"}
    world.tagged_snapshots.there[other] = snapshot(other, started_at=at(5), tags=tags)

    def unreadable(restore_id: str, index: int) -> bool:
        raise AccessDeniedError("DescribeExecution")

    monkeypatch.setattr(world.executions, "is_over", unreadable)
    assert [one.resource for one in unproven(world)] == [COPY, other]


def test_no_more_is_named_than_there_is_time_for(world: SweepWorld) -> None:
    copy_of(world)
    world.seconds_left = 0
    assert unproven(world) == []
    world.seconds_left = None
    assert [one.resource for one in unproven(world)] == [COPY]


def test_nothing_is_said_of_a_copy_that_the_record_names(world: SweepWorld) -> None:
    copy_of(world)
    noted = {"askedAt": at(5).isoformat(), "of": SNAPSHOT_ID, "region": "eu-west-1", "snapshotId": COPY}
    world.table.update_volume(RESTORE_ID, 0, {"snapshotCopy": noted})
    assert unproven(world) == []


def test_nothing_is_said_of_a_backup_that_was_there_before(world: SweepWorld) -> None:
    copy_of(world, minutes=-600)
    assert unproven(world) == []


def test_a_replaced_volume_whose_record_is_lost_is_named_and_not_moved(world: SweepWorld) -> None:
    world.made(OLD, stack="", restore_id="")
    world.volumes.tag(OLD, Place(INSTANCE_ID, DEVICE, 0, delete_on_termination=True).tags(RESTORE_ID, STACK))
    before = world.volumes.volumes[OLD]
    (found,) = unproven(world)
    assert (found.resource, found.state) == (OLD, "left")
    assert f"aws ec2 attach-volume --volume-id {OLD}" in found.reason
    assert world.volumes.volumes == {OLD: before}


def test_a_boost_that_no_record_knows_is_named_and_not_lowered(world: SweepWorld) -> None:
    """Somebody has taken off the tag that leads to the record."""
    world.made(restore_id="", boost="gp3 iops=3000 throughputMibS=125")
    (found,) = unproven(world)
    assert (found.resource, found.state) == (VOLUME_ID, "left")
    assert f"aws ec2 modify-volume --volume-id {VOLUME_ID}" in found.reason
    assert world.modifications.started == []


def test_what_is_not_proven_keeps_no_stack_from_being_deleted(world: SweepWorld) -> None:
    world.made()
    assert [is_open(one) for one in unproven(world)] == [False]
