"""The sweeper: restores that were stopped, timed out or lost; and what it must never touch."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rewarm.domain.errors import AccessDeniedError, ThrottledError
from rewarm.domain.model import FastSnapshotRestore, VolumeSettings
from rewarm.domain.ready.waits import cancel_signal
from rewarm.domain.volume.leftovers import restore_of
from rewarm.steps.announce.claims import CLAIM_SECONDS, OTHER_SENDS
from rewarm.steps.clean_up.sweep import restore_of_event, sweep
from rewarm.steps.record.payloads import write_plans
from rewarm.steps.replace.device_look import LookPorts
from rewarm.steps.replace.put_back import PutBackPorts
from tests.support.builders import (
    INSTANCE_ID,
    NOW,
    RESTORE_ID,
    SNAPSHOT_ID,
    VOLUME_ID,
    ZONE,
    at,
    instance,
    request,
)
from tests.support.fakes import FakeInstances
from tests.support.values import accounts
from tests.support.worlds.sweeping import MADE, SweepWorld

PLACE = (SNAPSHOT_ID, ZONE)
USER = f"{RESTORE_ID}/0"
OTHER = "vol-00000000000000009"
RECORDING = {"volumeId": VOLUME_ID, "commandId": "command-3", "instanceId": INSTANCE_ID, "problem": ""}


@pytest.fixture
def world():
    return SweepWorld()


def enabled(world, user=USER, *, by_us=True):
    world.fast_restores.states[PLACE] = FastSnapshotRestore("enabled")
    world.table.claim_fast_snapshot_restore(*PLACE, user, asked_at=NOW if by_us else None)
    if by_us:
        world.fast_restores.since[PLACE] = NOW


def swept_with_looks(world):
    looks = LookPorts(world.instances, world.commands, world.artifacts)
    back = PutBackPorts(world.volumes, looks, world.table)
    return sweep(replace(world.ports(at(30)), put_back=back))


class TestAbortedRestores:
    @pytest.mark.parametrize(
        ("status", "words"),
        [
            ("ABORTED", "its execution was stopped"),
            ("TIMED_OUT", "ran into its time limit"),
            ("FAILED", "ended without an account"),
            ("GONE", "none began, or it or the state machine was deleted"),
        ],
    )
    def test_what_it_made_is_removed_and_told(self, world, status, words):
        world.begun()
        world.made(attached=INSTANCE_ID)
        world.ended(status)
        assert [(one.resource, one.state) for one in world.sweep()] == [(RESTORE_ID, "ended")]
        assert world.volumes.deleted == [VOLUME_ID]
        record = world.table.records[RESTORE_ID]
        assert (record["status"], record["failure"]["error"]) == ("failed", "ExecutionAborted")
        assert words in record["failure"]["cause"]
        (message,) = world.messages.sent
        assert f"Removed: volume {VOLUME_ID}" in message["text"]
        assert world.holds.running() == []

    def test_a_look_of_rules_that_somebody_stops_is_no_restore(self, world):
        world.ended("ABORTED", "rule-look-1764223800")
        assert world.sweep(only="rule-look-1764223800") == []
        assert world.table.records == {}
        assert world.messages.sent == []

    def test_it_is_told_once(self, world):
        world.begun()
        world.made()
        for owner in ("one", "two"):
            world.sweep(owner=owner)
        world.sweep(owner="three", now=at(60))
        assert len(world.messages.sent) == 1

    def test_of_two_sweepers_at_once_one_tells_it(self, world):
        """Both have seen it unfinished."""
        world.begun()
        world.table.now = at(30)
        world.table.claim_message(f"failed#{RESTORE_ID}", "the other", seconds=CLAIM_SECONDS)
        assert [(one.state, one.reason) for one in world.sweep()] == [("ending", OTHER_SENDS)]
        assert world.messages.sent == []

    def test_one_that_another_sweeper_has_only_claimed_stays_findable(self, world):
        """The first has died over it."""
        world.begun()
        world.made()
        world.table.now = at(30)
        world.table.claim_message(f"failed#{RESTORE_ID}", "one", seconds=CLAIM_SECONDS)
        found = world.sweep(owner="two", now=at(31))
        assert [(one.state, one.reason) for one in found] == [("ending", OTHER_SENDS)]
        assert [one.restore_id for one in world.holds.running()] == [RESTORE_ID]
        world.sweep(owner="three", now=at(45))
        assert world.table.records[RESTORE_ID]["toldAt"]
        assert world.holds.running() == []

    def test_the_command_is_cancelled_and_what_measures_too(self, world):
        world.begun(
            command0={"dispatch": {"commandId": "command-1", "instanceId": INSTANCE_ID}},
            measurement0={"commandId": "command-2", "instanceId": INSTANCE_ID},
        )
        world.sweep()
        assert world.commands.cancelled == ["command-1", "command-2"]

    def test_what_a_recording_left_on_its_instance_goes_with_a_question_to_it(self, world):
        world.begun(recording0=RECORDING)
        world.instances = FakeInstances()
        world.instances.add(instance())
        assert [one.state for one in swept_with_looks(world)] == ["ended"]
        assert world.commands.cancelled == ["command-3"]
        ((_, asked, parameters),) = world.commands.sent
        assert (asked, parameters["action"], parameters["volumeId"]) == (INSTANCE_ID, "check", VOLUME_ID)
        swept_with_looks(world)
        assert len(world.commands.sent) == 1

    def test_an_instance_that_cannot_be_asked_hinders_no_sweep(self, world):
        world.begun(recording0=RECORDING)
        world.instances = FakeInstances()
        world.instances.add(instance(ssm_online=False))
        assert [one.state for one in swept_with_looks(world)] == ["ended"]
        assert world.commands.sent == []

    def test_fast_snapshot_restore_is_disabled(self, world):
        world.begun(volume0=None, fastSnapshotRestore0={"snapshotId": PLACE[0], "availabilityZone": PLACE[1]})
        enabled(world)
        world.sweep()
        assert world.fast_restores.disabled == [PLACE]
        assert world.table.claims == {}

    def test_a_volume_that_was_announced_stays(self, world):
        world.begun(attached0={"volumeId": VOLUME_ID})
        world.made(attached=INSTANCE_ID)
        world.sweep()
        assert world.volumes.deleted == []
        assert world.volumes.volumes[VOLUME_ID].settings.tags["rewarm:failed"] == RESTORE_ID
        text = world.messages.sent[0]["text"]
        assert f"volume {VOLUME_ID}, still /dev/sdf on {INSTANCE_ID} (it is usable and may hold new" in text
        before = world.volumes.volumes[VOLUME_ID]
        assert world.sweep(now=at(60)) == []
        assert world.volumes.volumes[VOLUME_ID] == before

    def test_a_volume_that_is_ready_stays_as_it_is(self, world):
        write_plans(RESTORE_ID, [accounts.planned()], world.artifacts)
        world.begun(settled0=True)
        world.made()
        world.sweep()
        assert "rewarm:failed" not in world.volumes.volumes[VOLUME_ID].settings.tags
        assert [sent["title"] for sent in world.messages.sent] == [f"{VOLUME_ID} is at full speed"]
        assert world.table.records[RESTORE_ID]["status"] == "ready"

    @pytest.mark.parametrize("mark", [{"settled0": True}, {"attached0": {"volumeId": VOLUME_ID}}])
    def test_the_volume_of_a_drill_is_deleted_however_far_it_came(self, world, mark):
        world.begun(request=request(drill={"runbook": "rewarm-orders"}).to_json(), **mark)
        world.made()
        world.sweep()
        assert world.volumes.deleted == [VOLUME_ID]

    def test_nothing_that_is_late_can_announce_or_finish_it_any_more(self, world):
        world.begun()
        world.sweep()
        assert not world.table.set_unless_cancelled(RESTORE_ID, "attached0", {"volumeId": VOLUME_ID})
        assert not world.table.set_unless_cancelled(RESTORE_ID, "settled0", True)

    def test_on_failure_keep_is_kept(self, world):
        world.begun(request=request(onFailure="keep").to_json())
        world.made()
        world.sweep()
        assert "onFailure keep" in world.messages.sent[0]["text"]
        assert VOLUME_ID in world.volumes.volumes

    def test_who_had_asked_for_it_hears_that_it_was_cancelled(self, world):
        world.begun(cancelRequested=True)
        world.sweep()
        world.sweep(now=at(60))
        assert world.table.records[RESTORE_ID]["status"] == "cancelled"
        assert [one["title"] for one in world.messages.sent] == ["Restore cancelled"]

    def test_what_ec2_needs_seconds_for_is_waited_for(self, world):
        world.begun()
        world.made(attached=INSTANCE_ID)
        world.volumes.slow_detach = True
        assert [one.state for one in world.sweep()] == ["ended"]
        assert (world.pauses, world.volumes.deleted) == (1, [VOLUME_ID])
        assert "Nothing was left behind" in world.messages.sent[0]["text"]

    @pytest.mark.parametrize(
        ("failure", "state"), [(ThrottledError("slow down"), "ending"), (AccessDeniedError("denied"), "left")]
    )
    def test_what_it_could_not_remove_it_tells_and_tries_again(self, world, failure, state):
        world.begun()
        world.made()
        world.volumes.failure = failure
        assert world.sweep()[0].state == state
        assert "the sweeper tries again every 15 minutes" in world.messages.sent[0]["text"]
        world.volumes.failure = None
        assert [one.state for one in world.sweep(now=at(45))] == ["ended"]
        assert world.volumes.deleted == [VOLUME_ID]
        assert len(world.messages.sent) == 1

    @pytest.mark.parametrize("status", ["failed", "cancelled", "refused"])
    def test_one_that_was_stopped_before_anybody_took_its_message_is_told(self, world, status):
        world.begun(status=status, finishedAt="2026-11-21T03:20:00Z", volume0=None)
        world.sweep()
        assert [one["event"] for one in world.messages.sent] == ["failed"]
        assert world.table.records[RESTORE_ID]["toldAt"]
        assert world.holds.running() == []

    def test_what_no_channel_takes_is_told_by_a_later_sweep(self, world):
        world.begun(volume0=None)
        world.messages.channels = []
        assert [one.state for one in world.sweep()] == ["ending"]
        assert "toldAt" not in world.table.records[RESTORE_ID]
        assert [one.restore_id for one in world.holds.running()] == [RESTORE_ID]
        world.messages.channels = ["eventbridge"]
        world.sweep(now=at(45))
        assert world.table.records[RESTORE_ID]["toldAt"]
        assert world.holds.running() == []
        world.sweep(now=at(60))
        told = world.messages.sent
        world.sweep(now=at(75))
        assert world.messages.sent == told

    @pytest.mark.parametrize("known", [{}, {"request": None, "startedAt": None, "volumeCount": None}])
    def test_one_that_never_entered_and_that_no_channel_took_is_told_by_the_schedule(self, world, known):
        """Without a runbook, or where too many run, it is not noted as running; its event comes once."""
        failure = {"error": "RunbookNotFoundError", "cause": "there is no runbook"}
        world.begun(status="refused", failure=failure, volume0=None, **known)
        world.ended("FAILED")
        world.holds.leave(RESTORE_ID)
        world.messages.channels = []
        assert [one.state for one in world.sweep(only=RESTORE_ID)] == ["ending"]
        world.messages.channels = ["eventbridge"]
        assert [one.state for one in world.sweep(now=at(45))] == ["ended"]
        assert world.table.records[RESTORE_ID]["toldAt"]
        assert world.holds.running() == []

    def test_a_failure_that_was_reported_and_not_told_is_told(self, world):
        """It was stopped between the states Report and Announce Failure."""
        failure = {"state": "Create Volume", "error": "QuotaExceededError", "cause": "no volume is left"}
        world.begun(status="failed", finishedAt="2026-11-21T03:20:00Z", failure=failure, volume0=None)
        world.sweep()
        world.sweep(now=at(60))
        (message,) = world.messages.sent
        assert "no volume is left" in message["text"]
        assert world.table.records[RESTORE_ID]["failure"] == failure


class TestRacesAndBystanders:
    def test_a_restore_that_runs_is_left_alone(self, world):
        world.begun()
        world.made()
        enabled(world)
        world.ended("RUNNING")
        world.executions.running.add((RESTORE_ID, 0))
        assert world.sweep() == []
        assert world.table.records[RESTORE_ID]["status"] == "restoring"

    @pytest.mark.parametrize(("minutes", "found"), [(2, 0), (10, 1)])
    def test_a_restore_that_only_starts_has_no_execution_yet(self, world, minutes, found):
        world.begun(status="accepted", volume0=None, plans=None)
        world.ended("GONE")
        assert len(world.sweep(now=at(minutes))) == found
        assert len(world.messages.sent) == found

    def test_what_is_noted_before_its_record_is_left_alone_at_first(self, world):
        world.holds.enter(RESTORE_ID, instance_id=None, now=NOW)
        world.ended("GONE")
        world.sweep(now=at(2))
        assert len(world.holds.running()) == 1
        world.sweep(now=at(10))
        assert world.holds.running() == []

    def test_a_child_that_outlives_its_parent_is_asked_to_stop(self, world):
        world.begun()
        world.made()
        world.executions.running.add((RESTORE_ID, 0))
        world.waiters.replace(cancel_signal(RESTORE_ID, 0), "token", seconds=60)
        world.tasks.waiting.add("token")
        found = world.sweep(only=RESTORE_ID)
        assert [(one.state, one.reason) for one in found] == [
            ("ending", "its volumes' executions still run, and are to stop")
        ]
        assert world.table.is_cancelled(RESTORE_ID)
        assert world.tasks.woken == ["token"]
        assert VOLUME_ID in world.volumes.volumes
        assert world.messages.sent == []

    def test_the_end_of_that_child_is_not_told_as_a_cancellation(self, world):
        """Nobody has asked to cancel; the sweeper has marked it so that its child stops."""
        world.begun()
        world.made()
        world.executions.running.add((RESTORE_ID, 0))
        world.sweep(only=RESTORE_ID)
        world.executions.running.clear()
        world.ended("ABORTED")
        world.sweep()
        record = world.table.records[RESTORE_ID]
        assert (record["status"], record["failure"]["error"]) == ("failed", "ExecutionAborted")

    def test_a_restore_that_ended_by_itself_is_left_alone(self, world):
        told = {"at": "2026-11-21T03:20:00Z"}
        world.begun(status="ready", finishedAt=told["at"], reportKey="report.json", told0=told)
        world.made(attached=INSTANCE_ID)
        world.ended("SUCCEEDED")
        assert world.sweep() == []
        assert VOLUME_ID in world.volumes.volumes

    def test_a_volume_of_the_stack_that_no_restore_made_is_left_alone(self, world):
        world.made(restore_id="")
        assert world.sweep() == []
        assert world.volumes.deleted == []

    def test_a_dry_run_has_nothing_to_sweep(self, world):
        world.begun(status="planned", request=request(dryRun=True).to_json(), volume0=None)
        world.ended("GONE")
        assert world.sweep() == []
        assert world.messages.sent == []

    def test_the_volume_of_an_execution_that_somebody_ended_is_marked(self, world):
        """Only the volume's execution was stopped: the restore told its failure, and nobody cleaned up."""
        told = {"finishedAt": "2026-11-21T03:20:00Z", "toldAt": "2026-11-21T03:20:00Z"}
        world.begun(attached0={"volumeId": VOLUME_ID}, status="failed", **told)
        world.made(attached=INSTANCE_ID)
        world.ended("FAILED")
        world.sweep()
        assert world.volumes.deleted == []
        assert world.volumes.volumes[VOLUME_ID].settings.tags["rewarm:failed"] == RESTORE_ID
        assert world.messages.sent == []
        assert world.sweep(now=at(60)) == []

    def test_a_volume_that_is_shown_as_being_initialized_stays(self, world):
        """Its mark could not be written, and the execution went on: the API shows it as usable."""
        world.begun(initialization0={"volumeId": VOLUME_ID, "progressPercent": 3})
        world.made()
        world.ended("ABORTED")
        world.sweep()
        assert world.volumes.deleted == []
        assert world.volumes.volumes[VOLUME_ID].settings.tags["rewarm:failed"] == RESTORE_ID
        assert f"Left behind: volume {VOLUME_ID}" in world.messages.sent[0]["text"]

    @pytest.mark.parametrize("earlier", [None, {"removed": [], "kept": [], "goesOn": True}])
    @pytest.mark.parametrize("attached", [None, {"volumeId": VOLUME_ID}])
    def test_the_event_of_that_restore_is_enough(self, world, attached, earlier):
        """Nothing waits for the schedule: its command, its volume, its fast snapshot restore."""
        told = {"finishedAt": "2026-11-21T03:20:00Z", "toldAt": "2026-11-21T03:20:00Z"}
        command = {"dispatch": {"commandId": "command-1", "instanceId": INSTANCE_ID}}
        world.begun(attached0=attached, status="failed", command0=command, cleanUp0=earlier, **told)
        world.made(attached=INSTANCE_ID)
        world.ended("FAILED")
        assert [one.state for one in world.sweep(only=RESTORE_ID)] == ["ended"]
        assert world.commands.cancelled == ["command-1"]
        assert world.volumes.deleted == ([] if attached else [VOLUME_ID])
        assert world.messages.sent == []
        assert world.sweep(only=RESTORE_ID) == []

    def test_one_that_cleaned_up_by_itself_is_left_alone(self, world):
        told = {"finishedAt": "2026-11-21T03:20:00Z", "toldAt": "2026-11-21T03:20:00Z"}
        world.begun(status="failed", cleanUp0={"removed": [], "kept": [], "unfinished": False}, **told)
        world.ended("FAILED")
        assert world.sweep(only=RESTORE_ID) == []

    def test_a_volume_of_an_earlier_plan_goes_the_one_that_was_ordered_stays(self, world):
        told = {"finishedAt": "2026-11-21T03:20:00Z", "reportKey": "report.json"}
        made = {**MADE, "volumeIds": {"0": OTHER, "1": VOLUME_ID}}
        world.begun(status="ready", settled0=True, volume0=made, **told)
        world.ended("SUCCEEDED")
        world.made(attached=INSTANCE_ID, attempt="1")
        world.made(OTHER, attempt="0")
        world.sweep()
        assert world.volumes.deleted == [OTHER]
        assert "rewarm:failed" not in world.volumes.volumes[VOLUME_ID].settings.tags

    def test_a_volume_that_was_made_after_the_end_goes(self, world):
        """CreateVolume was on its way when the execution was stopped."""
        world.begun(volume0=None)
        world.sweep()
        world.made()
        world.table.put(RESTORE_ID, {"status": "restoring", "volume0": MADE})
        world.sweep(now=at(45))
        assert world.volumes.deleted == [VOLUME_ID]
        assert world.table.records[RESTORE_ID]["status"] == "failed"
        assert len(world.messages.sent) == 1

    @pytest.mark.parametrize(
        "tags",
        [
            {"stack": "another"},
            {"restore_id": ""},
            {"restore_id": "restore-of-which-nothing-is-known"},
            {"replaced_by_restore": RESTORE_ID},
            {"failed": RESTORE_ID},
        ],
    )
    def test_volumes_that_are_not_ours_to_delete(self, world, tags):
        world.begun(volume0=None)
        if "restore_id" not in tags and "stack" not in tags:
            world.begun()
        world.made(**tags)
        before = dict(world.volumes.volumes)
        world.sweep()
        assert world.volumes.deleted == []
        assert {one: volume.attachments for one, volume in before.items()} == {
            one: volume.attachments for one, volume in world.volumes.volumes.items()
        }

    def test_a_volume_of_a_record_that_is_lost_stays(self, world):
        """Only a note of the boost is left of it."""
        world.begun()
        world.made(attached=INSTANCE_ID)
        world.table.records[RESTORE_ID] = {"boost0": {"state": "lowered"}}
        assert world.sweep() == []
        assert world.volumes.deleted == []

    def test_a_volume_that_somebody_else_attached_stays(self, world):
        world.begun()
        world.made(attached="i-another")
        world.sweep()
        assert world.volumes.volumes[VOLUME_ID].attachments[0].instance_id == "i-another"
        assert "which was not our doing" in world.messages.sent[0]["text"]

    @pytest.mark.parametrize("unfinished", [False, True])
    def test_what_was_kept_stays_when_its_owner_frees_it(self, world, unfinished):
        """Detached, and without our tag."""
        world.begun()
        world.made(attached="i-another")
        world.sweep()
        world.volumes.change(VOLUME_ID, attachments=(), state="available")
        world.volumes.volumes[VOLUME_ID].settings.tags.pop("rewarm:failed")
        account = world.table.records[RESTORE_ID]["cleanUp0"]
        world.table.update_volume(RESTORE_ID, 0, {"cleanUp": {**account, "unfinished": unfinished}})
        world.sweep(now=at(45))
        assert world.volumes.deleted == []
        assert "rewarm:failed" not in world.volumes.volumes[VOLUME_ID].settings.tags

    def test_snapshots_and_source_volumes_are_never_touched(self, world):
        world.begun()
        world.volumes.create(
            SNAPSHOT_ID,
            ZONE,
            VolumeSettings("gp3", 100),
            rate_mib_s=None,
            client_token="source",
        )
        (source,) = world.volumes.volumes
        world.table.update_volume(RESTORE_ID, 0, {"volume": {**MADE, "volumeId": "vol-gone"}})
        world.sweep()
        assert list(world.volumes.volumes) == [source]


