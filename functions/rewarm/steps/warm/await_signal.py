"""States `Await Signal …`: stores the token of a waiting state, for events and approvals.

The wait ends by an event, by DELETE /restores/{id} or by its time-out. All lead to the same check, so lost,
repeated and early events change only its time.
"""

from __future__ import annotations

from pydantic import Field

from rewarm.contracts.base import Contract, StepEvent, WaitSeconds
from rewarm.contracts.values import DispatchWarmerResult, VolumeAssignment
from rewarm.domain.errors import NotAwaitingApprovalError
from rewarm.domain.ready.waits import (
    approval_signal,
    cancel_signal,
    command_signal,
    fast_restore_signal,
    volume_signal,
)
from rewarm.domain.value import Value
from rewarm.ports.executions import Waiters
from rewarm.ports.restores import RestoreTable
from rewarm.steps.record.approvals import approval_of
from rewarm.steps.record.restore import RestoreNotes, stop_if_cancelled
from rewarm.steps.registration import state

KEPT_SECONDS = 3_600
"""How long a token is kept after its wait; DynamoDB removes expired items hours later."""


class AwaitSignalEvent(StepEvent):
    """Asks to be woken by an event of AWS, or, without a volume, by an approval of the restore.

    The task with the token waits at most `wait_seconds`.
    """

    volume: VolumeAssignment | None = None
    volume_id: str | None = None
    dispatch: DispatchWarmerResult | None = None
    task_token: str = Field(min_length=1, max_length=2_048)
    wait_seconds: WaitSeconds


class AwaitSignalResult(Contract):
    """The signal that ends the wait."""

    signal: str


class AwaitSignalPorts(Value, kw_only=True):
    """The ports that await_signal needs."""

    waiters: Waiters
    table: RestoreTable


@state("Await Signal", "Await Signal Of Snapshot", "Await Signal Of Approval")
def await_signal(event: AwaitSignalEvent, ports: AwaitSignalPorts) -> AwaitSignalResult:
    """Stores the token for the signal of the agent's command, else of the volume, else of the snapshot.

    Without a volume it waits for the restore's approval.

    Raises RestoreCancelledError, NotAwaitingApprovalError. Cancelling or approving writes the mark first and
    then takes the tokens; here the token comes first, so that each sees what the other wrote.
    """
    seconds = event.wait_seconds + KEPT_SECONDS
    if event.volume is None:
        signal = approval_signal(event.restore_id)
        ports.waiters.replace(signal, event.task_token, seconds=seconds)
        _stop_if_approved(event.restore_id, ports.table)
    else:
        signal = _signal(event, event.volume)
        ports.waiters.add(signal, event.task_token, seconds=seconds)
        cancelling = cancel_signal(event.restore_id, event.volume.index)
        ports.waiters.replace(cancelling, event.task_token, seconds=seconds)
    stop_if_cancelled(ports.table, event.restore_id)
    return AwaitSignalResult(signal=signal)


def _stop_if_approved(restore_id: str, table: RestoreTable) -> None:
    """Raises NotAwaitingApprovalError if the approval came before the token was stored."""
    approval = approval_of(RestoreNotes(table, restore_id).read())
    if approval is not None and not approval.is_open:
        raise NotAwaitingApprovalError("the question has its answer")


def _signal(event: AwaitSignalEvent, volume: VolumeAssignment) -> str:
    if event.dispatch is not None:
        return command_signal(event.dispatch.command_id)
    if event.volume_id is not None:
        return volume_signal(event.volume_id)
    return fast_restore_signal(volume.snapshot_id, volume.availability_zone)
