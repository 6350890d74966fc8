"""startExecution.sync:2 reports its child as AWS does (compat_child_executions.py)."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

from tests.support.stack.state_machines import create_machine, run, start, wait

if TYPE_CHECKING:
    from local.aws.host import Host


def call(child, **fields):
    return {
        "Type": "Task",
        "Resource": "arn:${Partition}:states:::states:startExecution.sync:2",
        "Arguments": {"StateMachineArn": child, "Input": "{% $states.input %}"},
        "End": True,
        **fields,
    }


def test_the_output_of_a_child_is_parsed(host: Host):
    child = create_machine(
        host, {"Double": {"Type": "Pass", "Output": {"twice": "{% 2 * $states.input.n %}"}, "End": True}}
    )
    result = run(host, {"Call": call(child)}, {"n": 21})["result"]
    assert result["Output"] == {"twice": 42}
    assert result["Status"] == "SUCCEEDED"
    assert result["ExecutionArn"].startswith(host.region.arn("execution:", "states"))


def test_a_failed_child_is_a_failed_task_with_its_description_as_cause(host: Host):
    child = create_machine(
        host, {"Fail": {"Type": "Fail", "Error": "AgentFailedError", "Cause": "3 blocks unreadable"}}
    )
    described = run(host, {"Call": call(child)}, {"n": 1})
    assert described["error"] == "States.TaskFailed"
    cause = json.loads(described["cause"])
    assert (cause["Error"], cause["Cause"], cause["Status"]) == (
        "AgentFailedError",
        "3 blocks unreadable",
        "FAILED",
    )
    assert json.loads(cause["Input"]) == {"n": 1}


def test_a_child_that_times_out_is_a_failed_task(host: Host):
    wait_long = {"Wait": {"Type": "Wait", "Seconds": 100_000, "End": True}}
    child = create_machine(host, wait_long, TimeoutSeconds=60)
    described = run(host, {"Call": call(child)})
    assert described["error"] == "States.TaskFailed"
    assert json.loads(described["cause"])["Status"] == "TIMED_OUT"


def test_a_child_has_its_own_history_and_is_stopped_with_its_parent(host: Host):
    child = create_machine(host, {"Wait": {"Type": "Wait", "Seconds": 31_536_000, "End": True}})
    parent = start(host, create_machine(host, {"Call": call(child)}))
    states = host.client("stepfunctions")
    time.sleep(1)
    children = states.list_executions(stateMachineArn=child)["executions"]
    assert [one["status"] for one in children] == ["RUNNING"]
    states.stop_execution(executionArn=parent)
    assert wait(host, children[0]["executionArn"])["status"] == "ABORTED"
    types = [
        event["type"]
        for event in states.get_execution_history(executionArn=children[0]["executionArn"])["events"]
    ]
    assert types == ["ExecutionStarted", "WaitStateEntered", "ExecutionAborted"]
