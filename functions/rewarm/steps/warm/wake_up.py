"""An event of AWS ends the waits for its subject; the handler `wake_up` calls this."""

from __future__ import annotations

from dataclasses import dataclass

from rewarm.domain.ready.waits import signal_of
from rewarm.ports import JsonObject
from rewarm.ports.executions import Tasks, Waiters


@dataclass(frozen=True, kw_only=True)
class WakeUpPorts:
    """The ports that wake_up needs."""

    waiters: Waiters
    tasks: Tasks


def wake_up(
    event: JsonObject,
    ports: WakeUpPorts,
) -> int:
    """Returns how many were woken; 0 for an event that nobody waits for, a foreign or a repeated one."""
    signal = signal_of(event)
    if signal is None:
        return 0
    return sum(ports.tasks.wake(token) for token in ports.waiters.take(signal))
