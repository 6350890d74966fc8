"""A Distributed Map reads its items from S3 and writes its results there (compat_distributed_map.py)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tests.support.stack.state_machines import create_machine, start, wait

if TYPE_CHECKING:
    from local.aws.host import Host

BUCKET = "maps"


def machine(host: Host, items: list[Any], states: dict[str, Any], **fields: Any) -> str:
    s3 = host.client("s3")
    if BUCKET not in {one["Name"] for one in s3.list_buckets()["Buckets"]}:
        s3.create_bucket(Bucket=BUCKET, **_place(s3.meta.region_name))
    s3.put_object(Bucket=BUCKET, Key="items.json", Body=json.dumps(items).encode())
    state = {
        "Type": "Map",
        "ItemReader": {
            "Resource": "arn:${Partition}:states:::s3:getObject",
            "ReaderConfig": {"InputType": "JSON"},
            "Arguments": {"Bucket": "{% $states.input.bucket %}", "Key": "items.json"},
        },
        "Label": "Each",
        "ItemProcessor": {
            "ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"},
            "StartAt": next(iter(states)),
            "States": states,
        },
        "ResultWriter": {
            "Resource": "arn:${Partition}:states:::s3:putObject",
            "Arguments": {"Bucket": "{% $states.input.bucket %}", "Prefix": "results"},
        },
        "End": True,
        **fields,
    }
    return create_machine(host, {"Map": state})


def _place(region: str) -> dict[str, Any]:
    """S3 takes no constraint for us-east-1."""
    return {} if region == "us-east-1" else {"CreateBucketConfiguration": {"LocationConstraint": region}}


def files(host: Host, details: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """What ResultWriter wrote, by status."""
    s3 = host.client("s3")
    manifest = json.loads(s3.get_object(Bucket=BUCKET, Key=details["Key"])["Body"].read())
    return {
        status: [
            one
            for file in listed
            for one in json.loads(s3.get_object(Bucket=BUCKET, Key=file["Key"])["Body"].read())
        ]
        for status, listed in manifest["ResultFiles"].items()
    }


SOMETIMES = {
    "Is Odd?": {
        "Type": "Choice",
        "Choices": [{"Condition": "{% $states.input.n % 2 = 1 %}", "Next": "Odd"}],
        "Default": "Even",
    },
    "Odd": {"Type": "Fail", "Error": "OddError", "Cause": "odd"},
    "Even": {"Type": "Pass", "Output": {"half": "{% $states.input.n / 2 %}"}, "End": True},
}


def test_each_item_is_an_execution_and_failures_are_tolerated(host: Host):
    arn = machine(
        host,
        [{"n": n} for n in (2, 3, 4)],
        SOMETIMES,
        MaxConcurrency="{% 2 %}",
        ToleratedFailureCount="{% 1 %}",
    )
    result = run_machine(host, arn)
    found = files(host, result["ResultWriterDetails"])
    assert sorted(json.loads(one["Output"])["half"] for one in found["SUCCEEDED"]) == [1, 2]
    assert [one["Error"] for one in found["FAILED"]] == ["OddError"]


def test_more_failures_than_tolerated_fail_the_state_and_start_no_more(host: Host):
    states = {"No": {"Type": "Fail", "Error": "E", "Cause": "c"}}
    arn = machine(host, [{"n": n} for n in range(5)], states, MaxConcurrency=1, ToleratedFailureCount=1)
    described = wait(host, start(host, arn, {"bucket": BUCKET}))
    assert described["error"] == "States.ExceedToleratedFailureThreshold"


def test_the_children_end_with_the_execution(host: Host):
    states = {"Wait": {"Type": "Wait", "Seconds": 31_536_000, "End": True}}
    arn = machine(host, [{"n": n} for n in range(3)], states, MaxConcurrency=1)
    execution = start(host, arn, {"bucket": BUCKET})
    host.client("stepfunctions").stop_execution(executionArn=execution)
    assert wait(host, execution)["status"] == "ABORTED"


def run_machine(host: Host, arn: str) -> dict[str, Any]:
    described = wait(host, start(host, arn, {"bucket": BUCKET}))
    assert described["status"] == "SUCCEEDED", described
    found: dict[str, Any] = json.loads(described["output"])
    return found
