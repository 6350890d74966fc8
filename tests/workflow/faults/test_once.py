"""Once only: however often a request, an event or a call arrives; and stopped when somebody says so."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from local.aws.region.faults import FaultRule
from tests.support.stack.restores import RestoreUser, request_for, start_slow_agent, texts, unique

Json = dict[str, Any]
ATTEMPTS_OF_BOTO3 = 3


def to_zone(user: RestoreUser, strategy: str = "background") -> Json:
    """The quickest restore: no instance, so nothing is measured."""
    return request_for(user, strategy) | user.to_zone


# -------------------------------------------------------------------------------------- Idempotency-Key
def test_the_same_key_and_request_start_one_restore(user: RestoreUser) -> None:
    request, key, executions = to_zone(user), unique("key"), user.executions()
    first = user.call("POST", "/restores", request, Idempotency_Key=key)
    again = user.call("POST", "/restores", request, Idempotency_Key=key)
    assert (first.status, again.status) == (202, 202), (first, again)
    assert first.body == again.body
    done = user.finished(first.body["restoreId"])
    assert done.main.status == "SUCCEEDED", done.why
    after = user.call("POST", "/restores", request, Idempotency_Key=key)
    assert (after.status, after.body["restoreId"]) == (202, done.restore_id)
    assert [name for name in user.executions() if name not in executions] == [done.restore_id]
    assert user.left() == {"volumes": [done.volumes[0].output["volumeId"]]}


def test_the_same_key_at_the_same_moment_starts_one_restore(user: RestoreUser) -> None:
    request, key, executions = to_zone(user), unique("key"), user.executions()
    answers: list[tuple[int, Json]] = []

    def post() -> None:
        answer = user.call("POST", "/restores", request, Idempotency_Key=key)
        answers.append((answer.status, answer.body))

    threads = [threading.Thread(target=post) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    accepted = {body["restoreId"] for status, body in answers if status == 202}
    refused = [body["error"] for status, body in answers if status != 202]
    assert len(accepted) == 1, answers
    assert set(refused) <= {"IdempotencyConflictError"}, answers
    (restore_id,) = accepted
    assert user.finished(restore_id).main.status == "SUCCEEDED"
    assert [name for name in user.executions() if name not in executions] == [restore_id]


@pytest.mark.long
def test_the_same_key_with_another_request_is_refused(user: RestoreUser) -> None:
    request, key = to_zone(user), unique("key")
    restore_id = user.start(request, Idempotency_Key=key)
    executions = user.executions()
    other = request | {"target": {"availabilityZone": user.other_zone}}
    answer = user.call("POST", "/restores", other, Idempotency_Key=key)
    assert (answer.status, answer.body["error"], answer.body["field"]) == (
        409,
        "IdempotencyConflictError",
        "Idempotency-Key",
    ), answer
    assert user.executions() == executions
    assert user.finished(restore_id).main.status == "SUCCEEDED"


@pytest.mark.long
def test_a_refused_request_does_not_use_up_its_key(user: RestoreUser) -> None:
    request, key = to_zone(user), unique("key")
    missing = request | {"source": {"snapshotId": "snap-0123456789abcdef0"}}
    assert user.call("POST", "/restores", missing, Idempotency_Key=key).status == 404
    assert user.finished(user.start(request, Idempotency_Key=key)).main.status == "SUCCEEDED"


@pytest.mark.long
def test_without_a_key_each_request_is_a_restore(user: RestoreUser) -> None:
    request = to_zone(user)
    first, second = user.start(request), user.start(request)
    assert first != second
    assert {user.finished(one).main.status for one in (first, second)} == {"SUCCEEDED"}


# --------------------------------------------------------------------------------------------- deliveries
def test_an_event_delivered_twice_restores_once(user: RestoreUser) -> None:
    alarm = unique("rewarm-orders")
    user.runbook(alarm, to_zone(user))
    (first,) = user.alarm(alarm)
    (second,) = user.deliver_again()
    done, ignored = user.finished(first), user.finished(second)
    if ignored.main.states[-1] != "Duplicate Ignored":  # the second delivery may be the first to be read
        done, ignored = ignored, done
    assert (done.main.status, done.main.states[-1]) == ("SUCCEEDED", "Restore Completed")
    assert (ignored.main.status, ignored.main.states[-1]) == ("SUCCEEDED", "Duplicate Ignored")
    assert ignored.main.output == {"verdict": "duplicate", "duplicateOf": done.restore_id}
    assert ignored.volumes == ()
    assert user.messages(ignored.restore_id) == []
    assert user.left() == {"volumes": [done.volumes[0].output["volumeId"]]}


def test_an_alarm_that_flaps_restores_once(user: RestoreUser) -> None:
    """ALARM, OK, ALARM: another event, the same disaster."""
    alarm = unique("rewarm-orders")
    user.runbook(alarm, to_zone(user))
    (first,) = user.alarm(alarm)
    assert user.alarm(alarm, "OK") == []
    (second,) = user.alarm(alarm)
    done, ignored = user.finished(first), user.finished(second)
    if ignored.main.states[-1] != "Duplicate Ignored":  # the later event may be the first to be read
        done, ignored = ignored, done
    assert done.main.states[-1] == "Restore Completed", done.why
    (third,) = user.alarm(alarm)
    for one in (ignored, user.finished(third)):
        assert one.main.output == {"verdict": "suppressed", "duplicateOf": done.restore_id}
        assert (one.record["status"], one.record["duplicateOf"]) == ("suppressed", done.restore_id)
        assert user.messages(one.restore_id) == []
    assert user.left() == {"volumes": [done.volumes[0].output["volumeId"]]}


@pytest.mark.long
def test_an_alarm_that_goes_off_again_after_the_cooldown_restores_again(user: RestoreUser) -> None:
    """Another event is another disaster."""
    alarm = unique("rewarm-orders")
    user.runbook(alarm, to_zone(user) | {"alarmCooldownMinutes": 0})
    for _ in range(2):
        (started,) = user.alarm(alarm)
        assert user.finished(started).main.states[-1] == "Restore Completed"


@pytest.mark.long
def test_a_run_of_a_schedule_that_is_started_twice_restores_once(user: RestoreUser) -> None:
    trigger = {"kind": "schedule", "scheduleName": unique("drill"), "scheduledAt": "2026-11-21T03:00:00Z"}
    told = {"request": to_zone(user), "trigger": trigger}
    first, second = (user.finished(user.start_execution(told)) for _ in range(2))
    assert first.main.states[-1] == "Restore Completed", first.why
    assert second.main.output == {"verdict": "duplicate", "duplicateOf": first.restore_id}
    later = told | {"trigger": trigger | {"scheduledAt": "2026-12-21T03:00:00Z"}}
    assert user.finished(user.start_execution(later)).main.states[-1] == "Restore Completed"


# ---------------------------------------------------------------------------------------- lost answers
@pytest.mark.long
def test_a_lost_answer_of_create_volume_makes_one_volume(user: RestoreUser) -> None:
    """boto3 tries again by itself, with the same client token."""
    request = to_zone(user)
    user.region.faults.inject("create-answer-lost")
    done = user.restore(request)
    assert done.main.status == "SUCCEEDED", done.why
    assert user.left() == {"volumes": [done.volumes[0].output["volumeId"]]}


@pytest.mark.long
def test_a_retried_create_volume_makes_one_volume(user: RestoreUser) -> None:
    """Every answer to the first run of the state is lost, so Step Functions runs it again."""
    request = to_zone(user)
    lost = FaultRule("CreateVolume", "lost-answer", code="InternalError", status=500, times=ATTEMPTS_OF_BOTO3)
    user.region.faults.add(lost)
    done = user.restore(request)
    assert done.main.status == "SUCCEEDED", done.why
    (created,) = [visit for visit in done.volumes[0].visits if visit.state == "Create Volume"]
    assert [words.split(":")[0] for words in created.failures] == ["ServiceUnavailableError"]
    assert user.left() == {"volumes": [done.volumes[0].output["volumeId"]]}


def test_what_was_made_is_found_when_every_answer_was_lost(user: RestoreUser) -> None:
    """The volume's id never arrived: clean-up finds the volume by its tag."""
    request = to_zone(user)
    denied = "You are not authorized to perform this operation."
    user.region.faults.add(
        FaultRule("CreateVolume", "lost-answer", code="UnauthorizedOperation", message=denied, status=403)
    )
    done = user.restore(request)
    assert (done.main.status, done.main.error) == ("FAILED", "AccessDeniedError")
    assert user.left() == {}
    assert "Removed: volume vol-" in texts(user.messages(done.restore_id)[-1])


