"""StopExecution ends what the execution does (compat_stop_execution.py)."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from tests.support.stack.state_machines import (
    create_bucket,
    create_lambda,
    create_machine,
    invoke_state,
    start,
    wait,
)

if TYPE_CHECKING:
    from local.aws.host import Host

BUCKET = "written-by-stopped-executions"
WRITE = f"""
import boto3

def handler(event, context):
    boto3.client("s3").put_object(Bucket="{BUCKET}", Key=event["key"], Body=b"")
"""


@pytest.fixture(scope="module")
def write(host: Host) -> str:
    """A Lambda that leaves a trace."""
    create_bucket(host, BUCKET)
    return create_lambda(host, WRITE)


def traces(host: Host) -> int:
    return host.client("s3").list_objects_v2(Bucket=BUCKET)["KeyCount"]


def test_a_stopped_wait_ends_and_nothing_follows(host: Host, write):
    states = {
        "Wait": {"Type": "Wait", "Seconds": 4_000, "Next": "Work"},
        "Work": invoke_state(write, {"key": "a"}),
    }
    execution = start(host, create_machine(host, states))
    time.sleep(0.5)
    host.client("stepfunctions").stop_execution(executionArn=execution, error="Cancelled", cause="by a test")
    described = wait(host, execution)
    found = (described["status"], described["error"], described["cause"])
    assert found == ("ABORTED", "Cancelled", "by a test")
    host.clock.sleep(8_000)
    assert traces(host) == 0
    assert wait(host, execution)["status"] == "ABORTED"


def test_stop_reaches_the_iterations_of_a_map_and_no_catch_hides_it(host: Host, write):
    """Their Wait states would be over long before this test is."""
    steps = {
        "Wait": {"Type": "Wait", "Seconds": 4_000, "Next": "Work"},
        "Work": invoke_state(write, {"key": "b"}),
    }
    processor = {"StartAt": "Wait", "States": steps}
    catch = [{"ErrorEquals": ["States.ALL"], "Next": "Caught"}]
    states = {
        "Each": {"Type": "Map", "Items": [1, 2], "ItemProcessor": processor, "Catch": catch, "End": True},
        "Caught": invoke_state(write, {"key": "c"}),
    }
    execution = start(host, create_machine(host, states))
    time.sleep(0.5)
    host.client("stepfunctions").stop_execution(executionArn=execution)
    host.clock.sleep(8_000)
    time.sleep(1)
    assert traces(host) == 0
    history = host.client("stepfunctions").get_execution_history(executionArn=execution)["events"]
    details = [event["stateEnteredEventDetails"] for event in history if "stateEnteredEventDetails" in event]
    assert [one["name"] for one in details] == ["Each"]
    assert history[-1]["type"] == "ExecutionAborted"


def test_a_failure_after_the_stop_does_not_overwrite_it(host: Host):
    fail = "import time\ndef handler(event, context):\n    time.sleep(1)\n    raise ValueError('too late')\n"
    execution = start(host, create_machine(host, {"Work": invoke_state(create_lambda(host, fail))}))
    time.sleep(0.5)
    host.client("stepfunctions").stop_execution(executionArn=execution)
    time.sleep(2.5)
    assert wait(host, execution)["status"] == "ABORTED"
