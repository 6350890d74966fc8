"""States Announce Failure and Announce Drill."""

from __future__ import annotations

import json
from typing import Any, ClassVar

import pytest

from rewarm.contracts.events import AnnounceEvent
from rewarm.steps.announce.announce import announce
from tests.support.builders import (
    BOB,
    DEVICE,
    INSTANCE_ID,
    NOW,
    RESTORE_ID,
    VOLUME_ID,
    World,
    at,
    request,
)
from tests.support.worlds.announcing import FAILURE, say


class TestFailed:
    def test_names_the_reason_and_what_was_removed(self):
        world = World()
        world.table.put_new(RESTORE_ID, {"cleanUp0": {"removed": [f"volume {VOLUME_ID}"], "kept": []}})
        results = [{"verdict": "failed", "index": 0}]
        say(world, "failed", {"failure": FAILURE, "results": results})
        message = world.messages.sent[0]
        assert message["title"] == "Restore failed: vol-1 is still slow"
        assert message["text"].splitlines() == [
            "vol-1 is still slow",
            f"Removed: volume {VOLUME_ID}.",
            "Nothing was left behind.",
        ]
        assert message["severity"] == "error"

    def test_names_what_was_left_behind(self):
        world = World()
        world.table.put_new(RESTORE_ID, {"cleanUp0": {"removed": [], "kept": ["volume vol-9 (why)"]}})
        results = [{"verdict": "failed", "index": 0}, {"verdict": "ready", "index": 1, "volumeId": "vol-8"}]
        say(world, "failed", {"failure": FAILURE, "results": results})
        assert "Left behind: volume vol-9 (why); volume vol-8 (ready)." in world.messages.sent[0]["text"]

    def test_takes_no_earlier_plans_clean_up_for_the_account(self):
        """The execution ended by itself after a fall-back: nobody has looked yet what the last plan left."""
        world = World()
        earlier = {"removed": [f"volume {VOLUME_ID}"], "kept": [], "goesOn": True}
        world.table.put_new(RESTORE_ID, {"cleanUp0": earlier})
        say(world, "failed", {"failure": FAILURE, "results": [{"verdict": "failed", "index": 0}]})
        text = world.messages.sent[0]["text"]
        assert f"Removed: volume {VOLUME_ID}." in text
        assert f"Left behind: whatever carries the tag rewarm:restore-id={RESTORE_ID}" in text

    def test_names_a_volume_that_was_ready_when_its_execution_was_stopped(self):
        """Nobody cleans up after it: it stays, and the sweeper sends its message."""
        world = World()
        world.table.put_new(RESTORE_ID, {"settled0": True, "volume0": {"volumeId": VOLUME_ID}})
        say(world, "failed", {"failure": FAILURE, "results": [{"verdict": "failed", "index": 0}]})
        assert f"Left behind: volume {VOLUME_ID} (ready)." in world.messages.sent[0]["text"]

    def test_admits_where_it_does_not_know_what_is_left(self):
        world = World()
        say(world, "failed", {"failure": FAILURE, "results": [{"verdict": "failed", "index": 0}]})
        assert f"rewarm:restore-id={RESTORE_ID}" in world.messages.sent[0]["text"]

    def test_names_the_volume_of_which_it_does_not_know_whether_it_is_left(self):
        """Somebody may have taken off the tag by which it would be found."""
        world = World()
        world.table.put_new(RESTORE_ID, {"volume0": {"volumeId": VOLUME_ID}})
        say(world, "failed", {"failure": FAILURE, "results": [{"verdict": "failed", "index": 0}]})
        named = f"Left behind: volume {VOLUME_ID} and whatever else carries the tag rewarm:restore-id="
        assert named in world.messages.sent[0]["text"]

    def test_tells_everybody_where_not_even_the_request_could_be_read(self):
        world = World()
        event = AnnounceEvent(
            restore_id=RESTORE_ID,
            now=NOW,
            event="failed",
            request=None,
            details={"failure": FAILURE, "results": []},
        )
        announce(event, table=world.table, messages=world.messages, artifacts=world.artifacts)
        message = world.messages.sent[0]
        assert message["notify"] == {"slack": True, "email": True}
        assert "Nothing was left behind." in message["text"]

    def test_where_only_the_answer_of_report_was_lost_what_it_found_stands(self):
        world = World()
        found = {"state": "Warm Up", "error": "RestoreCancelledError", "cause": "as asked for"}
        world.table.put_new(RESTORE_ID, {"reportKey": "restores/r/report.json", "failure": found})
        say(world, "failed", {"failure": FAILURE, "results": []})
        record = world.table.records[RESTORE_ID]
        assert (record["status"], record["failure"]) == ("cancelled", found)
        assert world.messages.sent[0]["title"] == "Restore cancelled"
        assert world.messages.sent[0]["text"].startswith("The restore was cancelled on request.")

    @pytest.mark.parametrize("failure", [None, {"cause": "an earlier one"}])
    def test_what_no_report_has_found_does_not_stand(self, failure):
        world = World()
        world.table.put_new(RESTORE_ID, {"reportKey": "restores/r/report.json", "failure": failure})
        say(world, "failed", {"failure": FAILURE, "results": []})
        assert world.table.records[RESTORE_ID]["failure"]["cause"] == "vol-1 is still slow"

    def test_turns_the_record_to_failed_with_the_reason(self):
        world = World()
        say(world, "failed", {"failure": FAILURE, "results": []})
        record = world.table.records[RESTORE_ID]
        assert record["status"] == "failed"
        assert record["failure"]["cause"] == "vol-1 is still slow"

    def test_a_cancelled_restore_is_not_called_a_failure(self):
        world = World()
        failure = {"state": "Report", "error": "RestoreCancelledError", "cause": "as asked for"}
        say(world, "failed", {"failure": failure, "results": []})
        assert world.messages.sent[0]["title"] == "Restore cancelled"
        assert world.table.records[RESTORE_ID]["status"] == "cancelled"

    def test_a_cancelled_restore_names_who_cancelled_it(self):
        world = World()
        world.table.put_new(RESTORE_ID, {"cancelledBy": {"kind": "iam", "name": BOB.name}})
        failure = {"state": "Report", "error": "RestoreCancelledError", "cause": "as asked for"}
        say(world, "failed", {"failure": failure, "results": []})
        assert world.messages.sent[0]["text"].startswith(f"The restore was cancelled by {BOB.name}.")

    def test_is_announced_once_though_the_record_was_lost_before_a_redrive(self):
        """The bucket knows that the message was sent, and how the restore ended."""
        world = World()
        world.table.put_new(RESTORE_ID, {})
        say(world, "failed", {"failure": FAILURE, "results": []})
        ended = dict(world.table.records[RESTORE_ID])
        world.table.lose(RESTORE_ID)
        say(world, "failed", {"failure": FAILURE, "results": []})
        assert len(world.messages.sent) == 1
        again = world.table.records[RESTORE_ID]
        assert (again["status"], again["toldAt"]) == (ended["status"], ended["toldAt"])


