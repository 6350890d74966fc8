"""What the sweeper asks of Step Functions: all that run at once, and one by one only what is not among them.

ListExecutions gives up to a thousand in a page, DescribeExecution one. It is best effort (botocore
ListExecutions: "may not reflect very recent updates and changes"): what it leaves out is looked at, what it
shows and has just ended is the next sweep's.
"""

from __future__ import annotations

from datetime import datetime
from functools import cached_property

from rewarm.domain.errors import RestoreError
from rewarm.domain.volume.leftovers import ExecutionEnd, ExecutionStart, volume_execution
from rewarm.ports.executions import StackExecutions


class KnownExecutions:
    """The port RestoreExecutions, for one sweep."""

    def __init__(self, executions: StackExecutions) -> None:
        self._executions = executions

    @cached_property
    def _running(self) -> frozenset[str]:
        try:
            return self._executions.names_running()
        except RestoreError:
            return frozenset()  # then each is looked at by itself

    def is_over(self, restore_id: str, index: int) -> bool:
        """Asks only where the list shows neither of the two."""
        if not self._running.isdisjoint((restore_id, volume_execution(restore_id, index))):
            return False
        return self._executions.is_over(restore_id, index)

    def ending(self, restore_id: str) -> ExecutionEnd:
        """Asks only where the list does not show the restore."""
        return ExecutionEnd("RUNNING") if restore_id in self._running else self._executions.ending(restore_id)

    def volume_runs(self, restore_id: str, index: int) -> bool:
        """Asks only where the list does not show the volume."""
        name = volume_execution(restore_id, index)
        return name in self._running or self._executions.volume_runs(restore_id, index)

    def begun(self, restore_id: str, index: int | None = None) -> ExecutionStart | None:
        """As Step Functions says; no list has it."""
        return self._executions.begun(restore_id, index)

    def ended_badly(self, since: datetime) -> list[str]:
        """As Step Functions says."""
        return self._executions.ended_badly(since)

    def volumes_at(self, instant: datetime) -> list[tuple[str, int]]:
        """As Step Functions says."""
        return self._executions.volumes_at(instant)
