"""Executions of the state machines."""

from __future__ import annotations

from typing import Protocol

from rewarm.domain.volume.leftovers import ExecutionEnd
from rewarm.ports import JsonObject


class Executions(Protocol):
    """The state machine `restore`."""

    def start(self, restore_id: str, execution_input: JsonObject) -> str:
        """The execution's ARN; the same id with the same input starts nothing new."""


class RestoreExecutions(Protocol):
    """The executions behind a restore."""

    def is_over(self, restore_id: str, index: int) -> bool:
        """Neither the restore nor the restore of this one of its volumes runs any more."""

    def ending(self, restore_id: str) -> ExecutionEnd:
        """Of the state machine `restore`."""

    def volume_runs(self, restore_id: str, index: int) -> bool:
        """The state machine `restore-volume` is at work for this one of its volumes."""


class StackExecutions(RestoreExecutions, Protocol):
    """And all executions of the stack that run."""

    def names_running(self) -> frozenset[str]:
        """Of restores and of their volumes; those of the last seconds may be missing, or still there."""

    def running(self) -> dict[str, str]:
        """The restore's id by the execution's ARN."""

    def stop(self, execution_arn: str, cause: str) -> None:
        """One that has ended by itself meanwhile stays as it is."""
