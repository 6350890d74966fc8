"""States `Announce Plan`, `Announce Approval` and `Announce Fallback`: how the volumes will be restored.

With `Announce Approval` the restore or the fleet waits with its plan until somebody approves it.
"""

from __future__ import annotations

from rewarm.contracts.base import Contract, Instant
from rewarm.contracts.events import AnnounceEvent
from rewarm.contracts.request import Notify
from rewarm.contracts.values import (
    ApprovalQuestion,
    Failure,
    Plan,
    PlanSummary,
    Trigger,
    VolumeAssignment,
    VolumePlan,
)
from rewarm.domain.units import clock_text
from rewarm.domain.words import plan as words
from rewarm.domain.words.failures import explain
from rewarm.domain.words.message import Message
from rewarm.ports.restores import RestoreTable
from rewarm.steps.announce.usable import planned_volume
from rewarm.steps.record.approvals import ask
from rewarm.steps.record.restore import Change, KnownRestore, nothing


class PlanDetails(Contract):
    """Details of `plan`."""

    summary: PlanSummary
    plans: list[VolumePlan]
    trigger: Trigger
    deadline_at: Instant | None = None


class FallbackDetails(Contract):
    """Details of `fallback`."""

    volume: VolumeAssignment
    plan: Plan
    volume_id: str | None = None
    failure: Failure
    rejected: tuple[str, ...] = ()


def announce_plan(event: AnnounceEvent, _record: KnownRestore) -> tuple[Message, Change]:
    """The message of the plan; the record keeps each volume's plan."""
    details = PlanDetails.model_validate(event.details)
    summary = details.summary
    facts = words.PlanMessageFacts(
        volumes=[planned_volume(planned.volume, planned.plan) for planned in details.plans],
        summary=summary,
        started_by=_started_by(details.trigger),
        deadline_at=details.deadline_at,
        by_hand={way.program: way.ready_seconds for way in summary.by_hand},
        prices=f"{summary.price_source}, {clock_text(summary.price_book_as_of)[:10]}"
        + (" (more than 90 days old)" if summary.price_book_stale else ""),
        dry_run=event.request is not None and event.request.dry_run,
        waits=summary.needs_approval is not None,
    )
    message = words.plan(event.restore_id, facts)
    return message, lambda restore: restore.note_planned(summary, details.plans)


def _started_by(trigger: Trigger) -> str:
    if trigger.kind == "alarm":
        return f'The alarm "{trigger.alarm_name}" went off.'
    if trigger.kind == "schedule":
        return f"Scheduled{f' by {trigger.schedule_name}' if trigger.schedule_name else ''}."
    if trigger.kind == "fleet":
        return f"Part of the fleet {trigger.fleet_id}."
    if trigger.kind == "rule":
        return f"Adopted by the rule {trigger.rule_name}."
    return f"Requested by {trigger.asked_by.name}." if trigger.asked_by else "Requested through the API."


def announce_fallback(event: AnnounceEvent, _record: KnownRestore) -> tuple[Message, Change]:
    """The message that another plan takes over; `Choose Fallback` has written it to the record."""
    details = FallbackDetails.model_validate(event.details)
    reason = explain(details.failure.error, details.failure.cause).sentence
    return words.fallback(event.restore_id, planned_volume(details.volume, details.plan), reason), nothing


class ApprovalDetails(Contract):
    """Details of `approval`."""

    question: ApprovalQuestion
    summary: PlanSummary
    plans: list[VolumePlan] = []
    deadline_at: Instant | None = None
    volume_count: int | None = None
    """Only for a fleet, whose message has no plans."""
    notify: Notify | None = None


def note_asked(event: AnnounceEvent, table: RestoreTable) -> None:
    """Writes the question before the message is sent, because its reader may approve at once."""
    ask(event.restore_id, ApprovalDetails.model_validate(event.details).question, table)


def announce_approval(event: AnnounceEvent, _record: KnownRestore) -> tuple[Message, Change]:
    """The message that asks for the approval."""
    details = ApprovalDetails.model_validate(event.details)
    question = details.question
    facts = words.ApprovalFacts(
        volumes=[planned_volume(planned.volume, planned.plan) for planned in details.plans],
        summary=details.summary,
        usd=question.usd,
        reason=question.reason,
        asked_at=question.asked_at,
        until=question.until,
        deadline_at=details.deadline_at,
        volumes_of_fleet=details.volume_count,
    )
    return words.approval(event.restore_id, facts), nothing
