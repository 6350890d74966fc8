"""State Run Hook: the application comes back part by part, and no part runs twice unless it may."""

from __future__ import annotations

from datetime import timedelta

import pytest

from rewarm.contracts.after import Application
from rewarm.domain.errors import (
    AccessDeniedError,
    AgentUnreachableError,
    RequestRefusedError,
    ServiceUnavailableError,
    ThrottledError,
)
from rewarm.steps.record.application import note_document
from rewarm.steps.record.restore import RestoreNotes
from rewarm.steps.volume.run_hook import RunHookEvent, RunHookPorts, run_hook
from tests.support.builders import (
    INSTANCE_ID,
    NOW,
    RESTORE_ID,
    TO_INSTANCE,
    VOLUME_ID,
    World,
    assignment,
    at,
    instance,
    request,
)
from tests.support.wired import wired

MOUNT = {"path": "/srv/data", "options": "noatime"}
CHECK = {"url": "http://127.0.0.1:8080/health", "withinSeconds": 60}
DOCUMENT = {"name": "start-orders", "parameters": {"service": ["orders"]}}


def agent(seconds):
    """Where every command of Rewarm's own document finds the agent, for its delivery and its time limit."""
    key, sha256 = World().artifacts.agent(instance().platform, instance().architecture)
    url = World().artifacts.download_url(key, expires_seconds=120 + seconds)
    return {"agentUrl": [url], "agentSha256": [sha256]}


WHOLE = {"mounts": [MOUNT], "document": DOCUMENT, "healthCheck": CHECK}


class Restore:
    """A restore whose volumes are there, and the calls of its state Run Hook."""

    def __init__(self, after, volumes=1, **changes):
        self.world, self.seconds = World(), 0.0
        self.request = request(TO_INSTANCE, after=after, **changes)
        marks = {f"settled{index}": True for index in range(volumes)}
        marks |= {f"attached{index}": {"volumeId": VOLUME_ID} for index in range(volumes)}
        self.world.table.records[RESTORE_ID] = {"status": "initializing", "volumeCount": volumes, **marks}
        found = self.world.documents.add("start-orders")
        note_document(found, None, RestoreNotes(self.world.table, RESTORE_ID))
        self.hooks = self.world.hooks

    def look(self, index=0, seconds=5.0):
        self.seconds += seconds
        now = NOW + timedelta(seconds=self.seconds)
        self.hooks.clock = now
        event = RunHookEvent(
            restore_id=RESTORE_ID,
            now=now,
            request=self.request,
            volume=assignment(index=index),
            volume_id=VOLUME_ID,
        )
        return run_hook(event, wired(RunHookPorts, self.world))

    def run(self, most=20):
        """Looks until it is over; every command that is sent succeeds."""
        for _ in range(most):
            result = self.look()
            if result.finished:
                return result
            for number in range(1, len(self.hooks.sent) + 1):
                self.hooks.outcomes.setdefault(f"command-{number}", None) or self.hooks.finish(
                    f"command-{number}", stdout="all is well"
                )
        raise AssertionError("it is not over")

    @property
    def record(self):
        return self.world.table.records[RESTORE_ID]["application"]

    @property
    def part(self):
        return self.record["parts"][0]


