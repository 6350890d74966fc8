"""State `Announce Approval`: the restore or the fleet waits with its plan until somebody approves it."""

from __future__ import annotations

from rewarm.contracts.base import Contract, Instant
from rewarm.contracts.events import AnnounceEvent
from rewarm.contracts.request import Notify
from rewarm.contracts.values import ApprovalQuestion, PlanSummary, VolumePlan
from rewarm.domain.words import plan as words
from rewarm.domain.words.message import Message
from rewarm.ports.restores import RestoreTable
from rewarm.steps.announce.volume_facts import planned_volume
from rewarm.steps.record.approvals import ask
from rewarm.steps.record.restore import Change, KnownRestore, nothing


class ApprovalDetails(Contract):
    """Details of `approval`."""

    question: ApprovalQuestion
    summary: PlanSummary
    plans: list[VolumePlan] = []
    deadline_at: Instant | None = None
    volume_count: int | None = None
    """Of a fleet, which has no plans in its message."""
    notify: Notify | None = None


def note_asked(event: AnnounceEvent, table: RestoreTable) -> None:
    """Before the message is sent: whoever reads it may approve at once."""
    ask(event.restore_id, ApprovalDetails.model_validate(event.details).question, table)


def announce_approval(event: AnnounceEvent, _record: KnownRestore) -> tuple[Message, Change]:
    """The message that asks for the approval."""
    details = ApprovalDetails.model_validate(event.details)
    question = details.question
    facts = words.ApprovalFacts(
        volumes=[planned_volume(planned.volume, planned.plan) for planned in details.plans],
        groups=details.summary.schedule,
        usd=question.usd,
        reason=question.reason,
        asked_at=question.asked_at,
        until=question.until,
        ready_p90_at=details.summary.ready_p90_at,
        deadline_at=details.deadline_at,
        volumes_of_fleet=details.volume_count,
        why=details.summary.why,
    )
    return words.approval(event.restore_id, facts), nothing
