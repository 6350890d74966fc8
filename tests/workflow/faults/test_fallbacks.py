"""When a plan cannot be carried out, the next best takes over: on a new volume or on the one in use."""

from __future__ import annotations

from typing import Any

import pytest

from local.aws.region.faults import FaultRule
from tests.support.stack.endings import assert_failed, assert_kept
from tests.support.stack.restores import Restore, RestoreUser, request_for, texts

Json = dict[str, Any]
ONCE = {"verify": {"samples": 0}}


def decisions(done: Restore) -> list[tuple[str, str]]:
    """How each failure was answered, and by which strategy."""
    answers = done.volumes[0].answers("Choose Fallback")
    return [(one["how"], one["plan"]["strategy"]) for one in answers]


def told(user: RestoreUser, done: Restore) -> list[str]:
    """The messages about other plans."""
    said = [texts(one) for one in user.messages(done.restore_id)]
    return [one for one in said if "continuing with" in one]


def delivery_fails(user: RestoreUser) -> None:
    user.region.faults.add(FaultRule("command:delivery", "drop", times=None))


def send_command_refused(user: RestoreUser) -> None:
    """The SSM agent has gone since the plan was made."""
    user.region.faults.add(FaultRule("SendCommand", code="InvalidInstanceId", times=None))


@pytest.mark.parametrize("lost", [delivery_fails, pytest.param(send_command_refused, marks=pytest.mark.long)])
def test_a_volume_in_use_whose_agent_is_out_of_reach_is_left_to_aws(user: RestoreUser, lost: Any) -> None:
    """Its own volume stays; it is ready once EC2 says so, and nobody could measure it."""
    request = request_for(user, "auto")
    lost(user)
    done = user.restore(request)
    assert done.main.status == "SUCCEEDED", done.why
    assert done.record["plans"][0]["plan"]["strategy"] == "warm-up-agent"
    assert decisions(done) == [("same-volume", "background")]
    volume = done.volumes[0]
    assert volume.states.count("Create Volume") == 1
    assert (volume.output["strategy"], volume.output["after"]["verdict"]) == ("background", "unmeasured")
    assert volume.output["initialization"]["signals"]["initializationProgress"] == 100
    (volume_id,) = user.volumes_of(done.restore_id)
    instance_id = request["target"]["instanceId"]
    assert user.left() == {"volumes": [volume_id], "attachments": [f"{volume_id}:{instance_id}"]}
    assert "rewarm:failed" not in user.volume(volume_id)["Tags"]
    (said,) = told(user, done)
    assert "Takes over from warm-up-agent, on the same volume" in said
    assert [one["event"] for one in done.record["events"]] == ["plan", "attached", "fallback", "ready"]
    assert done.record["volumes"][0]["fallback"]["error"] == "AgentUnreachableError"


@pytest.mark.long
def test_a_standstill_of_a_volume_in_a_zone_is_left_to_aws_on_the_same_volume(user: RestoreUser) -> None:
    """Somebody may have attached it and written to it: it was announced, so no plan gives it up."""
    request = request_for(user, "auto", readyWithinMinutes=60) | user.to_zone
    user.region.faults.add(FaultRule("volume:initialization", "stall", times=1))
    done = user.restore(request)
    assert_failed(user, done, "InitializationStalledError", "no progress", "so it stays")
    assert decisions(done) == [("same-volume", "background"), ("none", "background")]
    assert done.volumes[0].states.count("Create Volume") == 1
    assert "on the same volume: full speed within" in told(user, done)[0]
    assert_kept(user, done)
    events = [one["event"] for one in done.record["events"]]
    assert events == ["plan", "available", "fallback", "failed"]


@pytest.mark.long
def test_a_rate_that_cannot_be_had_makes_the_volume_with_the_next_plan(user: RestoreUser) -> None:
    """Nothing was made yet, and nobody was told of a volume."""
    request = request_for(user, "auto", readyWithinMinutes=60) | user.to_zone
    user.region.faults.inject("rate-refused")
    done = user.restore(request)
    assert done.main.status == "SUCCEEDED", done.why
    *asked_again, (how, strategy) = decisions(done)
    assert {one for one, _ in asked_again} == {"same-plan-later"}
    assert how == "new-volume"
    (volume_id,) = user.volumes_of(done.restore_id)
    assert user.left()["volumes"] == [volume_id]
    assert user.volume(volume_id)["Tags"]["rewarm:strategy"] == strategy
    assert "with a new volume: full speed within" in told(user, done)[0]


@pytest.mark.long
def test_a_strict_request_has_no_time_for_another_plan(user: RestoreUser) -> None:
    """It takes half an hour to call it a standstill."""
    request = request_for(user, "auto", readyWithinMinutes=35, strict=True) | user.to_zone
    user.region.faults.add(FaultRule("volume:initialization", "stall", times=1))
    done = user.restore(request)
    said = assert_failed(user, done, "InitializationStalledError", "no progress", "No other plan")
    assert decisions(done)[0][0] == "none"
    assert assert_kept(user, done) in said


@pytest.mark.long
def test_a_rate_that_is_free_again_is_taken_where_nothing_else_is_in_time(user: RestoreUser) -> None:
    request = request_for(user, "provisioned-rate", readyWithinMinutes=60) | user.to_zone
    code = "VolumeLimitExceeded"
    user.region.faults.add(
        FaultRule("CreateVolume", code=code, times=2, when={"VolumeInitializationRate": "*"})
    )
    done = user.restore(request)
    assert done.main.status == "SUCCEEDED", done.why
    assert decisions(done) == [("same-plan-later", "provisioned-rate")] * 2
    assert told(user, done) == []
    assert len(user.volumes_of(done.restore_id)) == 1


@pytest.mark.long
def test_what_another_plan_would_cost_more_than_is_left_does_not_take_over(user: RestoreUser) -> None:
    request = request_for(user, "auto", readyWithinMinutes=60, maxCostUsd="0.01") | user.to_zone
    user.region.faults.inject("rate-refused")
    done = user.restore(request)
    assert done.main.status == "SUCCEEDED", done.why
    *asked_again, last = decisions(done)
    assert set(asked_again) == {("same-plan-later", "provisioned-rate")}
    assert last == ("new-volume", "background")


@pytest.mark.long
def test_a_command_that_is_out_of_reach_when_it_is_to_be_ended_does_not_stop_the_next_plan(
    user: RestoreUser,
) -> None:
    """CancelCommand is throttled at first: the clean-up between two plans is retried."""
    request = request_for(user, "auto") | ONCE
    delivery_fails(user)
    user.region.faults.add(FaultRule("CancelCommand", code="ThrottlingException", times=12))
    done = user.restore(request)
    assert done.main.status == "SUCCEEDED", done.why
    assert done.volumes[0].states.count("Clean Up Attempt") == 1
    assert user.new("commands") == []
