"""Serves the states Await Signal and Await Signal Of Snapshot."""

from __future__ import annotations

from rewarm.contracts import AwaitSignalEvent, AwaitSignalResult
from rewarm.handlers import wiring
from rewarm.observability import step_handler
from rewarm.steps.warm.await_signal import await_signal

_WAITERS = wiring.waiters()
_TABLE = wiring.table()


@step_handler(AwaitSignalEvent)
def lambda_handler(event: AwaitSignalEvent) -> AwaitSignalResult:
    """Where an event finds it."""
    return await_signal(event, waiters=_WAITERS, table=_TABLE)
