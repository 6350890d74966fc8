"""Waiting executions: their tokens in the table (item `signal#<signal>`), and SendTaskSuccess."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from rewarm.adapters.aws_errors import code_of, naming_errors
from rewarm.adapters.table_items import from_item

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient
    from mypy_boto3_stepfunctions.client import SFNClient

_OVER = {"TaskDoesNotExist", "TaskTimedOut", "InvalidToken"}
"""botocore SendTaskSuccess: the wait has ended by itself, or the event came twice."""


class DynamoWaiters:
    """The port Waiters."""

    def __init__(self, dynamodb: DynamoDBClient, table: str, clock: Callable[[], float] = time.time) -> None:
        self._dynamodb = dynamodb
        self._table = table
        self._clock = clock

    def add(self, signal: str, token: str, *, seconds: int) -> None:
        """A set, since several restores may wait for one snapshot; the item expires with the last."""
        self._write(signal, "ADD tokens :token SET expiresAt = :expires", token, seconds)

    def replace(self, signal: str, token: str, *, seconds: int) -> None:
        """The tokens of waits that are over go."""
        self._write(signal, "SET tokens = :token, expiresAt = :expires", token, seconds)

    def take(self, signal: str) -> list[str]:
        """Deleted with the answer, so that an event that comes twice finds nobody."""
        with naming_errors():
            answer = self._dynamodb.delete_item(
                TableName=self._table, Key=_key(signal), ReturnValues="ALL_OLD"
            )
        return list(from_item(answer.get("Attributes", {})).get("tokens", []))

    def _write(self, signal: str, expression: str, token: str, seconds: int) -> None:
        with naming_errors():
            self._dynamodb.update_item(
                TableName=self._table,
                Key=_key(signal),
                UpdateExpression=expression,
                ExpressionAttributeValues={
                    ":token": {"SS": [token]},
                    ":expires": {"N": str(int(self._clock()) + seconds)},
                },
            )


class StepFunctionsTasks:
    """The port Tasks."""

    def __init__(self, stepfunctions: SFNClient) -> None:
        self._stepfunctions = stepfunctions

    def wake(self, token: str) -> bool:
        """SendTaskSuccess without an output: the look that follows asks AWS itself."""
        with naming_errors():
            try:
                self._stepfunctions.send_task_success(taskToken=token, output="{}")
            except ClientError as error:
                if code_of(error) in _OVER:
                    return False
                raise
        return True


def _key(signal: str) -> dict[str, dict[str, str]]:
    return {"pk": {"S": f"signal#{signal}"}}
