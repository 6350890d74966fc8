"""The ports of Step Functions' executions."""

from __future__ import annotations

from typing import Protocol

from rewarm.domain.volume.leftovers import ExecutionEnd
from rewarm.ports import JsonObject


class Executions(Protocol):
    """One state machine whose executions are started."""

    def start(self, restore_id: str, execution_input: JsonObject) -> str:
        """Starts an execution of this name and returns its ARN. The same name with the same input starts one
        only.
        """


class RestoreExecutions(Protocol):
    """The executions of one restore: its own, and one of `restore-volume` for each volume."""

    def is_over(self, restore_id: str, index: int) -> bool:
        """Returns whether neither the restore runs nor its volume of this index."""

    def ending(self, restore_id: str) -> ExecutionEnd:
        """Returns how the execution of the state machine `restore` ended, or that it runs."""

    def volume_runs(self, restore_id: str, index: int) -> bool:
        """Returns whether the state machine `restore-volume` is at work for the volume of this index."""


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
        """Stops the execution; `cause` stands in its history. Does nothing where it has ended."""
