"""What we know of each volume's changes, in the table: one item a volume, `performance#<volume>`."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any

from rewarm.adapters.aws_errors import naming_errors
from rewarm.adapters.items import from_item, to_attribute
from rewarm.adapters.restore_records import RESTORE_SECONDS
from rewarm.domain.units import iso

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

KEPT_SECONDS = 3 * 86_400
"""Beyond the 24 hours that EC2 counts, a start says nothing any more."""


class DynamoPerformanceLog:
    """The port PerformanceLog."""

    def __init__(self, dynamodb: DynamoDBClient, table: str, clock: Callable[[], float] = time.time) -> None:
        self._dynamodb = dynamodb
        self._table = table
        self._clock = clock

    def starts(self, volume_id: str) -> list[datetime]:
        """When changes of the last days started, oldest first."""
        return sorted(datetime.fromisoformat(one) for one in self._item(volume_id).get("startedAt", []))

    def note_start(self, volume_id: str, started_at: datetime) -> None:
        """A set of times, so that two writers lose nothing; the old ones go."""
        self._update(volume_id, "ADD startedAt :times", {":times": {"SS": [iso(started_at)]}})
        old = [iso(one) for one in self.starts(volume_id) if self._clock() - one.timestamp() > KEPT_SECONDS]
        if old:
            self._update(volume_id, "DELETE startedAt :times", {":times": {"SS": old}})

    def change_id(self, volume_id: str) -> str | None:
        """The latest change that was asked of us."""
        return self._item(volume_id).get("changeId")

    def begin(self, volume_id: str, change_id: str) -> None:
        """A change was asked of us."""
        self._update(volume_id, "SET changeId = :id", {":id": {"S": change_id}})

    def _item(self, volume_id: str) -> dict[str, Any]:
        with naming_errors():
            answer = self._dynamodb.get_item(TableName=self._table, Key=_key(volume_id), ConsistentRead=True)
        return from_item(answer.get("Item", {}))

    def _update(self, volume_id: str, expression: str, values: dict[str, Any]) -> None:
        expires = "expiresAt = :expires"
        both = f"{expression}, {expires}" if expression.startswith("SET ") else f"{expression} SET {expires}"
        with naming_errors():
            self._dynamodb.update_item(
                TableName=self._table,
                Key=_key(volume_id),
                UpdateExpression=both,
                ExpressionAttributeValues={
                    **values,
                    ":expires": to_attribute(int(self._clock()) + RESTORE_SECONDS),
                },
            )


def _key(volume_id: str) -> dict[str, Any]:
    return {"pk": {"S": f"performance#{volume_id}"}}
