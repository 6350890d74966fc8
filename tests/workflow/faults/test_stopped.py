"""Executions that meet no Catch: the sweeper ends what they leave, on Step Functions' own event."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.stack.restores import RestoreUser, request_for, start_slow_agent, texts

Json = dict[str, Any]
SLOW_SECONDS = 120.0
"""EC2 is still about it when the restore is stopped, on a machine of any speed."""


def stop(user: RestoreUser, restore_id: str) -> None:
    """As somebody does in the console."""
    arn = user.arn(0, restore_id)
    user.lab.client("stepfunctions").stop_execution(executionArn=arn, error="Console", cause="by hand")


def swept(user: RestoreUser, restore_id: str) -> Json:
    """The record, once the sweeper has sent the message of the restore's end."""
    record: Json = {}

    def is_told() -> bool:
        record.clear()
        record.update(user.call("GET", f"/restores/{restore_id}").body)
        return "toldAt" in record

    user.wait_until(is_told, lambda: f"no message was sent for {restore_id}: {record}")
    return record


def sweep(user: RestoreUser) -> Json:
    """The schedule's run."""
    answer = user.lab.client("lambda").invoke(
        FunctionName=user.lab.outputs["SweepFunctionName"], Payload="{}"
    )
    assert "FunctionError" not in answer, answer["Payload"].read()
    return dict(json.loads(answer["Payload"].read()))


@pytest.mark.parametrize(
    ("strategy", "state", "slow"),
    [
        ("fast-snapshot-restore", "Wait For Snapshot", {}),
        ("background", "Attach Volume", {"attach_seconds": SLOW_SECONDS}),
        ("provisioned-rate", "Wait For Volume", {"creation_seconds": SLOW_SECONDS}),
    ],
)
@pytest.mark.long
def test_what_a_stopped_restore_made_is_removed(
    user: RestoreUser,
    volumes_take: Callable[..., None],
    strategy: str,
    state: str,
    slow: dict[str, float],
) -> None:
    volumes_take(**slow)
    request = request_for(user, strategy) | (user.to_zone if strategy == "provisioned-rate" else {})
    with user.lab.clock.busy():
        restore_id = user.start(request)
        user.wait_for_state(restore_id, state)
        stop(user, restore_id)
    done = user.finished(restore_id)
    assert (done.main.status, done.volumes[0].status) == ("ABORTED", "ABORTED")
    record = swept(user, restore_id)
    assert (record["status"], record["failure"]["error"]) == ("failed", "ExecutionAborted")
    assert "its execution was stopped (Console: by hand)" in record["failure"]["cause"]
    assert f"/restores/{restore_id}/report.html" in record["reportUrl"]
    user.lab.clock.sleep(SLOW_SECONDS)
    sweep(user)  # what was on its way when it was stopped is found by the schedule
    assert user.left() == {}
    said = [texts(one) for one in user.messages(restore_id) if "Restore failed" in texts(one)]
    assert len(said) == 1


@pytest.mark.long
def test_a_volume_that_was_announced_in_a_zone_outlives_its_stopped_restore(user: RestoreUser) -> None:
    """Somebody attached it, wrote to it and detached it again, which nothing shows any more."""
    with user.lab.clock.busy():
        restore_id = user.start(request_for(user, "provisioned-rate") | user.to_zone)
        user.wait_for_state(restore_id, "Wait For Initialization")
        stop(user, restore_id)
    swept(user, restore_id)
    (volume_id,) = user.volumes_of(restore_id)
    assert user.volume(volume_id)["Tags"]["rewarm:failed"] == restore_id
    assert user.volume(volume_id)["State"] == "available"
    assert f"Left behind: volume {volume_id}" in texts(user.messages(restore_id)[-1])
    assert sweep(user)["swept"] == []


def test_a_volume_that_was_announced_outlives_its_stopped_restore(user: RestoreUser) -> None:
    restore_id = start_slow_agent(user)
    stop(user, restore_id)
    record = swept(user, restore_id)
    (volume_id,) = user.volumes_of(restore_id)
    assert user.volume(volume_id)["Tags"]["rewarm:failed"] == restore_id
    assert [one["State"] for one in user.volume(volume_id)["Attachments"]] == ["attached"]
    assert user.new("commands") == []
    assert record["status"] == "failed"
    assert f"Left behind: volume {volume_id}" in texts(user.messages(restore_id)[-1])
    assert sweep(user)["swept"] == []


@pytest.mark.long
def test_an_event_of_a_restore_that_ended_by_itself_changes_nothing(user: RestoreUser) -> None:
    """A failed execution sends the same event."""
    request = request_for(user, "background")
    user.region.faults.inject("access-denied")
    done = user.restore(request)
    assert done.record["failure"]["error"] == "AccessDeniedError"
    before = len(user.messages(done.restore_id))
    assert sweep(user)["swept"] == []
    assert len(user.messages(done.restore_id)) == before
    again = user.call("GET", f"/restores/{done.restore_id}").body
    assert again["failure"] == done.record["failure"]
