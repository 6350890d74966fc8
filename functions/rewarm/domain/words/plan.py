"""The words of `plan`, `fallback` and `approval`: what will be restored, how, until when and for how much.

Where a plan waits, also until when it does, and how to approve it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import NamedTuple

from rewarm.domain.units import clock_text, count_text, duration_text, iso, size_text, usd_text
from rewarm.domain.value import Value
from rewarm.domain.words.message import COPY_PACE, AnnouncedVolume, Message, PricedPlan, Severity
from rewarm.domain.words.schedule import ScheduleLine, group_lines

MOST_LINES = 10
"""How many volumes have a line each if no schedule is known; the record has the others."""


class PlanMessageFacts(Value):
    """The plan of the whole restore."""

    volumes: Sequence[AnnouncedVolume]
    summary: PricedPlan
    started_by: str
    deadline_at: datetime | None
    by_hand: Mapping[str, float]
    """Seconds by program."""
    prices: str
    dry_run: bool
    waits: bool = False
    """Somebody must approve it first."""

    @property
    def verb(self) -> str:
        """What becomes of the plan."""
        if self.dry_run:
            return "Plan only, nothing is created"
        what = "Restore" if self.volumes[0].adopts is None else "Warm-up"
        return f"{what} planned, it waits for approval" if self.waits else f"{what} started"

    @property
    def title(self) -> str:
        """How the title begins."""
        if self.dry_run or self.waits:
            return "Plan"
        return "Restoring" if self.volumes[0].adopts is None else "Warming up"


def plan(restore_id: str, facts: PlanMessageFacts) -> Message:
    """The message before anything is created, or instead of it where the request is a dry run."""
    subject = subject_of(facts.volumes)
    made = facts.summary
    rebooted = sorted({volume.root_of for volume in facts.volumes if volume.root_of is not None})
    sentences = [f"{', '.join(rebooted)} will reboot, with a new root volume."] if rebooted else []
    sentences += [f"{facts.started_by} {facts.verb}: {subject}.", *plan_lines(facts.volumes, made.schedule)]
    if len(facts.volumes) > 1:
        sentences.append(f"Together, {made.why}")
    sentences += made.notes
    together = "" if len(facts.volumes) == 1 else ", together"
    fields = [
        ("Full speed expected by", f"{clock_text(made.ready_p90_at)} (P90)"),
        (f"Extra cost{together}", usd_text(made.total_cost_usd)),
        ("Prices", facts.prices),
    ]
    if facts.deadline_at is not None:
        by = f" by {duration_text(made.late_seconds)}" if made.late_seconds else ""
        missed = f" (will be missed{by})" if made.deadline_missed else ""
        fields.insert(1, ("Deadline", clock_text(facts.deadline_at) + missed))
    if facts.by_hand:
        times = (f"{duration_text(seconds)} with {name}" for name, seconds in facts.by_hand.items())
        fields.append(("By hand instead", f"about {', '.join(times)}; no extra cost, but a person does it"))
    steps: tuple[str, ...] = (
        _usable(facts.volumes),
        f"To cancel: rewarm cancel {restore_id} (or DELETE /restores/{restore_id}).",
    )
    if facts.dry_run:
        steps = ("Send the request again without dryRun to carry it out.",)
    return Message(
        event="plan",
        restore_id=restore_id,
        title=f"{facts.title}: {subject}",
        text="\n".join(sentences),
        severity=Severity.WARNING if made.deadline_missed else Severity.INFO,
        fields=tuple(fields),
        next_steps=steps,
    )


def _usable(volumes: Sequence[AnnouncedVolume]) -> str:
    """From when on the volumes can be used, and how fast they are then."""
    if volumes[0].adopts is not None:
        return "You need not do anything: what uses the volumes may go on."
    is_fast = all(volume.is_fast_at_once or volume.root_of for volume in volumes)
    speed = "at full speed" if is_fast else "slowly at first"
    pace = COPY_PACE if volumes[0].is_copy else speed
    first, last = (duration_text(end(volume.usable_seconds for volume in volumes)) for end in (min, max))
    if first != last:
        return f"The first volume can be used in about {first} and all in about {last}, {pace}."
    what = "The volume can" if len(volumes) == 1 else "All volumes can"
    return f"{what} be used in about {last}, {pace}."


def subject_of(volumes: Sequence[AnnouncedVolume]) -> str:
    """Which snapshot goes where, or how many do."""
    first = volumes[0]
    if len(volumes) > 1:
        return f"{len(volumes)} volumes"
    if first.adopts is not None:
        return f"{first.adopts} at {first.where}"
    if first.undoes:
        return f"{first.source_volume_id} back to what it had before its rewind"
    if first.goes_back:
        return f"{first.source_volume_id} back to {first.snapshot_id}"
    return f"{first.snapshot_id} to {first.where}"


def plan_lines(volumes: Sequence[AnnouncedVolume], groups: Sequence[ScheduleLine]) -> list[str]:
    """The plan of a volume; of several, a line for each group of alike ones."""
    many = len(volumes)
    if many > 1 and groups:
        return list(group_lines(groups))
    lines = [_plan_line(volume, numbered=many > 1) for volume in volumes[:MOST_LINES]]
    return [*lines, f"And {many - MOST_LINES} more volumes."] if many > MOST_LINES else lines


def _plan_line(volume: AnnouncedVolume, *, numbered: bool) -> str:
    if volume.adopts is not None:
        return (
            f"{volume.adopts}, {size_text(volume.data_bytes)} to load at most: {volume.how}, full speed in "
            f"about {duration_text(volume.ready_p50_seconds)}, {usd_text(volume.cost_usd)}. {volume.why}"
        )
    taken_at = clock_text(volume.snapshot_started_at)
    size = size_text(volume.data_bytes)
    source = f"{volume.snapshot_id} of {taken_at}, {size} of data"
    start = f"{source}, to {volume.where}: " if numbered else f"{source}: "
    return (
        f"{start}{volume.how}, usable in about {duration_text(volume.usable_seconds)}, full speed in about "
        f"{duration_text(volume.ready_p50_seconds)}, {usd_text(volume.cost_usd)}. {volume.why}"
    )


def fallback(restore_id: str, volume: AnnouncedVolume, reason: str) -> Message:
    """The message that another plan takes over, because the one before failed for `reason`."""
    return Message(
        event="fallback",
        restore_id=restore_id,
        title=f"{volume.adopts or volume.snapshot_id}: continuing with {volume.how}",
        text=f"The plan could not be carried out: {reason}\n"
        f"The {'restore' if volume.adopts is None else 'warm-up'} continues with {volume.how}. {volume.why}",
        severity=Severity.WARNING,
        fields=(
            ("Estimate (P50)", duration_text(volume.ready_p50_seconds)),
            ("Estimate (P90)", duration_text(volume.ready_p90_seconds)),
            ("Extra cost", usd_text(volume.cost_usd)),
        ),
        next_steps=("You need not do anything.",),
    )


class ApprovalFacts(Value):
    """The plan that waits, and the question."""

    volumes: Sequence[AnnouncedVolume]
    summary: PricedPlan
    usd: Decimal
    reason: str
    asked_at: datetime
    until: datetime
    deadline_at: datetime | None
    volumes_of_fleet: int | None = None
    """Of a fleet, whose message names no single volume."""


def approval(restore_id: str, facts: ApprovalFacts) -> Message:
    """The message that asks for the approval; `links` has the route that approves exactly this plan."""
    until = clock_text(facts.until)
    fields = [
        ("Price", usd_text(facts.usd)),
        ("Approve by", until),
        ("Full speed expected by", f"{clock_text(facts.summary.ready_p90_at)} (P90), if it is approved now"),
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
        subject = subject_of(facts.volumes)
        lines = plan_lines(facts.volumes, facts.summary.schedule)
        return _Subject("restore", f"/restores/{name}", "rewarm cancel", subject, lines)
    subject = f"{count_text(facts.volumes_of_fleet, 'volume')} of {name}"
    return _Subject("fleet", f"/fleets/{name}", "rewarm fleet cancel", subject, [facts.summary.why])
