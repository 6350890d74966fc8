"""States `Await Signal` and `Await Signal Of Snapshot`: who waits leaves its token where an event finds it.

The wait ends by an event or by its time-out; both lead to the same look, so that lost, doubled and early
events change nothing but the time.
"""

from __future__ import annotations

from rewarm.contracts import AwaitSignalEvent, AwaitSignalResult
from rewarm.domain.signals import command_signal, fast_restore_signal, volume_signal
from rewarm.ports_signals import Waiters

KEPT_SECONDS = 3_600
"""Beyond the wait itself: DynamoDB removes what has expired hours later anyway."""


def await_signal(event: AwaitSignalEvent, *, waiters: Waiters) -> AwaitSignalResult:
    """The command's signal where an agent reads, the volume's where there is one, else the snapshot's."""
    signal = _signal(event)
    waiters.add(signal, event.task_token, seconds=event.wait_seconds + KEPT_SECONDS)
    return AwaitSignalResult(signal=signal)


def _signal(event: AwaitSignalEvent) -> str:
    if event.dispatch is not None:
        return command_signal(event.dispatch.command_id)
    if event.volume_id is not None:
        return volume_signal(event.volume_id)
    return fast_restore_signal(event.volume.snapshot_id, event.volume.availability_zone)
