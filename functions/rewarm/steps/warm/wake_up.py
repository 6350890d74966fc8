"""What ends waits: events of AWS, which the handler `wake_up` gets, and whoever cancels a restore."""

from __future__ import annotations

from collections.abc import Iterable

from rewarm.domain.ready.waits import approval_signal, cancel_signal, signal_of
from rewarm.domain.value import Value
from rewarm.ports import JsonObject
from rewarm.ports.executions import Tasks, Waiters


class WakeUpPorts(Value, kw_only=True):
    """The ports that wake_up needs."""

    waiters: Waiters
    tasks: Tasks


def wake_up(event: JsonObject, ports: WakeUpPorts) -> int:
    """Returns how many were woken; 0 for an event that nobody waits for, a foreign or a repeated one."""
    signal = signal_of(event)
    if signal is None:
        return 0
    return sum(ports.tasks.wake(token) for token in ports.waiters.take(signal))


def wake_waiting(restore_id: str, indexes: Iterable[int], *, waiters: Waiters, tasks: Tasks) -> int:
    """Wakes and counts those that wait: the restore for its approval, or its volumes for an event of AWS."""
    signals = [approval_signal(restore_id), *(cancel_signal(restore_id, index) for index in indexes)]
    return sum(tasks.wake(token) for signal in signals for token in waiters.take(signal))
