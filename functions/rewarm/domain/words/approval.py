"""The words of `approval`: what waits, for how much, until when, and how to approve it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from rewarm.domain.units import clock_text, iso, usd_text
from rewarm.domain.words.message import AnnouncedVolume, Message, Severity
from rewarm.domain.words.plan import plan_lines, subject_of
from rewarm.domain.words.schedule import PlannedGroup


@dataclass(frozen=True, slots=True)
class ApprovalFacts:
    """The plan that waits, and the question."""

    volumes: Sequence[AnnouncedVolume]
    groups: Sequence[PlannedGroup]
    usd: Decimal
    reason: str
    asked_at: datetime
    until: datetime
    ready_p90_at: datetime
    deadline_at: datetime | None


def approval(restore_id: str, facts: ApprovalFacts) -> Message:
    """The message that asks for the approval; `links` has the route that approves exactly this plan."""
    until = clock_text(facts.until)
    fields = [
        ("Price", usd_text(facts.usd)),
        ("Approve by", until),
        ("Full speed expected by", f"{clock_text(facts.ready_p90_at)} (P90), if it is approved now"),
    ]
    if facts.deadline_at is not None:
        fields.append(("Deadline", clock_text(facts.deadline_at)))
    path = f"/restores/{restore_id}"
    return Message(
        event="approval",
        restore_id=restore_id,
        title=f"Approval needed, {usd_text(facts.usd)}: {subject_of(facts.volumes)}",
        text="\n".join([facts.reason, *plan_lines(facts.volumes, facts.groups)]),
        severity=Severity.WARNING,
        fields=tuple(fields),
        next_steps=(
            f"To approve: rewarm approve {restore_id} (or POST {path}/approve).",
            f"To cancel: rewarm cancel {restore_id} (or DELETE {path}).",
            f"If nobody approves it by {until}, the restore fails. Nothing was made so far.",
        ),
        links=(("restore", path), ("approve", f"{path}/approve?askedAt={iso(facts.asked_at)}")),
    )
