"""State `Check Approval`: whether somebody has approved the plan, or the time for that is over."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from rewarm.contracts.base import Contract, StepEvent, WaitSeconds
from rewarm.contracts.values import Approval, ApprovalQuestion
from rewarm.domain.errors import ApprovalTimedOutError
from rewarm.domain.fleets import is_fleet
from rewarm.domain.plan.approval import STALE_AFTER
from rewarm.domain.units import clock_text, iso
from rewarm.ports.restores import RestoreTable
from rewarm.steps.record.approvals import answer, approval_of, ask, go_on
from rewarm.steps.record.restore import RestoreNotes, stop_if_cancelled
from rewarm.steps.registration import state
from rewarm.steps.select.turns import seconds_until

LOOK_SECONDS = 900
"""The longest time until the next look, so that an approval counts even if its wake-up is lost. A week of
looks is far below the 25,000 events of an execution.
"""


class CheckApprovalEvent(StepEvent):
    """Asks whether somebody has approved the plan that the restore waits with."""

    question: ApprovalQuestion


class CheckApprovalResult(Contract):
    """Whether the restore continues, and if not, when to look again."""

    approved: Approval | None = None
    plan_again: bool = Field(description="The plan is so old that its times do not hold any more.")
    wait_seconds: WaitSeconds


@state("Check Approval")
def check_approval(event: CheckApprovalEvent, *, table: RestoreTable) -> CheckApprovalResult:
    """Returns the approval, or how long to wait. Raises RestoreCancelledError, ApprovalTimedOutError.

    Writes the question again if the message could not write it, or the record is lost.
    """
    stop_if_cancelled(table, event.restore_id)
    approval = ask(event.restore_id, event.question, table)
    if approval.is_open and event.now >= approval.until:
        approval = _ended(event.restore_id, approval, event.now, table)
    if approval.ended_at is not None:
        raise ApprovalTimedOutError(
            f"nobody approved {_what(event.restore_id)} until {clock_text(approval.until)}; nothing was made "
            "for it, and nothing costs money"
        )
    is_approved = approval.approved_at is not None
    if is_approved:
        go_on(event.restore_id, table)
    return CheckApprovalResult(
        approved=approval if is_approved else None,
        plan_again=is_approved and event.now - approval.asked_at > STALE_AFTER,
        wait_seconds=max(1, min(LOOK_SECONDS, seconds_until(approval.until, event.now))),
    )


def _what(name: str) -> str:
    return "the fleet" if is_fleet(name) else "the restore"


def _ended(restore_id: str, approval: Approval, now: datetime, table: RestoreTable) -> Approval:
    """Ends the wait. A conditional write lets only the approval or the expiry win."""
    record = RestoreNotes(table, restore_id)
    answer(restore_id, record.read(), {"endedAt": iso(now)}, table)
    return approval_of(record.read()) or approval
