"""Tasks that wait for a token (compat_callbacks.py)."""

from __future__ import annotations

import json
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from local import state_machines
from local.aws.clock import LabClock
from local.aws.emulator.lab_time import Activity
from local.aws.emulator.patches.states.compat_callbacks import ASKS_PEOPLE, _Answer
from tests.support.stack.state_machines import create_bucket, create_lambda, create_machine, run, start, wait

if TYPE_CHECKING:
    from local.aws.host import Host

LATE = {"Type": "Pass", "Output": "{% 'late' %}", "End": True}


def waiting(function: str, seconds: Any = 600) -> dict[str, Any]:
    return {
        "Type": "Task",
        "Resource": "arn:${Partition}:states:::lambda:invoke.waitForTaskToken",
        "Arguments": {"FunctionName": function, "Payload": {"token": "{% $states.context.Task.Token %}"}},
        "TimeoutSeconds": seconds,
        "Output": "{% $states.result %}",
        "Catch": [{"ErrorEquals": ["States.Timeout"], "Next": "Late"}],
        "End": True,
    }


@pytest.fixture
def keeper(host: Host) -> str:
    """A Lambda that keeps its token where the test finds it."""
    create_bucket(host, "tokens")
    return create_lambda(
        host,
        """
        import boto3
        def handler(event, context):
            boto3.client("s3").put_object(Bucket="tokens", Key="token", Body=event["token"].encode())
        """,
    )


def token(host: Host) -> str:
    for _ in range(200):
        try:
            return str(host.client("s3").get_object(Bucket="tokens", Key="token")["Body"].read().decode())
        except host.client("s3").exceptions.NoSuchKey:
            time.sleep(0.02)
    raise AssertionError("nobody waits")


@pytest.mark.parametrize("seconds", [600, "{% 10 * 60 %}"])
def test_the_wait_ends_at_its_time_limit_in_lab_time(host: Host, keeper: str, seconds: Any) -> None:
    described = run(host, {"Wait": waiting(keeper, seconds), "Late": LATE})
    assert described["result"] == "late"
    assert 600 <= (described["stopDate"] - described["startDate"]).total_seconds() < 50_000


def test_what_people_are_asked_is_not_skipped_while_they_are_there(
    host: Host, keeper: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    host.client("s3").delete_object(Bucket="tokens", Key="token")
    monkeypatch.setattr(host.clock, "people_are_there", True)
    asks = {**waiting(keeper), "Next": ASKS_PEOPLE}
    del asks["End"]
    end = {"Type": "Succeed"}
    execution = start(host, create_machine(host, {"Wait": asks, ASKS_PEOPLE: end, "Late": LATE}))
    known = token(host)
    time.sleep(1)  # in which lab time would run ahead by 600 s and more
    host.client("stepfunctions").send_task_success(taskToken=known, output=json.dumps({"woken": True}))
    described = wait(host, execution)
    assert json.loads(described["output"]) == {"woken": True}
    assert (described["stopDate"] - described["startDate"]).total_seconds() < 60


def test_the_product_asks_people_in_a_state_of_that_kind() -> None:
    states = state_machines.definitions()["RestoreStateMachine"]["States"]
    asking = [name for name, state in states.items() if "waitForTaskToken" in str(state.get("Resource"))]
    assert [states[name]["Next"] for name in asking] == [ASKS_PEOPLE]


def test_success_ends_the_wait_at_once_and_only_once(host: Host, keeper: str) -> None:
    create_bucket(host, "tokens")
    host.client("s3").delete_object(Bucket="tokens", Key="token")
    states = host.client("stepfunctions")
    # Lab time stands still for the test's own thread while it works: a year is no wait too long.
    machine = create_machine(host, {"Wait": waiting(keeper, 31_000_000), "Late": LATE})
    execution = start(host, machine)
    known = token(host)
    states.send_task_success(taskToken=known, output=json.dumps({"woken": True}))
    described = wait(host, execution)
    assert json.loads(described["output"]) == {"woken": True}
    with pytest.raises(states.exceptions.TaskTimedOut):
        states.send_task_success(taskToken=known, output="{}")


@pytest.mark.parametrize(
    ("operation", "answer"),
    [("send_task_success", {"output": "{}"}), ("send_task_failure", {"error": "No"})],
)
def test_an_answer_after_the_time_limit_is_refused(
    host: Host, keeper: str, operation: str, answer: dict[str, str]
) -> None:
    assert run(host, {"Wait": waiting(keeper), "Late": LATE})["result"] == "late"
    states = host.client("stepfunctions")
    with pytest.raises(states.exceptions.TaskTimedOut):
        getattr(states, operation)(taskToken=token(host), **answer)


def test_an_answer_after_the_end_of_the_wait_holds_no_lab_time() -> None:
    clock = LabClock(idle_speed=1e9)
    answer = _Answer(Activity(clock))
    answer.await_for(600)
    assert not answer.close()
    answer.set()  # by somebody who took the token before the end of the wait
    began = clock.now()
    clock.sleep(600, stop=_after_real_seconds(20))
    assert clock.now() - began >= 600
    assert not answer.close()


def _after_real_seconds(seconds: float) -> threading.Event:
    """Set so late that only a clock which does not run ahead comes to it."""
    late = threading.Event()
    timer = threading.Timer(seconds, late.set)
    timer.daemon = True
    timer.start()
    return late


def test_a_lambda_that_fails_is_the_tasks_failure(host: Host) -> None:
    function = create_lambda(host, "def handler(event, context):\n    raise ValueError('no')\n")
    described = run(host, {"Wait": waiting(function), "Late": LATE})
    assert (described["status"], described["error"]) == ("FAILED", "ValueError")


def test_a_stopped_execution_waits_no_more(host: Host, keeper: str) -> None:
    host.client("s3").delete_object(Bucket="tokens", Key="token")
    execution = start(host, create_machine(host, {"Wait": waiting(keeper, 31_000_000), "Late": LATE}))
    known = token(host)
    states = host.client("stepfunctions")
    states.stop_execution(executionArn=execution)
    assert wait(host, execution)["status"] == "ABORTED"
    time.sleep(0.3)
    with pytest.raises(states.exceptions.TaskTimedOut):
        states.send_task_success(taskToken=known, output="{}")