@pytest.mark.long
def test_a_lost_answer_of_send_command_still_reads_everything(user: RestoreUser) -> None:
    """SendCommand has no client token: a second agent meets the first one on the device."""
    request = request_for(user, "warm-up-agent") | {"verify": {"samples": 0}}
    user.region.faults.add(FaultRule("SendCommand", "lost-answer", code="InternalServerError", status=500))
    done = user.restore(request)
    assert done.main.status == "SUCCEEDED", done.why
    counters = user.counters(done.volumes[0].output["volumeId"])
    assert counters.read_blocks == counters.written_blocks
    assert user.new("commands") == []


# ---------------------------------------------------------------------------------------------- cancel
@pytest.mark.long
def test_cancel_before_the_volume_leaves_nothing(user: RestoreUser) -> None:
    request = request_for(user, "fast-snapshot-restore")
    with user.lab.clock.busy():  # the wait for the snapshot lasts as long as on AWS
        restore_id = user.start(request)
        user.wait_for_state(restore_id, "Wait For Snapshot")
        answer = user.call("DELETE", f"/restores/{restore_id}")
        assert (answer.status, answer.body["cancelRequested"]) == (202, True)
    done = user.finished(restore_id)
    assert (done.main.status, done.main.error) == ("FAILED", "RestoreCancelledError")
    assert "Create Volume" not in done.volumes[0].states
    assert done.volumes[0].states[-2:] == ["Clean Up", "Volume Failed"]
    assert (done.record["status"], user.left()) == ("cancelled", {})
    said = texts(user.messages(restore_id)[-1])
    assert said.startswith("⚠️ Restore cancelled")
    assert "fast snapshot restore of" in said
    assert "Nothing was left behind." in said


