"""States `Await Signal …`: who waits leaves its token where an event, or who approves, finds it.

The wait ends by an event, by DELETE /restores/{id} or by its time-out; all lead to the same look, so that
lost, doubled and early events change nothing but the time.
"""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import Field

from rewarm.contracts.base import Contract, StepEvent
from rewarm.contracts.results import DispatchWarmerResult, WaitSeconds
from rewarm.contracts.values import VolumeAssignment
from rewarm.domain.errors import NotAwaitingApprovalError
from rewarm.domain.ready.waits import (
    approval_signal,
    cancel_signal,
    command_signal,
    fast_restore_signal,
    volume_signal,
)
from rewarm.ports.executions import Waiters
from rewarm.ports.restores import RestoreTable
from rewarm.steps.record.approvals import approval_of
from rewarm.steps.record.restore import RestoreNotes, stop_if_cancelled
from rewarm.steps.registration import state

KEPT_SECONDS = 3_600
"""Beyond the wait itself: DynamoDB removes what has expired hours later anyway."""


class AwaitSignalEvent(StepEvent):
    """Asks to be woken by an event of AWS, or without a volume by an approval of the restore.

    The task with the token waits no longer than `wait_seconds`.
    """

    volume: VolumeAssignment | None = None
    volume_id: str | None = None
    dispatch: DispatchWarmerResult | None = None
    task_token: str = Field(min_length=1, max_length=2_048)
    wait_seconds: WaitSeconds


class AwaitSignalResult(Contract):
    """What is waited for."""

    signal: str


@dataclass(frozen=True, kw_only=True)
class AwaitSignalPorts:
    """The ports that await_signal needs."""

    waiters: Waiters
    table: RestoreTable


@state("Await Signal", "Await Signal Of Snapshot", "Await Signal Of Approval")
def await_signal(
    event: AwaitSignalEvent,
    ports: AwaitSignalPorts,
) -> AwaitSignalResult:
    """The command's signal where an agent reads, the volume's where there is one, else the snapshot's.

    Without a volume it is that of the restore's approval.

    Raises RestoreCancelledError, NotAwaitingApprovalError: who cancels or approves leaves the mark first and
    then takes the tokens; here it is the other way round, so that one of both sees the other.
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
    """Who approves writes it down and then takes the token, too."""
    approval = approval_of(RestoreNotes(table, restore_id).read())
    if approval is not None and not approval.is_open:
        raise NotAwaitingApprovalError("the question has its answer")


def _signal(event: AwaitSignalEvent, volume: VolumeAssignment) -> str:
    if event.dispatch is not None:
        return command_signal(event.dispatch.command_id)
    if event.volume_id is not None:
        return volume_signal(event.volume_id)
    return fast_restore_signal(volume.snapshot_id, volume.availability_zone)
