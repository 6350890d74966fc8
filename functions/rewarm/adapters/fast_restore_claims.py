"""Who relies on which fast snapshot restore: what adapters/restores.py writes in fsr#<snapshot>#<zone>."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from rewarm.adapters.aws_errors import naming_errors
from rewarm.adapters.items import from_item
from rewarm.domain.errors import ServiceUnavailableError
from rewarm.domain.volume.leftovers import FastRestoreClaim

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient
    from mypy_boto3_ec2.type_defs import DescribeFastSnapshotRestoreSuccessItemTypeDef


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
        return claim_of(from_item(answer["Item"])) if "Item" in answer else None


def claim_of(item: Mapping[str, Any]) -> FastRestoreClaim:
    """Of the table's item."""
    return FastRestoreClaim(
        users=frozenset(item.get("users") or ()),
        last_user=item.get("lastUser"),
        asked_at=_times(item.get("askedAt")),
        enabling_times=_times(item.get("enablingTimes")),
    )


def enabling_time(item: DescribeFastSnapshotRestoreSuccessItemTypeDef) -> datetime:
    """The first of its times; EC2 gives each state's only once it was reached."""
    for name in ("EnablingTime", "OptimizingTime", "EnabledTime"):
        if name in item:
            found: datetime = item[name]
            return found
    raise ServiceUnavailableError(f"EC2 gives no time for the fast snapshot restore of {item['SnapshotId']}")


def _times(texts: Any) -> frozenset[datetime]:
    return frozenset(datetime.fromisoformat(one) for one in texts or ())