def test_cancel_of_a_volume_in_use_keeps_it(user: RestoreUser) -> None:
    """It was announced as usable: it may hold new data by now."""
    request = request_for(user, "provisioned-rate") | {"verify": {"samples": 0}}
    with user.lab.clock.busy():
        restore_id = user.start(request)
        user.wait_for_state(restore_id, "Wait For Initialization")
        assert user.call("DELETE", f"/restores/{restore_id}").status == 202
    done = user.finished(restore_id)
    assert (done.main.status, done.main.error) == ("FAILED", "RestoreCancelledError")
    (volume_id,) = user.volumes_of(restore_id)
    assert user.volume(volume_id)["Tags"]["rewarm:failed"] == restore_id
    said = texts(user.messages(restore_id)[-1])
    (attachment,) = user.volume(volume_id)["Attachments"]
    place = f"{attachment['Device']} on {attachment['InstanceId']}"
    assert f"Left behind: volume {volume_id}, still {place} (" in said
    assert f"unmount {place}, then run: aws ec2 detach-volume --volume-id {volume_id}" in said


def test_cancel_ends_the_agent(user: RestoreUser) -> None:
    restore_id = start_slow_agent(user)
    live = user.call("GET", f"/restores/{restore_id}").body
    assert live["status"] == "initializing"
    assert user.call("DELETE", f"/restores/{restore_id}").status == 202
    done = user.finished(restore_id)
    assert (done.main.status, done.main.error) == ("FAILED", "RestoreCancelledError")
    assert user.new("commands") == []


def test_cancel_wakes_who_waits_for_an_event(user: RestoreUser) -> None:
    """The wait would last many minutes of lab time, and the clock is held at its own speed."""
    request = request_for(user, "fast-snapshot-restore")
    request["source"] = {"snapshotId": user.snapshot(size_gib=512)}
    user.mark()
    with user.lab.clock.busy():
        restore_id = user.start(request)
        user.wait_for_state(restore_id, "Await Signal Of Snapshot")
        assert user.call("DELETE", f"/restores/{restore_id}").status == 202
        done = user.finished(restore_id)
    (wait,) = [one for one in done.volumes[0].visits if one.state == "Await Signal Of Snapshot"]
    assert wait.left_at - wait.entered_at < done.volumes[0].answer("Prepare Snapshot")["waitSeconds"]
    assert done.main.error == "RestoreCancelledError", done.why
    assert (done.record["status"], user.left()) == ("cancelled", {})


@pytest.mark.parametrize("phase", ["Before", pytest.param("After", marks=pytest.mark.long)])
def test_cancel_ends_a_measurement(user: RestoreUser, phase: str) -> None:
    """Of a volume that is in use, so it stays; twice is the same as once."""
    request = request_for(user, "background") | {"verify": {"samples": 10_000, "maxP99Ms": 2_000}}
    restore_id = user.start(request)
    user.wait_for_state(restore_id, f"Wait For Measurement {phase}")
    answers = [user.call("DELETE", f"/restores/{restore_id}") for _ in range(2)]
    assert [one.status for one in answers] == [202, 202]
    done = user.finished(restore_id)
    assert done.main.error == "RestoreCancelledError", done.why
    assert done.record["status"] == "cancelled"
    assert user.new("commands") == []
    assert user.call("DELETE", f"/restores/{restore_id}").status == 202
    (volume_id,) = user.volumes_of(restore_id)
    assert user.volume(volume_id)["Tags"]["rewarm:failed"] == restore_id


@pytest.mark.long
def test_cancel_after_the_end_is_refused(user: RestoreUser) -> None:
    done = user.restore(to_zone(user))
    answer = user.call("DELETE", f"/restores/{done.restore_id}")
    assert (answer.status, answer.body["error"]) == (409, "RestoreEndedError")
    assert "it is ready" in answer.body["message"]
    assert user.left() == {"volumes": [done.volumes[0].output["volumeId"]]}