class TestParts:
    def test_all_of_them_run_in_their_order_and_then_the_application_is_back(self):
        restore = Restore(WHOLE)
        assert restore.run().state == "back"
        calls = [(one, call.document, dict(call.parameters)) for one, call in restore.hooks.sent]
        assert calls == [
            (
                INSTANCE_ID,
                "rewarm-HookDocument",
                {
                    "action": ["mount"],
                    "volumeId": [VOLUME_ID],
                    "path": ["/srv/data"],
                    "options": ["noatime"],
                    "executionTimeout": ["120"],
                    **agent(120),
                },
            ),
            (INSTANCE_ID, "start-orders", {"service": ["orders"]}),
            (
                INSTANCE_ID,
                "rewarm-HookDocument",
                {
                    "action": ["check"],
                    "url": ["http://127.0.0.1:8080/health"],
                    "limitSeconds": ["60"],
                    "executionTimeout": ["120"],
                    **agent(120),
                },
            ),
        ]
        assert [part["state"] for part in restore.record["parts"]] == ["done"] * 3
        assert restore.record["parts"][1]["output"] == "all is well"

    def test_once_it_is_over_a_further_call_sends_nothing(self):
        restore = Restore(WHOLE)
        restore.run()
        assert restore.look().state == "back"
        assert len(restore.hooks.sent) == 3

    def test_a_part_that_fails_ends_it_with_its_last_words(self):
        restore = Restore(WHOLE)
        restore.look()
        restore.hooks.finish("command-1", "Failed", exit_code=75, stderr="warmer: /srv/data is not empty\n")
        result = restore.look()
        assert (result.finished, result.state) == (True, "failed")
        assert (restore.part["state"], restore.part["reason"]) == ("failed", "/srv/data is not empty")
        assert len(restore.hooks.sent) == 1

    @pytest.mark.parametrize(
        ("errors", "reason"),
        [
            ("no such service\nfailed to run commands: exit status 5", "no such service"),
            ("failed to run commands: exit status 5", "exit status 5"),
            ("", "exit status 5"),
        ],
    )
    def test_the_line_that_the_ssm_agent_adds_is_no_reason(self, errors, reason):
        restore = Restore({"document": DOCUMENT})
        restore.look()
        restore.hooks.finish("command-1", "Failed", exit_code=5, stderr=errors)
        restore.look()
        assert restore.part["reason"] == reason

    def test_of_megabytes_of_output_the_end_is_kept(self):
        restore = Restore({"document": DOCUMENT})
        restore.look()
        restore.hooks.finish("command-1", stdout="line\n" * 1_000_000 + "the end")
        restore.look()
        assert len(restore.part["output"]) == 4_096
        assert restore.part["output"].endswith("the end")

    def test_blanks_around_an_output_do_not_keep_the_record_from_its_next_change(self):
        restore = Restore(WHOLE)
        restore.look()
        restore.hooks.finish("command-1", stdout="a\n\n\n" + "x" * 1_022)
        restore.look()
        restore.look()
        assert len(restore.hooks.sent) == 2

    def test_a_part_that_hangs_is_cancelled_after_its_time(self):
        restore = Restore({"document": {**DOCUMENT, "timeLimitSeconds": 60}})
        restore.look()
        assert not restore.look(seconds=200).finished
        result = restore.look(seconds=200)
        assert (result.state, restore.hooks.cancelled) == ("failed", ["command-1"])
        assert restore.part["reason"] == "it did not end within 60 s, and its cancellation was asked for"

    def test_one_that_cannot_be_cancelled_is_said_so(self):
        restore = Restore({"document": {**DOCUMENT, "timeLimitSeconds": 60}})
        restore.look()
        restore.hooks.refusal = AccessDeniedError("no")
        assert restore.look(seconds=400).state == "failed"
        assert restore.part["reason"].endswith("and could not be cancelled")

    def test_what_ec2_does_not_say_leaves_a_part_its_time(self, monkeypatch):
        restore = Restore({"document": DOCUMENT})
        restore.look()

        def refuse(_instance_id):
            raise AccessDeniedError("no")

        monkeypatch.setattr(restore.world.instances, "get", refuse)
        assert not restore.look(seconds=180).finished


class TestWhen:
    def test_nothing_runs_before_all_volumes_are_at_full_speed(self):
        restore = Restore(WHOLE, volumes=2)
        del restore.world.table.records[RESTORE_ID]["settled1"]
        result = restore.look()
        assert (result.finished, result.state, restore.hooks.sent) == (True, None, [])
        assert "application" not in restore.world.table.records[RESTORE_ID]

    def test_with_attached_nothing_runs_before_all_volumes_are_attached(self):
        restore = Restore({**WHOLE, "when": "attached", "mounts": []}, volumes=2)
        record = restore.world.table.records[RESTORE_ID]
        del record["settled0"], record["settled1"], record["attached1"]
        assert restore.look().state is None
        record["attached1"] = {"volumeId": VOLUME_ID}
        assert restore.look().state == "running"

    def test_the_execution_of_one_volume_runs_it_and_the_others_continue(self):
        restore = Restore(WHOLE, volumes=2)
        assert restore.look(1).state == "running"
        assert restore.look(0).finished
        assert restore.record["index"] == 1

    def test_a_cancelled_restore_begins_nothing(self):
        restore = Restore(WHOLE)
        restore.world.table.records[RESTORE_ID]["cancelRequested"] = True
        assert restore.look().state is None

    def test_a_cancellation_ends_the_part_that_runs(self):
        restore = Restore({**WHOLE, "when": "attached"})
        restore.look()
        restore.world.table.records[RESTORE_ID]["cancelRequested"] = True
        assert restore.look().state == "failed"
        assert restore.hooks.cancelled == ["command-1"]
        assert restore.record["reason"] == "the restore was cancelled"

    def test_a_record_that_is_lost_begins_nothing(self):
        restore = Restore(WHOLE)
        del restore.world.table.records[RESTORE_ID]
        assert restore.look().state is None
        assert restore.hooks.sent == []

    def test_of_several_volumes_a_mount_gets_the_one_at_its_device(self):
        restore = Restore({"mounts": [{"device": "/dev/sdg", "path": "/srv/data"}]}, volumes=2)
        restore.world.instances.add(instance(devices={"/dev/sdg": "vol-00000000000000009"}))
        restore.look()
        assert restore.hooks.sent[0][1].parameters["volumeId"] == ["vol-00000000000000009"]


