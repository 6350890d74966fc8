"""What the sweeper asks of Step Functions: all that run at once, and one by one only what is not among them.

ListExecutions gives up to a thousand in a page, DescribeExecution one. It is best effort (botocore
ListExecutions: "may not reflect very recent updates and changes"): what it leaves out is looked at, what it
shows and has just ended is the next sweep's.
"""

from __future__ import annotations

from functools import cached_property
from typing import Protocol

from rewarm.domain.errors import RestoreError
from rewarm.domain.volume.leftovers import ExecutionEnd, volume_execution
from rewarm.ports_performance import RestoreExecutions
from rewarm.ports_sweep import RestoreEndings, RunningExecutions


class Asked(RestoreExecutions, RestoreEndings, Protocol):
    """What a sweep asks of executions."""


class _Executions(Asked, RunningExecutions, Protocol):
    """And all that run."""


class KnownExecutions:
    """The ports RestoreExecutions and RestoreEndings, for one sweep."""

    def __init__(self, executions: _Executions) -> None:
        self._executions = executions

    @cached_property
    def _running(self) -> frozenset[str]:
        try:
            return self._executions.names_running()
        except RestoreError:
            return frozenset()  # then each is looked at by itself

    def is_over(self, restore_id: str, index: int) -> bool:
        """Neither the restore nor the restore of this one of its volumes runs any more."""
        if not self._running.isdisjoint((restore_id, volume_execution(restore_id, index))):
            return False
        return self._executions.is_over(restore_id, index)

    def ending(self, restore_id: str) -> ExecutionEnd:
        """Of the state machine `restore`."""
        return ExecutionEnd("RUNNING") if restore_id in self._running else self._executions.ending(restore_id)

    def volume_runs(self, restore_id: str, index: int) -> bool:
        """The state machine `restore-volume` is at work for this one of its volumes."""
        name = volume_execution(restore_id, index)
        return name in self._running or self._executions.volume_runs(restore_id, index)