class TestNextSteps:
    """After a restore that failed or was cancelled."""

    CANCELLED = {"state": "Report", "error": "RestoreCancelledError", "cause": "as asked for"}
    STAYS = {"volumeId": VOLUME_ID, "device": DEVICE, "instanceId": INSTANCE_ID}

    def steps(self, failure=FAILURE, **record):
        world = World()
        world.table.put_new(RESTORE_ID, record)
        results = [{"verdict": "failed", "index": 0}] if "cleanUp0" in record else []
        say(world, "failed", {"failure": failure, "results": results})
        return world.messages.sent[0]["nextSteps"]

    def test_a_request_is_sent_again(self):
        again = "Fix the cause above and send the request again; the restore starts from the beginning."
        assert self.steps(trigger={"kind": "api"}) == [again]
        assert self.steps() == [again], "a record that does not say what started it"

    def test_what_passes_by_itself_is_not_to_be_fixed(self):
        failure = {"state": "Create Volume", "error": "CapacityUnavailableError", "cause": "no capacity"}
        (step,) = self.steps(failure)
        assert step.startswith("Wait until the cause above is over and send the request again;")

    def test_an_alarm_without_a_runbook_restored_nothing(self):
        world = World()
        world.table.put_new(RESTORE_ID, {"trigger": {"kind": "alarm", "alarmName": "rewarm-orders db"}})
        failure = {"state": "Parse Request", "error": "RunbookNotFoundError", "cause": "source.alarm: none"}
        say(world, "failed", {"failure": failure, "results": []})
        (message,) = world.messages.sent
        assert message["title"] == "Nothing was restored: the alarm rewarm-orders db has no runbook"
        assert message["text"].endswith("So Rewarm does not know what to restore, and has made nothing.")
        now, next_time, itself = message["nextSteps"]
        assert now.startswith("To restore now: rewarm restore --volume vol-… --instance i-…, or")
        assert "rewarm runbook put 'rewarm-orders db' --volume" in next_time
        assert "goes off again" in itself

    def test_a_schedule_comes_again(self):
        (step,) = self.steps(trigger={"kind": "schedule", "scheduleName": "nightly"})
        assert "The schedule tries again at its next time" in step

    def test_an_alarm_is_started_by_hand_and_held_back(self):
        by_hand, itself = self.steps(
            trigger={"kind": "alarm", "alarmName": "rewarm-a"}, alarmHeldUntil=at(69).isoformat()
        )
        assert by_hand == "Fix the cause above, then start the restore: rewarm restore --alarm rewarm-a"
        assert "starts no restore until 2026-11-21 04:09 UTC, unless its runbook is changed" in itself

    @pytest.mark.parametrize("held", [{}, {"alarmHeldUntil": at(9).isoformat()}])
    def test_an_alarm_without_a_cooldown_goes_off_by_itself(self, held):
        itself = self.steps(trigger={"kind": "alarm", "alarmName": "rewarm-a"}, **held)[1]
        assert itself == "The alarm starts the next restore only when it has left ALARM and goes off again."

    def test_a_volume_that_stays_attached_is_detached_first(self):
        account = {"removed": [], "kept": ["volume (why)"], "stays": [self.STAYS]}
        (step,) = self.steps(self.CANCELLED, cleanUp0=account)
        assert step == (
            f"To delete {VOLUME_ID}: unmount {DEVICE} on {INSTANCE_ID}, then run: "
            f"aws ec2 detach-volume --volume-id {VOLUME_ID} && "
            f"aws ec2 wait volume-available --volume-ids {VOLUME_ID} && "
            f"aws ec2 delete-volume --volume-id {VOLUME_ID}"
        )
        assert len(step) <= 350, "Amazon Q Developer shows no more of a step"

    def test_a_volume_that_is_not_attached_is_deleted(self):
        account = {"removed": [], "kept": ["volume (why)"], "stays": [{"volumeId": VOLUME_ID}]}
        _again, step = self.steps(cleanUp0=account)
        assert step == f"To delete {VOLUME_ID}: aws ec2 delete-volume --volume-id {VOLUME_ID}"

    def test_of_many_volumes_a_few_are_named(self):
        account = {"removed": [], "kept": ["volumes (why)"], "stays": [self.STAYS] * 5}
        steps = self.steps(self.CANCELLED, cleanUp0=account)
        assert len(steps) == 3
        assert steps[-1] == "3 more volumes are deleted in the same way."

    def test_an_old_volume_that_is_back_in_its_place_is_not_to_be_deleted(self):
        account = {"removed": [f"volume {VOLUME_ID}"], "kept": ["volume vol-0: it is back in its place"]}
        assert self.steps(self.CANCELLED, cleanUp0=account) == []


