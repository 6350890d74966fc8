"""The words of `approval`: what waits, for how much, until when, and how to approve it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import NamedTuple

from rewarm.domain.units import clock_text, count_text, iso, usd_text
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
    volumes_of_fleet: int | None = None
    """Of a fleet, whose message names no single volume."""
    why: str = ""


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
    place = _place(restore_id, facts)
    approve = f"/restores/{restore_id}/approve"
    return Message(
        event="approval",
        restore_id=restore_id,
        kind=place.kind.capitalize(),
        title=f"Approval needed, {usd_text(facts.usd)}: {place.subject}",
        text="\n".join([facts.reason, *place.lines]),
        severity=Severity.WARNING,
        fields=tuple(fields),
        next_steps=(
            f"To approve: rewarm approve {restore_id} (or POST {approve}).",
            f"To cancel: {place.cancel} {restore_id} (or DELETE {place.path}).",
            f"If nobody approves it by {until}, the {place.kind} fails. Nothing was made so far.",
        ),
        links=((place.kind, place.path), ("approve", f"{approve}?askedAt={iso(facts.asked_at)}")),
    )


class _Subject(NamedTuple):
    """What differs between a restore and a fleet."""

    kind: str
    path: str
    cancel: str
    subject: str
    lines: Sequence[str]


def _place(name: str, facts: ApprovalFacts) -> _Subject:
    if facts.volumes_of_fleet is None:
        subject, lines = subject_of(facts.volumes), plan_lines(facts.volumes, facts.groups)
        return _Subject("restore", f"/restores/{name}", "rewarm cancel", subject, lines)
    subject = f"{count_text(facts.volumes_of_fleet, 'volume')} of {name}"
    return _Subject("fleet", f"/fleets/{name}", "rewarm fleet cancel", subject, [facts.why])
