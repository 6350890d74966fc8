"""Time limits of state machines and Tasks (compat_state_timeouts.py)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.support.stack.state_machines import create_lambda, create_machine, invoke_state, run

if TYPE_CHECKING:
    from local.aws.host import Host

LONG_WAIT = {"Wait": {"Type": "Wait", "Seconds": 100_000, "End": True}}


def test_a_state_machine_ends_at_its_time_limit_in_lab_time(host: Host):
    described = run(host, LONG_WAIT, TimeoutSeconds=600)
    assert described["status"] == "TIMED_OUT"
    assert 600 <= (described["stopDate"] - described["startDate"]).total_seconds() < 50_000


def test_a_task_ends_at_its_time_limit_given_as_an_expression(host: Host):
    child = create_machine(host, LONG_WAIT)
    task = {
        "Type": "Task",
        "Resource": "arn:${Partition}:states:::states:startExecution.sync:2",
        "Arguments": {"StateMachineArn": child, "Input": {}},
        "TimeoutSeconds": "{% 10 * 60 %}",
        "Catch": [
            {"ErrorEquals": ["States.Timeout"], "Output": "{% $states.errorOutput.Error %}", "Next": "Late"}
        ],
        "End": True,
    }
    described = run(host, {"Start": task, "Late": {"Type": "Pass", "End": True}})
    assert described["result"] == "States.Timeout"
    assert 600 <= (described["stopDate"] - described["startDate"]).total_seconds() < 50_000


def test_a_task_within_its_time_limit_succeeds(host: Host):
    function = create_lambda(host, "def handler(event, context):\n    return {'answer': 42}\n")
    described = run(host, {"Work": invoke_state(function, TimeoutSeconds=60)})
    assert described["result"] == {"answer": 42}