class TestOnce:
    def lost(self, **more):
        restore = Restore({"document": {**DOCUMENT, **more}})
        restore.hooks.lost_answer = True
        with pytest.raises(ServiceUnavailableError):
            restore.look()
        return restore

    def test_a_command_whose_answer_was_lost_is_found_and_not_sent_again(self):
        restore = self.lost()
        assert restore.run().state == "back"
        assert len(restore.hooks.sent) == 1

    def test_one_that_is_not_shown_yet_is_waited_for(self):
        restore = self.lost()
        restore.hooks.is_hidden = True
        assert not restore.look(seconds=10).finished
        restore.hooks.is_hidden = False
        assert restore.run().state == "back"
        assert len(restore.hooks.sent) == 1

    def test_one_that_nobody_can_know_of_is_not_sent_again(self):
        restore = self.lost()
        restore.hooks.is_hidden = True
        result = restore.look(seconds=60)
        assert (result.finished, result.state) == (True, "unknown")
        assert "without mayRunTwice" in restore.record["reason"]
        assert len(restore.hooks.sent) == 1

    def test_one_that_may_run_twice_is_sent_again(self):
        restore = self.lost(mayRunTwice=True)
        restore.hooks.is_hidden = True
        restore.look(seconds=60)
        restore.hooks.is_hidden = False
        assert restore.run().state == "back"
        assert len(restore.hooks.sent) == 2

    def test_a_mount_is_sent_again(self):
        restore = Restore({"mounts": [MOUNT]})
        restore.hooks.lost_answer = True
        with pytest.raises(ServiceUnavailableError):
            restore.look()
        restore.hooks.is_hidden = True
        restore.look(seconds=60)
        assert (restore.part["state"], restore.part["since"]) == ("waiting", "2026-11-21T03:00:05Z"), (
            "perhaps sent"
        )
        restore.look()
        assert len(restore.hooks.sent) == 2

    def test_a_cancellation_ends_a_command_whose_answer_was_lost(self):
        restore = self.lost()
        restore.world.table.records[RESTORE_ID]["cancelRequested"] = True
        restore.hooks.is_hidden = True
        assert not restore.look(seconds=10).finished
        restore.hooks.is_hidden = False
        assert restore.look().state == "failed"
        assert (restore.hooks.cancelled, restore.part["commandId"]) == (["command-1"], "command-1")

    def test_a_cancellation_says_if_nobody_can_know_of_the_command(self):
        restore = self.lost(mayRunTwice=True)
        restore.world.table.records[RESTORE_ID]["cancelRequested"] = True
        restore.hooks.is_hidden = True
        assert restore.look(seconds=60).state == "unknown"
        assert restore.record["reason"] == (
            "the restore was cancelled, and nobody can know whether it was sent"
        )
        assert (restore.part["state"], len(restore.hooks.sent)) == ("unknown", 1)

    def test_a_command_that_is_sent_while_the_restore_is_cancelled_is_cancelled_at_once(self, monkeypatch):
        restore = Restore({"document": DOCUMENT})
        send = restore.hooks.send

        def send_late(*named, **more):
            restore.world.table.records[RESTORE_ID]["cancelRequested"] = True
            return send(*named, **more)

        monkeypatch.setattr(restore.hooks, "send", send_late)
        assert not restore.look().finished
        assert restore.hooks.cancelled == ["command-1"]
        assert restore.look().state == "failed"
        assert restore.record["reason"] == "the restore was cancelled"

    def test_a_write_whose_answer_was_lost_counts(self, monkeypatch):
        """Botocore writes again, and DynamoDB refuses that."""
        restore = Restore(WHOLE)
        write = restore.world.table.replace_value

        def write_twice(*named, was):
            write(*named, was=was)
            return write(*named, was=was)

        monkeypatch.setattr(restore.world.table, "replace_value", write_twice)
        assert restore.run().state == "back"
        assert len(restore.hooks.sent) == 3

    def test_where_another_call_has_begun_it_this_one_continues(self, monkeypatch):
        restore = Restore(WHOLE)
        write = restore.world.table.replace_value

        def write_later(restore_id, name, value, *, was):
            if was is None:
                write(restore_id, name, {**value, "startedAt": "2026-11-21T02:59:00Z"}, was=None)
            return write(restore_id, name, value, was=was)

        monkeypatch.setattr(restore.world.table, "replace_value", write_later)
        assert restore.look().state == "running"
        assert (restore.record["startedAt"], len(restore.hooks.sent)) == ("2026-11-21T02:59:00Z", 1)

    def test_of_two_calls_that_note_a_part_one_sends_it(self, monkeypatch):
        restore = Restore(WHOLE)
        write = restore.world.table.replace_value

        def write_later(restore_id, name, value, *, was):
            if was is not None:
                other = {**value["parts"][0], "since": "2026-11-21T03:00:04Z"}
                write(restore_id, name, {**value, "parts": [other, *value["parts"][1:]]}, was=was)
            return write(restore_id, name, value, was=was)

        monkeypatch.setattr(restore.world.table, "replace_value", write_later)
        assert restore.look().state == "running"
        assert restore.hooks.sent == []

    def test_a_command_that_was_throttled_was_not_sent(self):
        restore = Restore({"document": DOCUMENT})
        restore.hooks.failure = ThrottledError("Rate exceeded")
        with pytest.raises(ThrottledError):
            restore.look()
        assert restore.part["state"] == "waiting"

    def test_where_somebody_changes_the_record_it_ends_after_its_time(self):
        restore = Restore({"document": DOCUMENT})
        restore.look()
        assert restore.look(seconds=3 * 3_600).state == "unknown"


