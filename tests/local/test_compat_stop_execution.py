"""StopExecution ends what the execution does (local/emulator/compat_stop_execution.py)."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from tests.support.state_machines import create_lambda, create_machine, invoke_state, start, wait

if TYPE_CHECKING:
    from local.host import Host

YEAR = 31_536_000


def test_a_stopped_wait_ends_and_nothing_follows(host: Host):
    host.client("s3").create_bucket(Bucket="stopped")
    function = create_lambda(
        host,
        "import boto3\ndef handler(event, context):\n"
        "    boto3.client('s3').put_object(Bucket='stopped', Key=event['key'], Body=b'')\n",
    )
    states = {
        "Wait": {"Type": "Wait", "Seconds": 20_000, "Next": "Work"},
        "Work": invoke_state(function, {"key": "after-wait"}),
    }
    execution = start(host, create_machine(host, states))
    time.sleep(0.5)
    host.client("stepfunctions").stop_execution(executionArn=execution, error="Cancelled", cause="by a test")
    described = wait(host, execution)
    assert (described["status"], described["error"], described["cause"]) == (
        "ABORTED",
        "Cancelled",
        "by a test",
    )
    host.clock.sleep(40_000)
    assert host.client("s3").list_objects_v2(Bucket="stopped")["KeyCount"] == 0
    assert wait(host, execution)["status"] == "ABORTED"


def test_stop_reaches_the_iterations_of_a_map_and_no_catch_hides_it(host: Host):
    catch = [{"ErrorEquals": ["States.ALL"], "Next": "Caught"}]
    processor = {"StartAt": "Wait", "States": {"Wait": {"Type": "Wait", "Seconds": YEAR, "End": True}}}
    states = {
        "Each": {"Type": "Map", "Items": [1, 2], "ItemProcessor": processor, "Catch": catch, "End": True},
        "Caught": {"Type": "Pass", "End": True},
    }
    execution = start(host, create_machine(host, states))
    time.sleep(0.5)
    host.client("stepfunctions").stop_execution(executionArn=execution)
    time.sleep(0.5)
    history = host.client("stepfunctions").get_execution_history(executionArn=execution)["events"]
    entered = [
        event["stateEnteredEventDetails"]["name"] for event in history if "stateEnteredEventDetails" in event
    ]
    assert entered == ["Each"]
    assert history[-1]["type"] == "ExecutionAborted"
