"""How fast restores begin, in the table: the item `pace#describe` says until when EC2's calls are given away.

The generic cell rate algorithm, as one number: each who begins moves it on by the time that its calls need,
and begins when they are due. The burst that EC2 allows needs no waiting.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from rewarm.adapters.aws_errors import code_of, naming_errors
from rewarm.adapters.holds import EXPIRY_SECONDS

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

BURST_SECONDS = 4
"""Of the calls that EC2 saves up: its bucket of 100 holds those of five seconds (EC2 developer guide,
"Request throttling for the Amazon EC2 API")."""
_KEY = {"pk": {"S": "pace#describe"}}
_MILLISECONDS = 1_000


class DynamoPace:
    """The port Pace."""

    def __init__(self, dynamodb: DynamoDBClient, table: str, calls_per_second: float) -> None:
        self._dynamodb = dynamodb
        self._table = table
        self._calls_per_second = calls_per_second

    def due(self, calls: int, *, now: datetime) -> datetime:
        at, cost = _number(now), round(calls / self._calls_per_second * _MILLISECONDS)
        while True:
            end = self._move("givenUntil + :step", "givenUntil >= :now", at, cost)
            if end is None:
                end = self._move(
                    ":step", "attribute_not_exists(givenUntil) OR givenUntil < :now", at, at + cost
                )
            if end is not None:
                saved_up = BURST_SECONDS * _MILLISECONDS
                return now + timedelta(milliseconds=max(0, end - cost - saved_up - at))

    def _move(self, value: str, condition: str, now: int, step: int) -> int | None:
        """Until when the calls are given away now; None where the condition does not hold."""
        with naming_errors():
            try:
                answer = self._dynamodb.update_item(
                    TableName=self._table,
                    Key=_KEY,
                    UpdateExpression=f"SET givenUntil = {value}, expiresAt = :expires",
                    ConditionExpression=condition,
                    ExpressionAttributeValues={
                        ":now": {"N": str(now)},
                        ":step": {"N": str(step)},
                        ":expires": {"N": str(now // _MILLISECONDS + EXPIRY_SECONDS)},
                    },
                    ReturnValues="UPDATED_NEW",
                )
            except ClientError as error:
                if code_of(error) == "ConditionalCheckFailedException":
                    return None
                raise
        return int(answer["Attributes"]["givenUntil"]["N"])


def _number(instant: datetime) -> int:
    return round(instant.astimezone(UTC).timestamp() * _MILLISECONDS)
