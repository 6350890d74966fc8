"""A failed Lambda reports the class of its exception (compat_lambda_errors.py)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.support.stack.state_machines import create_lambda, invoke_state, run

if TYPE_CHECKING:
    from local.aws.host import Host

RAISING = """
class SnapshotNotFoundError(Exception):
    pass

def handler(event, context):
    raise SnapshotNotFoundError("snap-1 does not exist")
"""


def test_invoke_answers_type_message_and_stack_trace(host: Host):
    answer = host.client("lambda").invoke(FunctionName=create_lambda(host, RAISING), Payload=b"{}")
    payload = json.loads(answer["Payload"].read())
    assert answer["FunctionError"] == "Unhandled"
    assert (payload["errorType"], payload["errorMessage"]) == (
        "SnapshotNotFoundError",
        "snap-1 does not exist",
    )
    assert "code.py" in payload["stackTrace"][-1]


def test_a_catch_by_name_matches(host: Host):
    catch = [
        {"ErrorEquals": ["SnapshotNotFoundError"], "Output": "{% $states.errorOutput %}", "Next": "Caught"}
    ]
    states = {
        "Call": invoke_state(create_lambda(host, RAISING), Catch=catch),
        "Caught": {"Type": "Pass", "End": True},
    }
    result = run(host, states)["result"]
    assert result["Error"] == "SnapshotNotFoundError"
    assert json.loads(result["Cause"])["errorMessage"] == "snap-1 does not exist"


def test_the_same_process_serves_again_after_an_exception(host: Host):
    function = create_lambda(
        host,
        "calls = []\ndef handler(event, context):\n    calls.append(1)\n"
        "    return len(calls) // event['by']\n",
    )
    client = host.client("lambda")
    failed = json.loads(client.invoke(FunctionName=function, Payload=b'{"by": 0}')["Payload"].read())
    assert failed["errorType"] == "ZeroDivisionError"
    assert json.loads(client.invoke(FunctionName=function, Payload=b'{"by": 1}')["Payload"].read()) == 2
