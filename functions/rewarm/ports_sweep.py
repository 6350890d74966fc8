"""What the sweeper needs from the world, beside the ports of the steps whose work it does again.

Every method may raise ThrottledError, ServiceUnavailableError, AccessDeniedError and RequestRefusedError.
"""

from __future__ import annotations

from typing import Protocol

from rewarm.domain.volume.leftovers import ExecutionEnd, FastRestoreClaim


class RestoreEndings(Protocol):
    """How executions behind a restore ended."""

    def ending(self, restore_id: str) -> ExecutionEnd:
        """Of the state machine `restore`."""

    def volume_runs(self, restore_id: str, index: int) -> bool:
        """The state machine `restore-volume` is at work for this one of its volumes."""


class RunningExecutions(Protocol):
    """All executions of the stack that run."""

    def names_running(self) -> frozenset[str]:
        """Of restores and of their volumes; those of the last seconds may be missing, or still there."""


class EnabledFastRestores(Protocol):
    """Fast snapshot restores of the Region."""

    def enabled_places(self) -> list[tuple[str, str]]:
        """Snapshot and Availability Zone of all that are not disabled or about to be."""


class FastRestoreClaims(Protocol):
    """Who of us relies on a fast snapshot restore."""

    def claim(self, snapshot_id: str, availability_zone: str) -> FastRestoreClaim | None:
        """None where nobody of us has to do with it."""


class RunningWork(Protocol):
    """Executions of the two state machines that restore."""

    def running(self) -> dict[str, str]:
        """The restore's id by the execution's ARN."""

    def stop(self, execution_arn: str, cause: str) -> None:
        """One that has ended by itself meanwhile stays as it is."""


class OwnStack(Protocol):
    """The CloudFormation stack that all of this is part of."""

    def goes_away(self, stack_id: str) -> bool:
        """It is being deleted, or its creation taken back; false while it is updated."""
