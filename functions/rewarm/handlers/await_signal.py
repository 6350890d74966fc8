"""Serves the states Await Signal, Await Signal Of Snapshot and Await Signal Of Approval."""

from __future__ import annotations

from rewarm.contracts import AwaitSignalEvent, AwaitSignalResult
from rewarm.handlers import wiring
from rewarm.observability import step_handler
from rewarm.steps.warm.await_signal import AwaitSignalPorts, await_signal

_PORTS = AwaitSignalPorts(
    waiters=wiring.waiters(),
    table=wiring.table(),
)


@step_handler(AwaitSignalEvent)
def lambda_handler(event: AwaitSignalEvent) -> AwaitSignalResult:
    """Where an event finds it."""
    return await_signal(event, _PORTS)