class TestCopiedTags:
    """Backups and policies hand a volume's tags on, to its snapshots and to what is made of them."""

    @pytest.mark.parametrize("status", ["ready", "failed", "restoring"])
    @pytest.mark.parametrize("attached", [None, INSTANCE_ID])
    def test_a_copy_of_our_volume_is_not_ours(self, world, status, attached):
        world.begun(status=status, settled0=status == "ready" or None, toldAt="2026-11-21T03:10:00Z")
        world.made(failed=None if status == "ready" else RESTORE_ID)
        world.made(OTHER, attached=attached)
        world.volumes.change(OTHER, snapshot_id="snap-0ffffffffffffffff")
        before = world.volumes.volumes[OTHER]
        world.sweep()
        assert world.volumes.deleted == []
        assert world.volumes.volumes[OTHER] == before

    @pytest.mark.parametrize("status", ["ready", "failed", "restoring"])
    def test_a_volume_of_the_same_snapshot_with_all_our_tags_is_not_ours(self, world, status):
        world.begun(status=status, settled0=status == "ready" or None, toldAt="2026-11-21T03:10:00Z")
        for name in (VOLUME_ID, OTHER):
            world.made(name, failed=None if status == "ready" else RESTORE_ID, boost="gp3 iops=3000")
        world.volumes.change(OTHER, created_at=at(20))
        before = world.volumes.volumes[OTHER]
        world.sweep()
        assert world.volumes.deleted == []
        assert [name for name, _ in world.modifications.started if name == OTHER] == []
        assert world.volumes.volumes[OTHER] == before

    def test_a_copy_of_our_clone_is_not_ours(self, world):
        world.begun(volume0={**MADE, "strategy": "volume-clone"})
        for name, source in ((VOLUME_ID, "vol-0aaaaaaaaaaaaaaaa"), (OTHER, None)):
            world.made(name, snapshot_id=None, source_volume_id="vol-0aaaaaaaaaaaaaaaa")
            world.volumes.change(name, snapshot_id=None, source_volume_id=source)
        world.sweep()
        assert world.volumes.deleted == [VOLUME_ID]


