"""The stack in CloudFormation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rewarm.adapters.aws_errors import naming_errors

if TYPE_CHECKING:
    from mypy_boto3_cloudformation.client import CloudFormationClient

_GOING = frozenset({"DELETE_IN_PROGRESS", "ROLLBACK_IN_PROGRESS"})
"""CloudFormation user guide, "Stack status codes"; those of an update, undone or not, begin with UPDATE."""


class CloudFormationStack:
    """The port OwnStack."""

    def __init__(self, cloudformation: CloudFormationClient) -> None:
        self._cloudformation = cloudformation

    def goes_away(self, stack_id: str) -> bool:
        """A stack that is deleted CloudFormation tells by its id only."""
        with naming_errors():
            (stack,) = self._cloudformation.describe_stacks(StackName=stack_id)["Stacks"]
        return stack["StackStatus"] in _GOING
