"""The ports of EC2 instances, and of SSM Run Command on them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from rewarm.domain.model import (
    CommandDocument,
    CommandStatus,
    Instance,
    InstanceEbsLimits,
    StatusChecks,
    WantedTags,
)
from rewarm.domain.ready.agent_output import SentCommand


class Instances(Protocol):
    """EC2 instances, and whether Systems Manager reaches them."""

    def get(self, instance_id: str) -> Instance:
        """Returns the instance with its devices. Raises TargetNotFoundError."""

    def existing(self, instance_ids: Sequence[str]) -> Iterator[Instance]:
        """Yields those of the instances that exist; whether Systems Manager reaches them is not asked."""

    def reached(self, instance_ids: Sequence[str]) -> Iterator[Instance]:
        """Yields those of the instances that exist, with what Systems Manager knows of them."""

    def with_tags(self, tags: WantedTags) -> Iterator[Instance]:
        """Yields running instances that carry every one of the tags; Systems Manager is not asked."""

    def is_online(self, instance_id: str) -> bool:
        """Returns whether Systems Manager reaches the instance; EC2 is not asked."""

    def availability_zones(self) -> list[str]:
        """Returns the names of the Region's Availability Zones."""

    def ebs_limits(self, instance_type: str) -> InstanceEbsLimits:
        """Returns the EBS limits of the type (botocore, DescribeInstanceTypes)."""


class InstanceStates(Protocol):
    """Starting and stopping instances, and what EC2's status checks say of them."""

    def start(self, instance_id: str, tags: Mapping[str, str]) -> None:
        """Tags the instance and starts it. Does nothing more if it runs.

        Raises TargetNotFoundError, RequestRefusedError, ServiceUnavailableError (also without capacity).
        """

    def stop(self, instance_id: str) -> None:
        """Stops the instance, never by force. Does nothing if it is stopped."""

    def untag(self, instance_id: str, *keys: str) -> None:
        """Removes the tags of these keys. Does nothing if the instance or the tags are gone."""

    def status_checks(self, instance_id: str) -> StatusChecks | None:
        """Returns the status checks; None if the instance does not run."""


class RootVolumes(Protocol):
    """EC2's tasks that replace the root volume of a running instance."""

    def begin_swap(self, instance_id: str, volume_id: str, *, client_token: str) -> str:
        """Has EC2 make the available volume the root volume, which reboots the instance, and returns the
        task's id. The old one is kept. The same token does it once.

        Raises RequestRefusedError, TargetNotFoundError, VolumeNotFoundError.
        """

    def swaps(self, instance_id: str) -> dict[str, str]:
        """Returns the states of the instance's tasks by id (botocore: ec2 ReplaceRootVolumeTask.TaskState).

        EC2 may not show one of the last seconds yet.
        """


Parameters = Mapping[str, str]
"""Values of an SSM document's parameters by name."""


APPLY = "apply"
"""Stands for a platform: the document whose agent writes."""


class SentCommands(Protocol):
    """Commands that were sent, whatever their documents are."""

    def time(self) -> datetime:
        """Returns the present time, for the note of a command that is about to be sent."""

    def cancel(self, command_id: str, instance_id: str) -> None:
        """Cancels the command. Does nothing if it has finished."""


class Commands(SentCommands, Protocol):
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

    def status(self, command_id: str, instance_id: str) -> CommandStatus | None:
        """Returns the invocation's status; None while SSM does not know it yet, as right after `send`."""


class CommandDocuments(Protocol):
    """Documents of the account."""

    def find(self, name: str, version: str) -> CommandDocument | None:
        """Returns the version of the document; None if there is none. `version` may be $DEFAULT."""


@dataclass(frozen=True, slots=True)
class HookCall:
    """A document to send, with the values of its parameters."""

    document: str
    parameters: Mapping[str, Sequence[str]]
    version: str | None = None
    """None for the default version."""
    sha256: str | None = None
    """If the version has another one, Systems Manager refuses the command."""


class Hooks(SentCommands, Protocol):
    """SSM Run Command with any document that the role may send."""

    def send(self, instance_id: str, call: HookCall, *, comment: str, timeout_seconds: int) -> str:
        """Sends a command and returns its id; as Commands.send.

        Raises AgentUnreachableError, and RequestRefusedError if the document is gone or has changed.
        """

    def find(self, document: str, comment: str, *, since: datetime) -> list[SentCommand]:
        """As Commands.find."""

    def outcome(self, command_id: str, instance_id: str) -> CommandStatus | None:
        """Returns the status of the whole document, with the output of the step that failed, or of the last.

        None while SSM does not know the command yet.
        """