class TestFastSnapshotRestores:
    def test_one_that_the_user_enabled_stays(self, world):
        world.fast_restores.states[PLACE] = FastSnapshotRestore("enabled")
        assert world.sweep() == []
        enabled(world, by_us=False)
        world.begun()
        world.sweep()
        assert PLACE in world.fast_restores.states

    def test_one_on_which_another_restore_relies_stays(self, world):
        world.begun()
        enabled(world)
        world.table.claim_fast_snapshot_restore(*PLACE, "restore-alive/0", asked_at=None)
        world.executions.running.add(("restore-alive", 0))
        world.sweep()
        assert world.fast_restores.disabled == []
        world.executions.running.clear()
        world.sweep(now=at(45))
        assert world.fast_restores.disabled == [PLACE]

    def test_one_of_which_no_record_tells_is_disabled(self, world):
        """The execution was stopped between the claim and the note of it."""
        enabled(world)
        assert [(one.sweep, one.state) for one in world.sweep()] == [("fast-snapshot-restores", "ended")]
        assert world.fast_restores.disabled == [PLACE]

    def test_one_that_could_not_be_disabled_is_tried_again(self, world):
        world.begun(status="failed", toldAt="2026-11-21T03:20:00Z", volume0=None)
        world.ended("FAILED")
        enabled(world)
        assert world.table.release_fast_snapshot_restore(*PLACE, USER)
        world.sweep()
        assert world.fast_restores.disabled == [PLACE]

    def test_one_that_the_user_enabled_after_us_stays_where_we_could_not_forget_ours(self, world):
        world.begun(status="failed", toldAt="2026-11-21T03:20:00Z", volume0=None)
        world.ended("FAILED")
        enabled(world)
        assert world.table.release_fast_snapshot_restore(*PLACE, USER)
        world.fast_restores.since[PLACE] = at(20)
        world.sweep()
        assert PLACE in world.fast_restores.states
        assert world.table.claims == {}

    def test_one_that_the_user_enabled_after_us_stays(self, world):
        enabled(world)
        world.sweep()
        world.fast_restores.states[PLACE] = FastSnapshotRestore("enabled")
        assert world.sweep(now=at(45)) == []
        assert PLACE in world.fast_restores.states


class TestEvents:
    RESTORE = "arn:aws:states:us-east-1:123456789012:stateMachine:restore"
    VOLUME = "arn:aws:states:us-east-1:123456789012:stateMachine:restore-volume"

    @pytest.mark.parametrize(
        ("machine", "name", "restore_id"),
        [(RESTORE, "restore-12", "restore-12"), (VOLUME, "restore-12-3", "restore-12"), (RESTORE, "", None)],
    )
    def test_the_event_names_the_restore(self, machine, name, restore_id):
        event = {"detail": {"stateMachineArn": machine, "name": name, "status": "ABORTED"}}
        assert restore_of_event(event, self.VOLUME) == restore_id

    def test_a_schedule_names_none(self):
        assert restore_of_event({"detail-type": "Scheduled Event", "detail": {}}, self.VOLUME) is None

    def test_an_odd_name_stays_whole(self):
        assert restore_of("drill", of_volume=True) == "drill"

    def test_only_that_restore_is_swept(self, world):
        world.begun()
        world.begun("another")
        world.sweep(only=RESTORE_ID)
        assert "finishedAt" not in world.table.records["another"]
