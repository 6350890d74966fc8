"""A Lambda's clock shows lab time (compat_lambda_time.py)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.support.stack.state_machines import create_lambda

if TYPE_CHECKING:
    from local.aws.host import Host

SOURCE = """
import time
import boto3

def handler(event, context):
    boto3.client("sts").get_caller_identity()
    return {"now": time.time(), "left": context.get_remaining_time_in_millis()}
"""


def test_time_is_lab_time_also_in_a_warm_worker(host: Host):
    function = create_lambda(host, SOURCE)
    for _ in range(2):
        host.clock.sleep(7_200)
        before = host.clock.now()
        answer = host.client("lambda").invoke(FunctionName=function, Payload=b"{}")
        result = json.loads(answer["Payload"].read())
        assert before - 1 < result["now"] < host.clock.now() + 1
        assert 10_000 < result["left"] <= 20_000