class TestDocument:
    def refused(self, restore):
        assert restore.look().state == "failed"
        assert restore.hooks.sent == []
        return restore.part["reason"]

    def test_the_version_that_was_there_at_the_beginning_is_sent_with_its_hash(self):
        restore = Restore({"document": DOCUMENT})
        restore.world.documents.add("start-orders")
        restore.look()
        call = restore.hooks.sent[0][1]
        assert (call.version, call.sha256) == ("1", "sha-start-orders-1")

    def test_one_that_was_deleted_meanwhile_is_not_sent(self):
        restore = Restore({"document": DOCUMENT})
        del restore.world.documents.known["start-orders"]
        assert "was deleted after the restore began" in self.refused(restore)

    def test_one_that_was_replaced_meanwhile_is_not_sent(self):
        restore = Restore({"document": DOCUMENT})
        restore.world.documents.known["start-orders"] = []
        restore.world.documents.add("start-orders", sha256="another")
        assert "was replaced after the restore began" in self.refused(restore)

    def test_one_whose_tag_was_taken_off_is_not_sent(self):
        restore = Restore({"document": DOCUMENT})
        restore.world.documents.known["start-orders"] = []
        restore.world.documents.add("start-orders", tags={})
        assert "lacks the tag rewarm:hooks with the value rewarm" in self.refused(restore)

    def test_what_was_wrong_at_the_beginning_is_said_at_the_end(self):
        restore = Restore({"document": DOCUMENT})
        note_document(None, "there was none", RestoreNotes(restore.world.table, RESTORE_ID))
        assert self.refused(restore) == "there was none"

    def test_where_iam_refuses_it_that_is_said(self):
        restore = Restore({"document": DOCUMENT})
        restore.hooks.failure = AccessDeniedError("no")
        assert "may not send the document start-orders" in self.refused(restore)
        assert restore.part["since"] is None, "it was not sent"

    def test_what_systems_manager_refuses_fails(self):
        restore = Restore({"document": DOCUMENT})
        restore.hooks.failure = RequestRefusedError("SendCommand: InvalidParameters")
        assert "InvalidParameters" in self.refused(restore)


