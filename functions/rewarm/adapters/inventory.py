"""What the stack has running: executions, and fast snapshot restores that EC2 and the table both know."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rewarm.adapters.aws_errors import naming_errors
from rewarm.adapters.executions import running_executions
from rewarm.adapters.fast_restores import enabling_time
from rewarm.domain.model import RunningFastRestore
from rewarm.ports.restores import RestoreTable

if TYPE_CHECKING:
    from mypy_boto3_cloudformation.client import CloudFormationClient
    from mypy_boto3_ec2.client import EC2Client
    from mypy_boto3_ec2.type_defs import DescribeFastSnapshotRestoreSuccessItemTypeDef
    from mypy_boto3_stepfunctions.client import SFNClient

_ACTIVE = ["enabling", "optimizing", "enabled"]
"""botocore FastSnapshotRestoreStateCode, without the two in which it is on its way out."""

_GOING = frozenset({"DELETE_IN_PROGRESS", "ROLLBACK_IN_PROGRESS"})
"""CloudFormation user guide, "Stack status codes"; those of an update, undone or not, begin with UPDATE."""


class AwsInventory:
    """The port Inventory."""

    def __init__(
        self,
        ec2: EC2Client,
        stepfunctions: SFNClient,
        cloudformation: CloudFormationClient,
        table: RestoreTable,
        restore_arn: str,
    ) -> None:
        self._ec2 = ec2
        self._stepfunctions = stepfunctions
        self._cloudformation = cloudformation
        self._table = table
        self._restore_arn = restore_arn

    def restores_in_flight(self) -> int:
        with naming_errors():
            return sum(1 for _ in running_executions(self._stepfunctions, self._restore_arn))

    def fast_restores(self) -> list[RunningFastRestore]:
        """EC2 knows what is active, the table what of that is ours: one read for each that is active."""
        with naming_errors():
            found = [
                (restore, self._table.claim(restore["SnapshotId"], restore["AvailabilityZone"]))
                for restore in self._active()
            ]
        return [
            RunningFastRestore(
                restore["SnapshotId"], restore["AvailabilityZone"], enabling_time(restore), claim.users
            )
            for restore, claim in found
            if claim is not None and claim.is_ours(enabling_time(restore))
        ]

    def goes_away(self, stack_id: str) -> bool:
        # CloudFormation finds a deleted stack by its id only, not by its name.
        with naming_errors():
            (stack,) = self._cloudformation.describe_stacks(StackName=stack_id)["Stacks"]
        return stack["StackStatus"] in _GOING

    def _active(self) -> Iterator[DescribeFastSnapshotRestoreSuccessItemTypeDef]:
        paginator = self._ec2.get_paginator("describe_fast_snapshot_restores")
        for page in paginator.paginate(Filters=[{"Name": "state", "Values": _ACTIVE}]):
            yield from page["FastSnapshotRestores"]
