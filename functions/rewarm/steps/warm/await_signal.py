"""States `Await Signal` and `Await Signal Of Snapshot`: who waits leaves its token where an event finds it.

The wait ends by an event, by DELETE /restores/{id} or by its time-out; all lead to the same look, so that
lost, doubled and early events change nothing but the time.
"""

from __future__ import annotations

from dataclasses import dataclass

from rewarm.contracts import AwaitSignalEvent, AwaitSignalResult
from rewarm.domain.ready.waits import cancel_signal, command_signal, fast_restore_signal, volume_signal
from rewarm.ports.executions import Waiters
from rewarm.ports.restores import RestoreTable
from rewarm.steps.record.records import stop_if_cancelled

KEPT_SECONDS = 3_600
"""Beyond the wait itself: DynamoDB removes what has expired hours later anyway."""


@dataclass(frozen=True, kw_only=True)
class AwaitSignalPorts:
    """The ports that await_signal needs."""

    waiters: Waiters
    table: RestoreTable


def await_signal(
    event: AwaitSignalEvent,
    ports: AwaitSignalPorts,
) -> AwaitSignalResult:
    """The command's signal where an agent reads, the volume's where there is one, else the snapshot's.

    Raises RestoreCancelledError: who cancels leaves the mark first and then takes the tokens; here it is the
    other way round, so that one of both sees the other.
    """
    signal = _signal(event)
    seconds = event.wait_seconds + KEPT_SECONDS
    ports.waiters.add(signal, event.task_token, seconds=seconds)
    ports.waiters.replace(
        cancel_signal(event.restore_id, event.volume.index), event.task_token, seconds=seconds
    )
    stop_if_cancelled(ports.table, event.restore_id)
    return AwaitSignalResult(signal=signal)


def _signal(event: AwaitSignalEvent) -> str:
    if event.dispatch is not None:
        return command_signal(event.dispatch.command_id)
    if event.volume_id is not None:
        return volume_signal(event.volume_id)
    return fast_restore_signal(event.volume.snapshot_id, event.volume.availability_zone)
