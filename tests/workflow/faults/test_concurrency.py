"""Several restores at once: one to a device, as many as the stack allows, and none in another's way."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.support.stack.endings import assert_released_and_confirmed
from tests.support.stack.restores import Restore, RestoreUser, request_for, texts, unique

Json = dict[str, Any]


def to_device(user: RestoreUser, device: str | None = "/dev/sdf") -> Json:
    request = request_for(user, "provisioned-rate") | {"verify": {"samples": 0}}
    return request | {"target": {**request["target"], "device": device}}


def held(user: RestoreUser, prefix: str, mark: str) -> list[str]:
    """Rows of the table that say who holds something."""
    pages = (
        user.lab.client("dynamodb")
        .get_paginator("scan")
        .paginate(TableName=user.lab.outputs["RestoresTable"])
    )
    rows = [item for page in pages for item in page["Items"]]
    return [str(row) for row in rows if row["pk"]["S"].startswith(prefix) and mark in str(row)]


@pytest.fixture(autouse=True)
def no_device_is_held_afterwards(user: RestoreUser) -> Iterator[None]:
    yield
    assert held(user, "target#", "") == []


def assert_refused(done: Restore, first: str) -> None:
    assert (done.main.status, done.main.error) == ("FAILED", "TargetBusyError"), done.why
    assert "Choose Strategy" not in done.main.states
    assert done.volumes == ()
    assert (done.record["status"], done.record["heldBy"]) == ("refused", first)
    assert first in done.record["failure"]["cause"]


@pytest.mark.long
def test_the_second_to_a_device_gets_409_with_the_firsts_id(user: RestoreUser) -> None:
    request = to_device(user)
    executions = user.executions()
    with user.lab.clock.busy():
        first = user.start(request)
        second = user.call("POST", "/restores", request)
        assert (second.status, second.body["error"]) == (409, "TargetBusyError"), second
        assert second.body["heldBy"] == first
        assert first in second.body["message"]
        user.wait_for_state(first, "Wait For Initialization")
        after_attach = user.call("POST", "/restores", request)
        assert (after_attach.status, after_attach.body["heldBy"]) == (409, first), after_attach
    done = user.finished(first)
    assert done.main.status == "SUCCEEDED", done.why
    assert_released_and_confirmed(done)
    assert [name for name in user.executions() if name not in executions] == [first]
    assert held(user, "running#", first) == []
    afterwards = user.call("POST", "/restores", request)
    assert (afterwards.status, afterwards.body["error"]) == (409, "DeviceInUseError"), "its volume is there"


def test_of_calls_that_race_for_a_device_one_is_accepted(user: RestoreUser) -> None:
    request = to_device(user)
    answers: list[tuple[int, Json]] = []

    def post() -> None:
        answer = user.call("POST", "/restores", request)
        answers.append((answer.status, answer.body))

    threads = [threading.Thread(target=post) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    accepted = [body["restoreId"] for status, body in answers if status == 202]
    assert len(accepted) == 1, answers
    others = [(status, body["heldBy"]) for status, body in answers if status != 202]
    assert others == [(409, accepted[0])] * 3
    assert user.finished(accepted[0]).main.status == "SUCCEEDED"


@pytest.mark.long
def test_a_start_that_no_api_checked_ends_at_once_and_names_the_first(user: RestoreUser) -> None:
    request = to_device(user)
    with user.lab.clock.busy():
        first = user.start(request)
        user.wait_for_state(first, "Wait For Initialization")
        alarm = unique("rewarm-orders")
        user.runbook(alarm, request)
        (rung,) = user.alarm(alarm)
        scheduled = user.start_execution({"request": request, "trigger": {"kind": "schedule"}})
        for name in (rung, scheduled):
            second = user.finished(name)
            assert_refused(second, first)
            said = texts(user.messages(name)[-1])
            assert first in said
            assert "Nothing was left behind." in said
    assert user.finished(first).main.status == "SUCCEEDED"


@pytest.mark.long
def test_devices_that_nobody_asked_for_do_not_collide(user: RestoreUser) -> None:
    request = to_device(user, device=None)
    with user.lab.clock.busy():
        restores = [user.start(request) for _ in range(3)]
    done = [user.finished(one) for one in restores]
    assert [one.main.status for one in done] == ["SUCCEEDED"] * 3, [one.why for one in done]
    devices = [one.main.answer("Select Snapshot")["volumes"][0]["device"] for one in done]
    assert devices == ["/dev/sdf", "/dev/sdg", "/dev/sdh"]


@pytest.mark.long
def test_a_restore_that_fails_gives_its_device_back(user: RestoreUser) -> None:
    request = to_device(user)
    with user.lab.clock.busy():
        first = user.start(request)
        user.wait_for_state(first, "Wait For Initialization")
        assert user.call("DELETE", f"/restores/{first}").status == 202
    done = user.finished(first)
    assert done.main.error == "RestoreCancelledError", done.why
    assert "Release Target After Failure" in done.main.states
    assert held(user, "running#", first) == []


@pytest.mark.long
def test_the_device_of_a_restore_that_was_stopped_is_taken_over(
    user: RestoreUser, volumes_take: Callable[..., None]
) -> None:
    volumes_take(creation_seconds=120.0)
    request = to_device(user)
    with user.lab.clock.busy():
        first = user.start(request)
        user.wait_for_state(first, "Wait For Volume")
        states = user.lab.client("stepfunctions")
        states.stop_execution(executionArn=user.arn(0, first))
        assert user.call("POST", "/restores", request).status == 409, "it may be about to start"
    user.lab.clock.sleep(400)
    second = user.start(request)
    assert user.finished(second).main.status == "SUCCEEDED"