class TestDrilled:
    DRILL: ClassVar[dict[str, Any]] = {
        "restoreId": RESTORE_ID, "runbook": "rewarm-orders", "at": "2026-11-21T03:00:00Z",
        "outcome": "passed", "recoverySeconds": 309, "recoveryObjectiveSeconds": 600, "pointSeconds": 86_400,
    }  # fmt: skip

    def told(self, **changes):
        world = World()
        say(world, "drill", {"drill": {**self.DRILL, **changes}, "pageKey": None})
        return world.messages.sent[0]

    def test_says_what_it_took_against_each_objective(self):
        message = self.told()
        assert message["title"] == "Drill passed: rewarm-orders was back at full speed after 5 min 09 s"
        assert message["severity"] == "good"
        assert message["text"].splitlines() == [
            "Recovery time: 5 min 09 s; the objective of 10 min is met.",
            (
                "Recovery point: the oldest snapshot was started 24 h before the drill; "
                "there is no objective for it."
            ),
            "The volumes of the drill are deleted.",
        ]

    def test_a_late_one_is_a_warning_and_says_what_was_missed(self):
        message = self.told(outcome="late", pointObjectiveSeconds=3600)
        assert message["title"].startswith("Drill late: rewarm-orders")
        assert message["severity"] == "warning"
        assert "was started 24 h before the drill; the objective of 1 h is missed." in message["text"]

    def test_the_time_of_an_application_is_named_as_such(self):
        title = self.told(recoveryOf="application")["title"]
        assert title == "Drill passed: the application of rewarm-orders was back after 5 min 09 s"

    def test_one_whose_application_is_not_back_has_failed(self):
        message = self.told(outcome="failed", recoveryOf="application", recoverySeconds=None)
        assert message["title"] == "Drill failed: the application of rewarm-orders is not back"
        assert message["severity"] == "warning"
        assert message["text"].startswith("The volumes came to full speed.\n")

    def test_every_other_message_of_a_drill_says_so(self):
        world = World()
        details = {"failure": {"error": "AgentFailedError", "cause": "x"}, "results": [], "pageKey": None}
        event = AnnounceEvent(
            restore_id=RESTORE_ID, now=at(9), event="failed", details=details,
            request=request(drill={"runbook": "rewarm-orders"}),
        )  # fmt: skip
        announce(event, table=world.table, messages=world.messages)
        sent = world.messages.sent[0]
        assert sent["title"].startswith("Drill: Restore failed")
        assert sent["text"].endswith("This is a drill: its volumes are deleted at its end.")


