"""What the record of a restore or fleet says of its approval: the question, who approved, or that nobody did.

There is one question at a time. An answer is a conditional write on exactly the question that it answers. So
of an approval, an expiry and a new question, only the first one succeeds.
"""

from __future__ import annotations

from rewarm.contracts.values import Approval, ApprovalQuestion
from rewarm.domain.fleets import FleetStatus, is_fleet
from rewarm.ports import JsonObject
from rewarm.ports.restores import RestoreTable
from rewarm.steps.record.restore import KnownRestore, RestoreNotes, Status

_APPROVAL = "approval"
"""Attribute of a restore or fleet that waits for an approval, or waited for it."""
_AWAITING = (Status.AWAITING_APPROVAL, FleetStatus.AWAITING_APPROVAL.recorded)


def approval_of(record: KnownRestore) -> Approval | None:
    """The approval; None if the restore never waited for one."""
    found = record.raw.get(_APPROVAL)
    return Approval.model_validate(found) if isinstance(found, dict) else None


def approval_json(record: KnownRestore) -> JsonObject | None:
    """As the record has it."""
    found: JsonObject | None = record.raw.get(_APPROVAL)
    return found


def is_unapproved(record: KnownRestore) -> bool:
    """Whether the restore waits or waited for an approval that nobody gave."""
    found = approval_json(record)
    return bool(found) and not (found or {}).get("approvedAt")


def ask(restore_id: str, question: ApprovalQuestion, table: RestoreTable) -> Approval:
    """Notes that the restore waits for the answer to this question, and returns the question's state.

    Asking again changes nothing. A question that was lost with its record is asked again.
    """
    restore = RestoreNotes(table, restore_id)
    record = restore.read()
    known = approval_of(record)
    if known is None or known.asked_at != question.asked_at:
        table.replace_value(restore_id, _APPROVAL, question.to_json(), was=record.raw.get(_APPROVAL))
        known = approval_of(restore.read()) or Approval.model_validate(question)
    if known.is_open and record.status not in _AWAITING:
        _set_status(restore_id, Status.AWAITING_APPROVAL, FleetStatus.AWAITING_APPROVAL, table)
    return known


def go_on(restore_id: str, table: RestoreTable) -> None:
    """Notes that the plan is approved, so that the restore or the fleet no longer waits."""
    _set_status(restore_id, Status.PLANNED, FleetStatus.RESTORING, table)


def _set_status(restore_id: str, status: Status, of_fleet: FleetStatus, table: RestoreTable) -> None:
    """A fleet has no steps that outlive its execution, so its status needs no condition."""
    if is_fleet(restore_id):
        table.update(restore_id, {"status": of_fleet.recorded})
    else:
        table.advance(restore_id, status.value)


def answer(restore_id: str, record: KnownRestore, changes: JsonObject, table: RestoreTable) -> bool:
    """Answers the recorded question; False if another answer came first or the restore was cancelled."""
    asked = record.raw[_APPROVAL]
    return table.replace_value(restore_id, _APPROVAL, {**asked, **changes}, was=asked)
