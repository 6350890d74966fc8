"""The ports of EC2 instances, and of SSM Run Command on them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Protocol

from rewarm.domain.model import CommandStatus, Instance, InstanceEbsLimits
from rewarm.domain.ready.agent_output import SentCommand


class Instances(Protocol):
    """EC2 instances, and whether Systems Manager reaches them."""

    def get(self, instance_id: str) -> Instance:
        """Returns the instance with its devices. Raises TargetNotFoundError."""

    def availability_zones(self) -> list[str]:
        """Returns the names of the Region's Availability Zones."""

    def ebs_limits(self, instance_type: str) -> InstanceEbsLimits:
        """Returns the EBS limits of the type (botocore, DescribeInstanceTypes)."""


Parameters = Mapping[str, str]
"""Values of an SSM document's parameters by name."""


class Commands(Protocol):
    """SSM Run Command with the documents of one purpose, one document a platform."""

    def send(
        self, instance_id: str, parameters: Parameters, *, platform: str, comment: str, timeout_seconds: int
    ) -> str:
        """Sends a command and returns its id. `timeout_seconds` is the time in which it must reach the
        instance.

        Not idempotent: SendCommand has no client token. Raises AgentUnreachableError.
        """

    def find(self, comment: str, *, platform: str, since: datetime) -> list[SentCommand]:
        """Returns the commands with this comment, the newest first.

        SSM may not list one of the last seconds yet.
        """

    def time(self) -> datetime:
        """Returns the present time, for the note of a command that is about to be sent."""

    def status(self, command_id: str, instance_id: str) -> CommandStatus | None:
        """Returns the invocation's status; None while SSM does not know it yet, which is normal right after
        `send`.
        """

    def cancel(self, command_id: str, instance_id: str) -> None:
        """Cancels the command. Does nothing where it has finished."""
