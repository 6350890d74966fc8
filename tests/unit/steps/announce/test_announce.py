"""States Announce Plan, Fallback, Attached, Ready and Failure."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest

from rewarm.contracts import (
    AnnounceEvent,
    InitializationSignals,
    PlanSummary,
    PollInitializationResult,
    VerifyVolumeResult,
)
from rewarm.domain.errors import RestoreCancelledError, ServiceUnavailableError
from rewarm.domain.model import Strategy
from rewarm.steps.announce.announce import announce
from tests.support.builders import (
    DEVICE,
    INSTANCE_ID,
    NOW,
    RESTORE_ID,
    SNAPSHOT_ID,
    SOURCE_VOLUME_ID,
    VOLUME_ID,
    ZONE,
    World,
    assignment,
    at,
    boosted_plan,
    measurement,
    plan,
    request,
    volume_plan,
)
from tests.support.fakes import FakeArtifacts

SLOW_CAUSE = json.dumps({"errorMessage": "vol-1 is still slow", "errorType": "VolumeNotFastError"})
FAILURE = {"state": "Verify Volume After", "error": "VolumeNotFastError", "cause": SLOW_CAUSE}


def say(world, kind, details, the_request=None):
    event = AnnounceEvent(
        restore_id=RESTORE_ID, now=at(9), event=kind, request=the_request or request(), details=details
    )
    return announce(event, table=world.table, messages=world.messages, artifacts=world.artifacts)


def plan_details(**changes):
    summary = PlanSummary(
        total_cost_usd=Decimal("0.9"),
        ready_p90_at=at(14),
        deadline_missed=False,
        why="cheapest",
        price_book_as_of=NOW,
        price_source="shipped price book",
    )
    return {
        "summary": summary.to_json(),
        "plans": [volume_plan().to_json()],
        "trigger": {"kind": "alarm", "alarmName": "db down"},
        "deadlineAt": "2026-11-21T03:30:00Z",
        **changes,
    }


def ready_details(**changes):
    initialization = PollInitializationResult(
        ready=True,
        wait_seconds=1,
        progress_percent=100.0,
        bytes_done=1,
        bytes_total=1,
        reasons=["the agent has read every written block"],
        signals=InitializationSignals(),
        polls=3,
        first_polled_at=NOW,
        last_progress_at=NOW,
    )
    measured = {"finished": True, "waitSeconds": 1, "commandId": "c", "reason": "64 reads"}
    return {
        "volume": assignment().to_json(),
        "plan": plan().to_json(),
        "volumeId": VOLUME_ID,
        "initialization": initialization.to_json(),
        "before": {**measured, "verdict": "slow", "result": measurement("slow", 95.0)},
        "after": {**measured, "verdict": "fast", "result": measurement()},
        "startedAt": "2026-11-21T03:00:00Z",
        "deadlineAt": "2026-11-21T03:30:00Z",
        **changes,
    }


class TestPlan:
    def test_tells_who_asked_what_is_done_what_it_costs_and_until_when(self):
        world = World()
        result = say(world, "plan", plan_details())
        (message,) = world.messages.sent
        assert result.channels == ["slack", "email"]
        assert message["title"] == f"Restoring: {SNAPSHOT_ID} to /dev/sdf on i-0123456789abcdef0"
        assert 'The alarm "db down" went off.' in message["text"]
        fields = {field["name"]: field["value"] for field in message["fields"]}
        assert fields["Extra cost"] == "$0.90"
        assert fields["Full speed expected by"] == "2026-11-21 03:14 UTC (9 of 10 cases)"
        assert fields["Deadline"] == "2026-11-21 03:30 UTC"
        assert message["severity"] == "info"

    @pytest.mark.parametrize(
        ("strategy", "speed"),
        [
            (Strategy.FAST_SNAPSHOT_RESTORE, "at full speed"),
            (Strategy.WARM_UP_AGENT, "slowly at first"),
            (Strategy.VOLUME_CLONE, "at up to 3,000 IOPS and 125 MiB/s until everything is copied"),
        ],
    )
    def test_says_how_fast_the_volume_will_be_when_it_can_be_used(self, strategy, speed):
        world = World()
        say(
            world, "plan", plan_details(plans=[{**volume_plan().to_json(), "plan": plan(strategy).to_json()}])
        )
        next_step, cancelling = world.messages.sent[0]["nextSteps"]
        assert cancelling == f"To cancel: DELETE /restores/{RESTORE_ID}."
        assert next_step.startswith("The volume can be used in about ")
        assert next_step.endswith(f", {speed}.")

    def test_warns_where_the_deadline_will_be_missed(self):
        world = World()
        details = plan_details()
        details["summary"]["deadlineMissed"] = True
        say(world, "plan", details)
        assert world.messages.sent[0]["severity"] == "warning"
        assert {"name": "Deadline", "value": "2026-11-21 03:30 UTC (will be missed)"} in world.messages.sent[
            0
        ]["fields"]

    def test_says_that_a_dry_run_creates_nothing(self):
        world = World()
        say(world, "plan", plan_details(), request(dryRun=True))
        assert "nothing is created" in world.messages.sent[0]["text"]

    def test_keeps_the_plan_in_the_record(self):
        world = World()
        say(world, "plan", plan_details())
        record = world.table.records[RESTORE_ID]
        assert record["status"] == "planned"
        assert record["plan0"]["plan"]["strategy"] == "warm-up-agent"
        assert [event["event"] for event in record["events"]] == ["plan"]

    def test_passes_on_who_is_to_be_told(self):
        world = World()
        say(world, "plan", plan_details(), request(notify={"slack": False}))
        assert world.messages.sent[0]["notify"] == {"slack": False, "email": True}

    def test_a_retried_state_writes_the_news_once(self):
        world = World()
        say(world, "plan", plan_details())
        say(world, "plan", plan_details())
        assert len(world.table.records[RESTORE_ID]["events"]) == 1


class TestFallback:
    def test_says_what_failed_and_what_takes_over(self):
        world = World()
        cause = json.dumps({"errorMessage": "at 300 MiB/s: no capacity", "errorType": "X"})
        details = {
            "volume": assignment().to_json(),
            "plan": plan(Strategy.PROVISIONED_RATE).to_json(),
            "failure": {"state": "Create Volume", "error": "X", "cause": cause},
        }
        say(world, "fallback", details)
        message = world.messages.sent[0]
        assert "at 300 MiB/s: no capacity" in message["text"]
        assert message["title"] == f"{SNAPSHOT_ID}: going on with provisioned-rate at 100 MiB/s"


class TestAttached:
    def details(self, strategy=Strategy.WARM_UP_AGENT):
        the_plan = plan(strategy).to_json()
        return {"volume": assignment().to_json(), "plan": the_plan, "volumeId": VOLUME_ID, "device": DEVICE}

    def test_is_noted_before_anybody_is_told(self):
        """From then on the volume is never deleted; a restore that was cancelled tells nobody."""
        world = World()
        say(world, "attached", self.details())
        assert world.table.records[RESTORE_ID]["attached0"]["volumeId"] == VOLUME_ID
        cancelled = World()
        cancelled.table.update(RESTORE_ID, {"cancelRequested": True})
        with pytest.raises(RestoreCancelledError):
            say(cancelled, "attached", self.details())
        assert cancelled.messages.sent == []
        assert "attached0" not in cancelled.table.records[RESTORE_ID]

    def test_says_that_the_volume_can_be_used_and_is_still_slow(self):
        world = World()
        say(world, "attached", self.details())
        message = world.messages.sent[0]
        assert message["title"] == f"{VOLUME_ID} is attached to i-0123456789abcdef0 and can be used"
        assert "Full speed in about 8 min by warm-up-agent." in message["text"]
        assert world.table.records[RESTORE_ID]["status"] == "initializing"

    def test_says_that_fast_snapshot_restore_is_fast_at_once(self):
        world = World()
        say(world, "attached", self.details(Strategy.FAST_SNAPSHOT_RESTORE))
        assert world.messages.sent[0]["text"].endswith(
            "It should be at full speed at once; that is measured now."
        )

    def test_says_how_fast_a_copy_is_and_what_it_holds(self):
        world = World()
        say(world, "attached", self.details(Strategy.VOLUME_CLONE))
        message = world.messages.sent[0]
        assert f"{VOLUME_ID}, a copy of {SOURCE_VOLUME_ID}, is /dev/sdf" in message["text"]
        assert "at up to 3,000 IOPS and 125 MiB/s until everything is copied." in message["text"]
        assert {"name": "Data as of", "value": "the moment of the copy"} in message["fields"]


class TestAvailable:
    def details(self, strategy=Strategy.PROVISIONED_RATE):
        volume = assignment(instance_id=None, device=None).to_json()
        return {"volume": volume, "plan": plan(strategy).to_json(), "volumeId": VOLUME_ID}

    def test_is_noted_before_anybody_is_told(self):
        """In a zone alone: who is told may write to the volume, so it is never deleted from then on."""
        world = World()
        say(world, "available", self.details())
        noted = world.table.records[RESTORE_ID]["attached0"]
        assert (noted["volumeId"], noted["availabilityZone"]) == (VOLUME_ID, ZONE)
        assert "device" not in noted
        cancelled = World()
        cancelled.table.update(RESTORE_ID, {"cancelRequested": True})
        with pytest.raises(RestoreCancelledError):
            say(cancelled, "available", self.details())
        assert cancelled.messages.sent == []
        assert "attached0" not in cancelled.table.records[RESTORE_ID]

    def test_says_where_the_volume_can_be_used_and_that_it_stays(self):
        world = World()
        say(world, "available", self.details())
        message = world.messages.sent[0]
        assert message["title"] == f"{VOLUME_ID} is available in {ZONE} and can be used"
        assert "by provisioned-rate at 100 MiB/s." in message["text"]
        assert message["nextSteps"] == [
            f"Attach it to an instance in {ZONE} if you need the data now.",
            "From now on it is never deleted by a failing restore: it is yours.",
        ]
        assert world.table.records[RESTORE_ID]["status"] == "initializing"
        assert [one["event"] for one in world.table.records[RESTORE_ID]["events0"]] == ["available"]

    def test_promises_no_measurement(self):
        world = World()
        say(world, "available", self.details(Strategy.FAST_SNAPSHOT_RESTORE))
        assert "nothing can be measured without an instance" in world.messages.sent[0]["text"]


class TestReady:
    def test_gives_the_proof(self):
        world = World()
        say(world, "ready", ready_details())
        message = world.messages.sent[0]
        assert message["title"] == f"{VOLUME_ID} is at full speed"
        assert "is at full speed after 9 min 00 s." in message["text"]
        assert (
            "take 0.6 ms (p99 1.9 ms); right after the restore they took 0.6 ms (p99 95.0 ms)."
            in message["text"]
        )
        assert (
            "Known because: the agent has read every written block; 256 random reads were fast."
            in message["text"]
        )
        assert message["severity"] == "good"

    def test_says_no_more_than_was_read(self):
        world = World()
        details = ready_details()
        details["initialization"]["signals"]["agent"] = {"scope": "used"}
        say(world, "ready", details)
        message = world.messages.sent[0]
        assert message["title"] == f"{VOLUME_ID} is at full speed where its file systems have data"
        assert "is at full speed where its file systems have data after 9 min 00 s." in message["text"]

    def test_says_that_the_deadline_was_missed(self):
        world = World()
        say(world, "ready", ready_details(deadlineAt="2026-11-21T03:05:00Z"))
        assert world.messages.sent[0]["severity"] == "warning"
        assert {"name": "Deadline", "value": "2026-11-21 03:05 UTC (missed)"} in world.messages.sent[0][
            "fields"
        ]

    def test_says_why_nothing_was_measured(self):
        world = World()
        unmeasured = VerifyVolumeResult(
            finished=True, wait_seconds=1, verdict="unmeasured", reason="the request says verify.samples 0"
        )
        say(world, "ready", ready_details(before=None, after=unmeasured.to_json()))
        assert "was not measured: the request says verify.samples 0." in world.messages.sent[0]["text"]

    def test_a_volume_without_an_instance_is_not_measured(self):
        world = World()
        say(world, "ready", ready_details(before=None, after=None))
        assert "there is no instance to measure it on" in world.messages.sent[0]["text"]


class TestReportLink:
    PAGE = f"restores/{RESTORE_ID}/report.html"

    def test_a_message_links_the_page_that_is_there(self):
        world = World()
        say(world, "ready", ready_details(pageKey=self.PAGE))
        url = world.messages.sent[0]["reportUrl"]
        assert url == world.artifacts.download_url(self.PAGE, expires_seconds=43_200)
        assert url not in json.dumps(world.table.records), "whoever reads the record needs no link that ends"

    def test_a_failure_links_it_too(self):
        world = World()
        say(world, "failed", {"failure": FAILURE, "results": [], "pageKey": self.PAGE})
        assert self.PAGE in world.messages.sent[0]["reportUrl"]

    def test_a_message_before_there_is_a_page_links_none(self):
        world = World()
        say(world, "plan", plan_details())
        say(world, "ready", ready_details())
        assert [message["reportUrl"] for message in world.messages.sent] == [None, None]

    def test_without_a_link_the_news_are_told_all_the_same(self):
        class Unsigned(FakeArtifacts):
            def download_url(self, key, *, expires_seconds):
                raise ServiceUnavailableError("no credentials")

        world = World(artifacts=Unsigned())
        say(world, "ready", ready_details(pageKey=self.PAGE))
        assert world.messages.sent[0]["reportUrl"] is None


class TestExpectation:
    def test_says_what_the_volume_promises(self):
        world = World()
        details = ready_details()
        details["after"]["expected"] = {"p50Ms": 1.0, "p99Ms": 20.0, "iops": 1000.0, "limitedBy": "gp3"}
        say(world, "ready", details)
        assert "; the volume promises at most 1.0 ms (p99 20.0 ms)." in world.messages.sent[0]["text"]

    def test_says_that_it_was_warmed_up_again(self):
        world = World()
        say(world, "ready", ready_details(warmUps=1))
        assert "was read once more by the warm-up agent." in world.messages.sent[0]["text"]


class TestBoost:
    def details(self, state, reason=""):
        boost = {"state": state, "boosted": "gp3 with 4,000 IOPS", "target": "gp3", "reason": reason}
        released = {"released": [], "finished": True, "waitSeconds": 1, "firstTriedAt": NOW.isoformat()}
        the_plan = boosted_plan().to_json()
        return ready_details(
            plan=the_plan, released={**released, "boost": boost}, readyAt="2026-11-21T03:04:00Z"
        )

    def test_says_that_it_is_lowered_and_counts_the_time_without_it(self):
        world = World()
        say(world, "ready", self.details("lowered"))
        message = world.messages.sent[0]
        assert (
            "It was boosted to gp3 with 4,000 IOPS for the warm-up and is lowered to gp3." in message["text"]
        )
        assert "is at full speed after 4 min 00 s." in message["text"]
        assert (message["severity"], message["nextSteps"]) == ("good", [])
        fields = {field["name"]: field["value"] for field in message["fields"]}
        assert fields["How"] == "boosted-warm-up as gp3 with 4,000 IOPS and 1,000 MiB/s"

    def test_warns_where_it_goes_on_costing_money(self):
        world = World()
        say(world, "ready", self.details("not-lowered", "ec2:ModifyVolume"))
        message = world.messages.sent[0]
        assert (
            "It is still boosted to gp3 with 4,000 IOPS, which goes on costing money: ec2:ModifyVolume."
            in message["text"]
        )
        assert message["severity"] == "warning"
        assert message["nextSteps"] == [f"Lower {VOLUME_ID} to gp3 with ModifyVolume."]


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

    def test_admits_where_it_does_not_know_what_is_left(self):
        world = World()
        say(world, "failed", {"failure": FAILURE, "results": [{"verdict": "failed", "index": 0}]})
        assert f"rewarm:restore-id={RESTORE_ID}" in world.messages.sent[0]["text"]

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
        again = "Mend what is named above and send the request again; it starts from the beginning."
        assert self.steps(trigger={"kind": "api"}) == [again]
        assert self.steps() == [again], "a record that does not say what started it"

    def test_a_schedule_comes_again(self):
        (step,) = self.steps(trigger={"kind": "schedule", "scheduleName": "nightly"})
        assert "The schedule tries again at its next time" in step

    def test_an_alarm_is_started_by_hand_and_held_back(self):
        by_hand, itself = self.steps(
            trigger={"kind": "alarm", "alarmName": "rewarm-a"}, alarmHeldUntil=at(69).isoformat()
        )
        assert by_hand.endswith('POST /restores with {"source": {"alarm": "rewarm-a"}}.')
        assert "starts none until 2026-11-21 04:09 UTC, unless its runbook is changed" in itself

    @pytest.mark.parametrize("held", [{}, {"alarmHeldUntil": at(9).isoformat()}])
    def test_an_alarm_without_a_cooldown_goes_off_by_itself(self, held):
        itself = self.steps(trigger={"kind": "alarm", "alarmName": "rewarm-a"}, **held)[1]
        assert itself == "The alarm itself starts one only when it has left ALARM and goes off again."

    def test_a_volume_that_stays_attached_is_detached_first(self):
        account = {"removed": [], "kept": ["volume (why)"], "stays": [self.STAYS]}
        (step,) = self.steps(self.CANCELLED, cleanUp0=account)
        assert step == (
            f"{VOLUME_ID} is not wanted? Unmount {DEVICE} on {INSTANCE_ID}, then: "
            f"aws ec2 detach-volume --volume-id {VOLUME_ID} && "
            f"aws ec2 wait volume-available --volume-ids {VOLUME_ID} && "
            f"aws ec2 delete-volume --volume-id {VOLUME_ID}"
        )
        assert len(step) <= 350, "Amazon Q Developer shows no more of a step"

    def test_a_volume_that_is_not_attached_is_deleted(self):
        account = {"removed": [], "kept": ["volume (why)"], "stays": [{"volumeId": VOLUME_ID}]}
        _again, step = self.steps(cleanUp0=account)
        assert step == f"{VOLUME_ID} is not wanted? aws ec2 delete-volume --volume-id {VOLUME_ID}"

    def test_of_many_volumes_a_few_are_named(self):
        account = {"removed": [], "kept": ["volumes (why)"], "stays": [self.STAYS] * 5}
        steps = self.steps(self.CANCELLED, cleanUp0=account)
        assert len(steps) == 3
        assert steps[-1] == "3 volumes more are deleted in the same way."

    def test_an_old_volume_that_is_back_in_its_place_is_not_to_be_deleted(self):
        account = {"removed": [f"volume {VOLUME_ID}"], "kept": ["volume vol-0: it is back in its place"]}
        assert self.steps(self.CANCELLED, cleanUp0=account) == []
