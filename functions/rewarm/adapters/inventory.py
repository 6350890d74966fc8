"""What this stack has running: executions, and fast snapshot restores that EC2 and the table both know."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any

from rewarm.adapters.aws_errors import naming_errors
from rewarm.adapters.items import from_item
from rewarm.adapters.restores import RELEASED_SECONDS
from rewarm.domain.running import RunningFastRestore

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient
    from mypy_boto3_ec2.client import EC2Client
    from mypy_boto3_ec2.type_defs import DescribeFastSnapshotRestoreSuccessItemTypeDef
    from mypy_boto3_stepfunctions.client import SFNClient

_ACTIVE = ["enabling", "optimizing", "enabled"]
"""botocore FastSnapshotRestoreStateCode, without the two in which it is on its way out."""


class AwsInventory:
    """The port Inventory."""

    def __init__(
        self, ec2: EC2Client, stepfunctions: SFNClient, dynamodb: DynamoDBClient, table: str, restore_arn: str
    ) -> None:
        self._ec2 = ec2
        self._stepfunctions = stepfunctions
        self._dynamodb = dynamodb
        self._table = table
        self._restore_arn = restore_arn

    def restores_in_flight(self) -> int:
        """Executions of the state machine `restore` that run."""
        paginator = self._stepfunctions.get_paginator("list_executions")
        with naming_errors():
            pages = paginator.paginate(stateMachineArn=self._restore_arn, statusFilter="RUNNING")
            return sum(len(page["executions"]) for page in pages)

    def fast_restores(self) -> list[RunningFastRestore]:
        """EC2 knows what is active, the table what of that is ours: one read for each that is active."""
        with naming_errors():
            found = [(one, self._claim(one)) for one in self._active()]
        return [
            RunningFastRestore(
                snapshot_id=one["SnapshotId"],
                availability_zone=one["AvailabilityZone"],
                since=_since(one),
                users=frozenset(claim.get("users", ())),
            )
            for one, claim in found
            if _is_ours(one, claim)
        ]

    def _active(self) -> Iterator[DescribeFastSnapshotRestoreSuccessItemTypeDef]:
        paginator = self._ec2.get_paginator("describe_fast_snapshot_restores")
        for page in paginator.paginate(Filters=[{"Name": "state", "Values": _ACTIVE}]):
            yield from page["FastSnapshotRestores"]

    def _claim(self, one: DescribeFastSnapshotRestoreSuccessItemTypeDef) -> dict[str, Any]:
        key = {"pk": {"S": f"fsr#{one['SnapshotId']}#{one['AvailabilityZone']}"}}
        answer = self._dynamodb.get_item(TableName=self._table, Key=key, ConsistentRead=True)
        return from_item(answer.get("Item", {}))


def _is_ours(one: DescribeFastSnapshotRestoreSuccessItemTypeDef, claim: dict[str, Any]) -> bool:
    """The note of a release stays for a while: what became active after it, somebody else enabled."""
    if not claim.get("enabledByUs"):
        return False
    released_at = claim["expiresAt"] - RELEASED_SECONDS if "expiresAt" in claim else None
    return released_at is None or _since(one).timestamp() <= released_at


def _since(one: DescribeFastSnapshotRestoreSuccessItemTypeDef) -> datetime:
    """The first of its times; EC2 gives each state's only once it was reached."""
    for name in ("EnablingTime", "OptimizingTime", "EnabledTime"):
        if name in one:
            found: datetime = one[name]
            return found
    raise KeyError(f"DescribeFastSnapshotRestores gives no time for {one['SnapshotId']}")