class TestInstance:
    def test_one_that_is_away_is_waited_for(self):
        restore = Restore({"document": {**DOCUMENT, "timeLimitSeconds": 10}})
        restore.world.instances.add(instance(ssm_online=False))
        assert not restore.look(seconds=60).finished
        assert not restore.look(seconds=500).finished
        assert restore.look(seconds=200).state == "failed"
        assert "was not online in Systems Manager" in restore.part["reason"]

    @pytest.mark.parametrize("looks", [1, 3])
    def test_only_the_time_after_it_was_found_away_counts(self, looks):
        """Before that, every call was throttled for an hour."""
        restore = Restore({"document": {**DOCUMENT, "timeLimitSeconds": 10}})
        restore.hooks.failure = ThrottledError("slow down")
        with pytest.raises(ThrottledError):
            restore.look()
        restore.hooks.failure = None
        restore.world.instances.add(instance(ssm_online=False))
        restore.seconds += 3_600
        for _ in range(looks):
            assert not restore.look(seconds=60).finished
        restore.world.instances.add(instance())
        restore.look()
        assert (restore.part["state"], restore.part.get("awaySince")) == ("running", None)

    def test_the_time_for_all_of_it_has_the_waits_for_the_instance(self):
        restore = Restore({"document": {**DOCUMENT, "timeLimitSeconds": 43_200}})
        restore.world.instances.add(instance(ssm_online=False))
        assert not restore.look().finished
        assert not restore.look(seconds=43_000).finished
        restore.world.instances.add(instance())
        restore.look(seconds=0)
        assert restore.look(seconds=7_200).state == "running"
        restore.hooks.finish("command-1")
        assert restore.look().state == "back"

    def test_one_that_ssm_refuses_now_is_asked_again(self):
        restore = Restore({"document": DOCUMENT})
        restore.hooks.failure = AgentUnreachableError("InvalidInstanceId")
        assert not restore.look().finished
        restore.hooks.failure = None
        assert restore.run().state == "back"

    def test_one_that_is_terminated_fails_the_part(self):
        restore = Restore({"document": DOCUMENT})
        restore.look()
        restore.world.instances.add(instance(state="terminated", ssm_online=False))
        assert restore.look(seconds=180).state == "failed"
        assert "terminated" in restore.part["reason"]

    def test_the_longer_a_part_takes_the_longer_are_the_waits(self):
        restore = Restore({"document": DOCUMENT})
        assert restore.look().wait_seconds == 2
        assert restore.look(seconds=100).wait_seconds == 10
        assert restore.look(seconds=400).wait_seconds == 30
        assert at(0) == NOW


class TestDrills:
    DRILL = {"runbook": "rewarm-orders", "after": True}

    def restore(self):
        return Restore(WHOLE, drill=self.DRILL)

    def test_at_its_end_the_volume_is_unmounted(self):
        restore = self.restore()
        assert restore.run().state == "back"
        _, call = restore.hooks.sent[-1]
        assert call.document == "rewarm-HookDocument"
        assert dict(call.parameters) == {
            "action": ["unmount"], "volumeId": [VOLUME_ID], "executionTimeout": ["180"], **agent(180),
        }  # fmt: skip

    def test_it_is_unmounted_after_a_part_that_failed_and_the_failure_is_what_counts(self):
        restore = self.restore()
        restore.look()
        restore.hooks.finish("command-1", stdout="mounted")
        restore.look()
        restore.look()
        restore.hooks.finish("command-2", "Failed", exit_code=5, stderr="no such service\n")
        result = restore.run()
        assert result.state == "failed"
        assert restore.record["reason"] == "no such service"
        assert [part["state"] for part in restore.record["parts"]] == ["done", "failed", "waiting", "done"]

    def test_it_is_unmounted_after_a_cancellation(self):
        restore = self.restore()
        restore.look()
        restore.world.table.records[RESTORE_ID]["cancelRequested"] = True
        assert restore.run().state == "failed"
        assert restore.record["reason"] == "the restore was cancelled"
        assert restore.record["parts"][-1]["state"] == "done"

    def failed(self):
        """A drill whose document failed, and which unmounts."""
        restore = self.restore()
        restore.look()
        restore.hooks.finish("command-1", stdout="mounted")
        restore.look()
        restore.look()
        restore.hooks.finish("command-2", "Failed", exit_code=5)
        restore.look()
        restore.look()
        assert [part["state"] for part in restore.record["parts"]] == ["done", "failed", "waiting", "running"]
        restore.world.table.records[RESTORE_ID]["cancelRequested"] = True
        return restore

    def test_a_cancellation_does_not_end_the_unmounting(self):
        restore = self.failed()
        restore.look()
        assert restore.hooks.cancelled == []
        assert restore.run().state == "failed"
        assert restore.record["parts"][-1]["state"] == "done"

    def test_a_cancelled_drill_is_over_after_all_its_time(self):
        restore = self.failed()
        assert restore.look(seconds=100_000).state == "unknown"
        assert restore.record["reason"].startswith("it was not over after")

    def test_the_application_was_back_before_the_volume_was_unmounted(self):
        restore = self.restore()
        restore.run()
        application = Application.model_validate(restore.record)
        assert application.back_at == application.parts[-2].ended_at
        assert application.back_at < application.finished_at
