"""The route POST /restores/{id}/approve: somebody approves the plan that a restore waits with, or a fleet.

Slack's button does the same. The approval is in the record before the restore is woken, and a restore that is
about to wait leaves its token before it looks at the record. So one of both sees the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from rewarm.contracts.values import Approval
from rewarm.domain.errors import NotAwaitingApprovalError, RestoreEndedError
from rewarm.domain.fleets import FLEETS_RUNNING, is_fleet, status_of_fleet
from rewarm.domain.ready.waits import approval_signal
from rewarm.domain.units import iso, price_text
from rewarm.ports import JsonObject
from rewarm.steps.record.approvals import answer, approval_of
from rewarm.steps.record.restore import KnownRestore, RestoreNotes
from rewarm.steps.request.routes import CancelRestorePorts, found_record


@dataclass(frozen=True, kw_only=True)
class ApproveRestorePorts(CancelRestorePorts):
    """The ports that approve_restore needs."""


def approve_restore(
    restore_id: str,
    *,
    by: str,
    now: datetime,
    ports: ApproveRestorePorts,
    asked_at: datetime | None = None,
) -> JsonObject:
    """Approves what the restore or fleet waits with; `asked_at` names the question that was shown, if any.

    Approving again changes nothing: the first approval counts, and who waits is woken once more. Raises
    RestoreNotFoundError, RestoreEndedError, NotAwaitingApprovalError.
    """
    record = _found(restore_id, ports)
    approval = _meant(restore_id, record, asked_at)
    if approval.approved_at is None:
        given = {"approvedAt": iso(now), "by": by}
        if answer(restore_id, record, given, ports.table):
            RestoreNotes(ports.table, restore_id).append_event(_news(approval, by, now))
        record = RestoreNotes(ports.table, restore_id).read()
        approval = _meant(restore_id, record, asked_at)
    if approval.approved_at is None:
        raise NotAwaitingApprovalError(f"{restore_id} is being cancelled")
    for token in ports.waiters.take(approval_signal(restore_id)):
        ports.tasks.wake(token)
    return {"restoreId": restore_id, "status": _status(record), "approval": approval.to_json()}


def _found(name: str, ports: ApproveRestorePorts) -> KnownRestore:
    """The record of the restore, or of the fleet with this id. Raises RestoreNotFoundError."""
    record = RestoreNotes(ports.table, name).read()
    if is_fleet(name) and record.status is not None:
        return record
    return found_record(name, record, ports)


def _status(record: KnownRestore) -> str | None:
    return status_of_fleet(record.status) or record.status


def _has_ended(record: KnownRestore) -> bool:
    of_fleet = status_of_fleet(record.status)
    return record.is_finished if of_fleet is None else of_fleet not in FLEETS_RUNNING


def _meant(restore_id: str, record: KnownRestore, asked_at: datetime | None) -> Approval:
    """The restore's approval, given or not. Raises RestoreEndedError, NotAwaitingApprovalError."""
    status, approval = _status(record), approval_of(record)
    if _has_ended(record):
        raise RestoreEndedError(f"{restore_id} has ended: it is {status}; nothing is left to approve")
    if approval is None:
        raise NotAwaitingApprovalError(f"{restore_id} does not wait for an approval: it is {status}")
    if approval.ended_at is not None:
        raise NotAwaitingApprovalError(f"nobody approved {restore_id} in time: it is about to fail")
    if asked_at is not None and asked_at != approval.asked_at:
        raise NotAwaitingApprovalError(
            f"{restore_id} has another plan by now, for {price_text(approval.usd)}; look at it first"
        )
    return approval


def _news(approval: Approval, by: str, now: datetime) -> JsonObject:
    """For the history of the restore."""
    return {
        "event": "approved",
        "at": iso(now),
        "title": f"Approved by {by}",
        "text": f"{by} approved the plan for {price_text(approval.usd)}. {approval.reason}",
    }
