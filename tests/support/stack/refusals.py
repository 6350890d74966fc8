"""One harmless call of each service, and how AWS refuses it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError

CALLS = {
    "cloudformation": "list_stacks",
    "cloudwatch": "list_metrics",
    "dynamodb": "list_tables",
    "ebs": "list_snapshot_blocks",
    "ec2": "describe_volumes",
    "lambda": "list_functions",
    "s3": "list_buckets",
    "sns": "list_topics",
    "ssm": "list_commands",
    "stepfunctions": "list_state_machines",
}
"""boto3's client -> its method."""


def each(**refusals: tuple[str, int]) -> pytest.MarkDecorator:
    """Runs a test for each of these services, with the code and the HTTP status that are expected."""
    rows = [(service, CALLS[service], expected) for service, expected in refusals.items()]
    return pytest.mark.parametrize(("service", "operation", "expected"), rows)


def refusal(call: Callable[..., Any], **params: Any) -> tuple[str, int]:
    """The code and the HTTP status with which AWS refuses a call."""
    with pytest.raises(ClientError) as refused:
        call(**params)
    answer = refused.value.response
    return answer["Error"]["Code"], answer["ResponseMetadata"]["HTTPStatusCode"]
