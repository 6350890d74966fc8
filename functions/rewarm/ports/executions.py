"""The ports of Step Functions' executions, and of what else the stack has running.

Executions may wait for an event of AWS; the function that gets the event wakes them.
"""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from rewarm.domain.model import RunningFastRestore
from rewarm.domain.volume.leftovers import ExecutionEnd, ExecutionStart
from rewarm.ports import JsonObject

LOOK_PREFIX = "rule-look-"
"""The prefix of the names of executions that only wait for a look of rules."""


class Executions(Protocol):
    """One state machine whose executions are started."""

    def start(self, restore_id: str, execution_input: JsonObject) -> str:
        """Starts an execution and returns its ARN. The same name and input start it only once."""


class FleetExecutions(Executions, Protocol):
    """The state machine `fleet`: one execution for each run of a fleet."""

    def arn_of(self, name: str) -> str:
        """Returns the ARN that an execution of this name has or will have."""

    def ending(self, arn: str) -> ExecutionEnd:
        """Returns how the execution ended, or that it runs."""

    def stop(self, arn: str, cause: str) -> None:
        """Stops the execution, and with it the restores that it waits for; nothing if it has ended."""


class VolumeExecutions(Protocol):
    """The state machine `restore-volume`: one execution for each volume."""

    def ending(self, restore_id: str, index: int) -> ExecutionEnd:
        """Returns how the execution of the volume of this index ended, or that it runs."""


class RestoreExecutions(Protocol):
    """The executions of one restore: its own, and one of `restore-volume` for each volume."""

    def is_over(self, restore_id: str, index: int) -> bool:
        """Returns whether neither the restore runs nor its volume of this index."""

    def ending(self, restore_id: str) -> ExecutionEnd:
        """Returns how the execution of the state machine `restore` ended, or that it runs."""

    def volume_runs(self, restore_id: str, index: int) -> bool:
        """Returns whether the state machine `restore-volume` is at work for the volume of this index."""

    def begun(self, restore_id: str, index: int | None = None) -> ExecutionStart | None:
        """Returns how the restore's execution began, or its volume's; None if none was started."""

    def ended_badly(self, since: datetime) -> list[str]:
        """Returns the restores whose executions were stopped, timed out or failed since then."""

    def volumes_at(self, instant: datetime) -> list[tuple[str, int]]:
        """Returns the volumes, by restore and index, whose executions ran within a minute of then."""


class StackExecutions(RestoreExecutions, Protocol):
    """The executions of all restores of the stack."""

    def names_running(self) -> frozenset[str]:
        """Returns the names of the executions that run, of restores and of their volumes.

        The list is some seconds late: one that has just started may be missing, and one that has just ended
        in it.
        """

    def running(self) -> dict[str, str]:
        """Returns the restore's id by the ARN of each execution that runs, restores before their volumes."""

    def stop(self, execution_arn: str, cause: str) -> None:
        """Stops the execution; `cause` stands in its history. Does nothing if it has ended."""


class Waiters(Protocol):
    """Who waits for which signal (domain.ready.signals), by the token of its task."""

    def add(self, signal: str, token: str, *, seconds: int) -> None:
        """Lets the token wait for so long. Adding it again changes nothing."""

    def replace(self, signal: str, token: str, *, seconds: int) -> None:
        """Lets the token wait for so long, in place of all others."""

    def take(self, signal: str) -> list[str]:
        """Returns the tokens of all who wait for the signal, and forgets them."""


class Tasks(Protocol):
    """Tasks of Step Functions that wait for a token."""

    def wake(self, token: str) -> bool:
        """Wakes the task; returns False if none waits with this token any more."""


class Inventory(Protocol):
    """The stack, its restores that run, and its fast snapshot restores that cost money."""

    def restores_in_flight(self) -> int:
        """Returns how many executions of the state machine `restore` run."""

    def fast_restores(self) -> list[RunningFastRestore]:
        """Returns those that this stack enabled and that are active, whoever relies on them."""

    def goes_away(self, stack_id: str) -> bool:
        """Returns whether the stack is being deleted or its creation rolled back; False for updates."""