STOPPED = json.dumps({"Status": "ABORTED"})
DIED = {"index": 0, "verdict": "failed", "error": "States.TaskFailed", "cause": STOPPED}
DELETED = {**DIED, "cause": json.dumps({"state": "Release", "error": "VolumeFailedError", "cause": "gone"})}


@pytest.mark.parametrize(
    ("result", "record", "is_sent"),
    [
        (DIED, {"settled0": True}, False),
        (DIED, {}, True),
        (DELETED, {"settled0": True}, True),
        (DIED, {"settled0": True, "request": {"drill": {"runbook": "orders"}}}, True),
    ],
    ids=["at full speed", "not at full speed", "deleted", "a drill"],
)
def test_a_restore_whose_volumes_are_all_at_full_speed_is_never_called_failed(
    result: dict[str, Any],
    record: dict[str, Any],
    is_sent: bool,  # noqa: FBT001
) -> None:
    """`Keep Result` and `Report` could not say so, because both had failed for good."""
    world = World()
    world.table.put(RESTORE_ID, {"status": "initializing", "volumeCount": 1, **record})
    say(world, "failed", {"failure": FAILURE, "results": [result]})
    assert bool(world.messages.sent) is is_sent
    assert (world.table.records[RESTORE_ID]["status"] == "failed") is is_sent
