"""Items of the table that are lost: what costs money is ended or told, and nothing in use is deleted."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from rewarm.domain.model import FastSnapshotRestore
from rewarm.domain.volume.holds import TargetHolds
from rewarm.domain.volume.leftovers import ExecutionStart
from rewarm.ports import JsonObject
from rewarm.steps.record.bucket import sent_key
from rewarm.steps.record.payloads import write_plans
from rewarm.steps.record.restore import RestoreNotes
from rewarm.steps.rewind.evidence import Wanted
from tests.support.builders import INSTANCE_ID, RESTORE_ID, SNAPSHOT_ID, VOLUME_ID, ZONE, at, request
from tests.support.values import accounts
from tests.support.worlds.sweeping import MADE, SweepWorld

PLACE = (SNAPSHOT_ID, ZONE)
ENABLED_AT = at(1)
PREPARED: JsonObject = {
    "enabledByUs": True, "since": "2026-11-21T03:01:00Z", "snapshotId": SNAPSHOT_ID,
    "availabilityZone": ZONE, "enablingTime": ENABLED_AT.isoformat(),
}  # fmt: skip


@pytest.fixture
def world() -> SweepWorld:
    return SweepWorld()


def begin(world: SweepWorld, status: str, *, name: str = RESTORE_ID, **data: Any) -> None:
    given = {"request": request().to_json(), "trigger": {"kind": "api"}, **data}
    world.executions.begins[name] = ExecutionStart(given, at(0), status)


def of_ready_volume(world: SweepWorld, status: str) -> None:
    """A restore that ended so, whose only volume came to full speed."""
    write_plans(RESTORE_ID, [accounts.planned()], world.artifacts)
    world.begun()
    world.made(attached=INSTANCE_ID)
    world.ended(status)
    begin(world, status)
    begin(world, "SUCCEEDED", name=f"{RESTORE_ID}-0")


def enabled(world: SweepWorld, since: datetime = ENABLED_AT) -> None:
    world.fast_restores.states[PLACE] = FastSnapshotRestore("enabled")
    world.fast_restores.since[PLACE] = since


class TestRestore:
    @pytest.mark.parametrize("is_noted", [True, False])
    def test_one_that_was_stopped_is_told_and_its_volume_stays(
        self,
        world: SweepWorld,
        is_noted: bool,  # noqa: FBT001
    ) -> None:
        """Nobody knows any more whether the volume was announced, so it is kept, and named."""
        world.begun()
        world.made(attached=INSTANCE_ID)
        begin(world, "ABORTED")
        world.table.lose(RESTORE_ID)
        if not is_noted:
            world.holds.leave(RESTORE_ID)
        world.sweep()
        (message,) = world.messages.sent
        assert message["title"].startswith("Restore failed")
        assert f"Left behind: volume {VOLUME_ID}" in message["text"]
        assert world.volumes.deleted == []
        world.sweep(now=at(45))
        assert len(world.messages.sent) == 1

    def test_the_snapshots_of_a_rewind_are_named_where_all_its_items_are_lost(
        self, world: SweepWorld
    ) -> None:
        target = {"instanceId": INSTANCE_ID, "mode": "rewind"}
        world.begun(volume0=None)
        wanted = [Wanted(RESTORE_ID, 0, attempt, "vol-owner", SNAPSHOT_ID) for attempt in range(2)]
        made = [world.evidence.create(each.volume_id, each.tags("rewarm")) for each in wanted]
        begin(world, "ABORTED", request=request(target=target).to_json())
        begin(world, "ABORTED", name=f"{RESTORE_ID}-0")
        world.ended("ABORTED")
        world.table.lose(RESTORE_ID)
        world.sweep()
        (message,) = world.messages.sent
        assert [name for name in made if f"snapshot {name} (its rewind made it" in message["text"]] == made

    @pytest.mark.parametrize("known", [{}, {"status": "failed", "toldAt": "2026-11-21T03:10:00Z"}])
    @pytest.mark.parametrize("is_named", [True, False])
    def test_one_whose_entry_is_deleted_gives_its_devices_back(
        self,
        world: SweepWorld,
        is_named: bool,  # noqa: FBT001
        known: JsonObject,
    ) -> None:
        """The request of an adoption need not name the instance, and a volume's item does."""
        asked = request().to_json()
        if not is_named:
            asked["target"]["instanceId"] = None
        world.begun(request=asked, **known)
        empty = TargetHolds(INSTANCE_ID)
        world.holds.keep(empty, empty.with_devices(RESTORE_ID, {0: "/dev/sdf"}, at(0)))
        world.holds.leave(RESTORE_ID)
        world.ended("ABORTED")
        begin(world, "ABORTED")
        world.sweep()
        assert world.holds.targets == {}

    def test_one_that_was_known_again_while_it_ran_names_the_volume_of_a_lost_item(
        self, world: SweepWorld
    ) -> None:
        """The execution that ran could not say how many volumes there would be."""
        world.begun()
        world.made(attached=INSTANCE_ID)
        begin(world, "FAILED")
        begin(world, "FAILED", name=f"{RESTORE_ID}-0")
        world.table.records[RESTORE_ID] = {}
        again = {"status": "restoring", "startedAt": at(0).isoformat(), "request": request().to_json()}
        RestoreNotes(world.table, RESTORE_ID).note_recovered(again)
        world.sweep()
        (message,) = world.messages.sent
        assert f"Left behind: volume {VOLUME_ID}" in message["text"]
        assert world.volumes.deleted == []

    def test_one_that_an_alarm_started_is_known_by_its_volume(self, world: SweepWorld) -> None:
        world.begun()
        begin(world, "ABORTED", request=None, trigger=None)
        begin(world, "ABORTED", name=f"{RESTORE_ID}-0")
        world.table.lose(RESTORE_ID)
        world.sweep()
        assert world.table.records[RESTORE_ID]["request"] == request().to_json()
        assert len(world.messages.sent) == 1

    def test_one_that_ended_well_and_owes_a_message_is_told(self, world: SweepWorld) -> None:
        """It is still noted as running: none of its last states could run."""
        of_ready_volume(world, "SUCCEEDED")
        world.table.lose(RESTORE_ID)
        world.sweep()
        assert [message["title"] for message in world.messages.sent] == [f"{VOLUME_ID} is at full speed"]
        assert (world.volumes.deleted, world.holds.running()) == ([], [])
        world.sweep(now=at(45))
        assert len(world.messages.sent) == 1

    def test_one_that_was_told_as_ready_gets_its_missing_report(self, world: SweepWorld) -> None:
        """`Announce Unreported` wrote the status to an item that was lost, and nothing else is in it."""
        of_ready_volume(world, "SUCCEEDED")
        world.table.update_volume(RESTORE_ID, 0, {"told": {"at": "2026-11-21T03:10:00Z"}})
        world.table.lose(RESTORE_ID)
        told = {"status": "ready", "toldAt": "2026-11-21T03:11:00Z", "finishedAt": "2026-11-21T03:11:00Z"}
        world.table.update(RESTORE_ID, told)
        (found,) = world.sweep()
        assert (found.sweep, found.state) == ("reports", "ended")
        assert world.table.records[RESTORE_ID]["reportKey"]
        assert world.table.records[RESTORE_ID]["finishedAt"] == "2026-11-21T03:11:00Z"
        assert (world.messages.sent, world.volumes.deleted, world.holds.running()) == ([], [], [])

    @pytest.mark.parametrize("is_released", [True, False])
    def test_one_that_was_stopped_after_it_was_ready_has_not_failed(
        self,
        world: SweepWorld,
        is_released: bool,  # noqa: FBT001
    ) -> None:
        """Its volumes' executions say that they are at full speed; `Release Target` takes the note away."""
        of_ready_volume(world, "ABORTED")
        world.table.update_volume(RESTORE_ID, 0, {"told": {"at": "2026-11-21T03:10:00Z"}})
        world.table.lose(RESTORE_ID)
        if is_released:
            world.holds.leave(RESTORE_ID)
        world.sweep()
        record = world.table.records[RESTORE_ID]
        assert (record["status"], record["settled0"]) == ("ready", True)
        assert world.messages.sent == []
        assert "rewarm:failed" not in world.volumes.volumes[VOLUME_ID].settings.tags
        assert (world.volumes.deleted, world.holds.running()) == ([], [])

    def test_one_whose_failure_was_noted_in_an_item_that_was_lost_is_known_again(
        self, world: SweepWorld
    ) -> None:
        """Else nobody knows of its instance, which was to be started and has a tag of ours."""
        world.begun()
        world.made(attached=INSTANCE_ID)
        begin(world, "FAILED")
        world.table.lose(RESTORE_ID)
        told = {"status": "failed", "toldAt": "2026-11-21T03:11:00Z", "finishedAt": "2026-11-21T03:11:00Z"}
        world.table.update(RESTORE_ID, told)
        world.sweep()
        record = world.table.records[RESTORE_ID]
        assert record["request"] == request().to_json()
        assert told.items() <= record.items()
        assert (world.messages.sent, world.volumes.deleted) == ([], [])

    @pytest.mark.parametrize("has_item", [True, False])
    def test_one_whose_item_is_put_back_is_not_announced_as_failed_again(
        self,
        world: SweepWorld,
        has_item: bool,  # noqa: FBT001
    ) -> None:
        """The bucket knows that the message was sent, and how the restore ended."""
        world.begun()
        world.sweep()
        ended = world.table.records[RESTORE_ID]
        begin(world, "FAILED")
        world.table.lose(RESTORE_ID)
        if has_item:
            world.begun()
        world.sweep(now=at(60))
        known = ("status", "finishedAt", "failure", "toldAt", "reportKey")
        again = world.table.records[RESTORE_ID]
        assert {name: again[name] for name in known} == {name: ended[name] for name in known}
        assert (len(world.messages.sent), world.holds.running()) == (1, [])

    def test_one_whose_item_is_put_back_to_before_it_was_ready_has_not_failed(
        self, world: SweepWorld
    ) -> None:
        of_ready_volume(world, "ABORTED")
        world.table.update_volume(RESTORE_ID, 0, {"told": {"at": "2026-11-21T03:10:00Z"}})
        world.sweep()
        record = world.table.records[RESTORE_ID]
        assert (record["status"], record["settled0"]) == ("ready", True)
        assert (world.messages.sent, world.volumes.deleted, world.holds.running()) == ([], [], [])

    @pytest.mark.parametrize("spoiled", ["[]", "{", ""])
    def test_no_failure_is_hidden_by_what_somebody_else_wrote_there(
        self, world: SweepWorld, spoiled: str
    ) -> None:
        world.begun()
        world.artifacts.texts[sent_key(RESTORE_ID)] = spoiled
        world.sweep()
        assert len(world.messages.sent) == 1

    def test_one_that_ended_well_is_left_as_it_is(self, world: SweepWorld) -> None:
        world.begun()
        world.made()
        world.ended("SUCCEEDED")
        begin(world, "SUCCEEDED")
        world.table.lose(RESTORE_ID)
        world.holds.leave(RESTORE_ID)
        world.sweep()
        assert (world.messages.sent, world.volumes.deleted) == ([], [])


