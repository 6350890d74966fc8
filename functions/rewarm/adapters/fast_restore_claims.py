"""Who relies on which fast snapshot restore: what adapters/restores.py writes in fsr#<snapshot>#<zone>."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rewarm.adapters.aws_errors import naming_errors
from rewarm.adapters.items import from_item
from rewarm.domain.leftovers import FastRestoreClaim

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient


class DynamoFastRestoreClaims:
    """The port FastRestoreClaims."""

    def __init__(self, dynamodb: DynamoDBClient, table: str) -> None:
        self._dynamodb = dynamodb
        self._table = table

    def claim(self, snapshot_id: str, availability_zone: str) -> FastRestoreClaim | None:
        """None where nobody of us has to do with it."""
        key = {"pk": {"S": f"fsr#{snapshot_id}#{availability_zone}"}}
        with naming_errors():
            answer = self._dynamodb.get_item(TableName=self._table, Key=key, ConsistentRead=True)
        if "Item" not in answer:
            return None
        found = from_item(answer["Item"])
        users = frozenset(found.get("users") or ())
        return FastRestoreClaim(bool(found.get("enabledByUs")), users, found.get("lastUser"))
