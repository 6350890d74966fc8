"""Waiting executions in the table, and SendTaskSuccess: moto's DynamoDB, answers in botocore's shapes."""

from __future__ import annotations

from typing import Any

import boto3
import pytest
from botocore.stub import Stubber

from rewarm.adapters.executions import DynamoWaiters, StepFunctionsTasks
from rewarm.domain.errors import AccessDeniedError

SIGNAL = "volume#vol-00000000000000001"


def test_tokens_are_kept_until_somebody_takes_them(dynamodb: Any) -> None:
    waiters = DynamoWaiters(dynamodb, "restores", clock=lambda: 1_000.0)
    waiters.add(SIGNAL, "token-1", seconds=900)
    waiters.add(SIGNAL, "token-2", seconds=60)
    waiters.add(SIGNAL, "token-2", seconds=60)
    item = dynamodb.get_item(TableName="restores", Key={"pk": {"S": f"signal#{SIGNAL}"}})["Item"]
    assert item["expiresAt"] == {"N": "1060"}
    assert sorted(waiters.take(SIGNAL)) == ["token-1", "token-2"]
    assert waiters.take(SIGNAL) == []


def test_only_the_latest_wait_is_kept_for_who_cancels(dynamodb: Any) -> None:
    """Waits of days would fill the item up."""
    waiters = DynamoWaiters(dynamodb, "restores")
    waiters.replace("cancel#r1#0", "token-1", seconds=900)
    waiters.replace("cancel#r1#0", "token-2", seconds=900)
    assert waiters.take("cancel#r1#0") == ["token-2"]


@pytest.mark.parametrize("code", ["TaskDoesNotExist", "TaskTimedOut", "InvalidToken"])
def test_a_wait_that_is_over_is_no_error(code: str) -> None:
    assert not answered(code).wake("token-1")


def test_a_task_is_woken() -> None:
    assert answered(None).wake("token-1")


def test_a_missing_permission_is_named() -> None:
    with pytest.raises(AccessDeniedError):
        answered("AccessDeniedException").wake("token-1")


def answered(code: str | None) -> StepFunctionsTasks:
    client = boto3.client(
        "stepfunctions",
        region_name="us-east-1",
        aws_access_key_id="AKIATEST",
        aws_secret_access_key="secret",
    )
    stubber = Stubber(client)
    if code is None:
        stubber.add_response("send_task_success", {}, {"taskToken": "token-1", "output": "{}"})
    else:
        stubber.add_client_error("send_task_success", code, "no", 400)
    stubber.activate()
    return StepFunctionsTasks(client)