class TestFastSnapshotRestore:
    @pytest.mark.parametrize("status", ["restoring", "failed"])
    def test_what_a_restore_noted_that_is_over_is_disabled(self, world: SweepWorld, status: str) -> None:
        """Also where nothing leads to the restore any more but Step Functions' list."""
        world.begun(status=status, toldAt="2026-11-21T03:10:00Z", volume0=None, fastSnapshotRestore0=PREPARED)
        world.holds.leave(RESTORE_ID)
        world.executions.at_work.append((RESTORE_ID, 0))
        enabled(world)
        assert [one.state for one in world.sweep()] == ["ended"]
        assert world.fast_restores.disabled == [PLACE]

    def test_what_a_restore_relies_on_that_runs_stays(self, world: SweepWorld) -> None:
        world.begun(fastSnapshotRestore0=PREPARED)
        world.ended("RUNNING")
        world.executions.running.add((RESTORE_ID, 0))
        world.executions.at_work.append((RESTORE_ID, 0))
        enabled(world)
        world.sweep()
        assert PLACE in world.fast_restores.states

    def test_what_somebody_enabled_at_another_time_is_theirs(self, world: SweepWorld) -> None:
        told = {"toldAt": "2026-11-21T03:10:00Z", "cleanUp0": {"unfinished": False}}
        world.begun(status="failed", fastSnapshotRestore0=PREPARED, volume0=MADE, **told)
        world.executions.at_work.append((RESTORE_ID, 0))
        enabled(world, ENABLED_AT + timedelta(seconds=2))
        assert world.sweep() == []
        assert PLACE in world.fast_restores.states

    def test_where_the_volumes_record_is_lost_too_somebody_is_told(self, world: SweepWorld) -> None:
        place = {"snapshotId": SNAPSHOT_ID, "availabilityZone": ZONE}
        begin(
            world, "ABORTED", name=f"{RESTORE_ID}-0", volume=place, plan={"strategy": "fast-snapshot-restore"}
        )
        world.executions.at_work.append((RESTORE_ID, 0))
        enabled(world)
        (found,) = [one for one in world.sweep() if one.sweep == "fast-snapshot-restores"]
        assert (found.state, found.resource) == ("left", f"{SNAPSHOT_ID}:{ZONE}")
        assert "aws ec2 disable-fast-snapshot-restores" in found.reason
        assert PLACE in world.fast_restores.states
