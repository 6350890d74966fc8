"""What people are told on the worst day of their year: what happened, when, what it costs, what is next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import StrEnum

from rewarm.domain.model import Strategy
from rewarm.domain.units import clock_text, duration_text, elapsed_text, size_text, usd_text
from rewarm.domain.volume.performance import BoostOutcome

COPY_PACE = "at up to 3,000 IOPS and 125 MiB/s until everything is copied"
"""EBS user guide, "Copy an Amazon EBS volume"."""
AGAIN = "It had come to a standstill, or was still slow, and was read once more by the warm-up agent."
RELEASED = "Fast snapshot restore is disabled again, if it was enabled for this volume alone."


class Severity(StrEnum):
    """How loud a message is."""

    INFO = "info"
    GOOD = "good"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Message:
    """One message; each channel renders it its own way."""

    event: str
    restore_id: str
    title: str
    text: str
    severity: Severity
    fields: tuple[tuple[str, str], ...] = ()
    next_steps: tuple[str, ...] = ()
    kind: str = "Restore"
    links: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class PlannedVolume:
    """One volume and its plan, as a message tells it."""

    snapshot_id: str
    snapshot_started_at: datetime
    data_bytes: int
    where: str
    how: str
    usable_seconds: int
    ready_p50_seconds: int
    ready_p90_seconds: int
    cost_usd: Decimal
    why: str
    source_volume_id: str | None = None

    @property
    def is_fast_at_once(self) -> bool:
        """Usable only when every block is there."""
        return self.how.startswith(Strategy.FAST_SNAPSHOT_RESTORE)

    @property
    def is_copy(self) -> bool:
        """Copied from the living source volume, as that is now."""
        return self.how.startswith(Strategy.VOLUME_CLONE)


@dataclass(frozen=True, slots=True)
class PlanFacts:
    """The plan as a whole."""

    volumes: Sequence[PlannedVolume]
    started_by: str
    total_cost_usd: Decimal
    ready_p90_at: datetime
    deadline_at: datetime | None
    deadline_missed: bool
    prices: str
    dry_run: bool
    notes: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Latency:
    """4 KiB random reads, before or after."""

    p50_ms: float
    p99_ms: float
    iops: float


@dataclass(frozen=True, slots=True)
class ReadyFacts:
    """A volume that has come to full speed."""

    volume_id: str
    volume: PlannedVolume
    started_at: datetime
    ready_at: datetime
    deadline_at: datetime | None
    before: Latency | None
    after: Latency | None
    unmeasured_because: str | None
    reasons: Sequence[str]
    boost: BoostOutcome | None = None
    used_only: bool = False
    """Only what its file systems have in use was read."""
    phases: Sequence[tuple[str, float | None, float | None]] = ()
    """Name, seconds estimated and seconds measured of each part."""
    warm_ups: int = 0
    """How often it was warmed up again."""
    expected: Latency | None = None
    """What the volume's type and limits promise."""


def plan(restore_id: str, facts: PlanFacts) -> Message:
    """Before anything is made."""
    first, many = facts.volumes[0], len(facts.volumes)
    subject = f"{first.snapshot_id} to {first.where}" if many == 1 else f"{many} volumes"
    verb = "Plan only, nothing is created" if facts.dry_run else "Restore started"
    sentences = [f"{facts.started_by} {verb}: {subject}."]
    sentences += [_plan_line(volume, numbered=many > 1) for volume in facts.volumes[:10]]
    if many > 10:
        sentences.append(f"And {many - 10} volumes more.")
    sentences += facts.notes
    fields = [
        ("Full speed expected by", clock_text(facts.ready_p90_at) + " (9 of 10 cases)"),
        ("Extra cost", usd_text(facts.total_cost_usd)),
        ("Prices", facts.prices),
    ]
    if facts.deadline_at is not None:
        missed = " (will be missed)" if facts.deadline_missed else ""
        fields.insert(1, ("Deadline", clock_text(facts.deadline_at) + missed))
    done = "Send the request again without dryRun to carry it out."
    speed = "at full speed" if first.is_fast_at_once else "slowly at first"
    pace = COPY_PACE if first.is_copy else speed
    usable = f"The volume can be used in about {duration_text(first.usable_seconds)}, {pace}."
    return Message(
        event="plan",
        restore_id=restore_id,
        title=f"{'Plan' if facts.dry_run else 'Restoring'}: {subject}",
        text="\n".join(sentences),
        severity=Severity.WARNING if facts.deadline_missed else Severity.INFO,
        fields=tuple(fields),
        next_steps=(done,) if facts.dry_run else (usable, f"To cancel: DELETE /restores/{restore_id}."),
    )


def _plan_line(volume: PlannedVolume, *, numbered: bool) -> str:
    taken_at, size = clock_text(volume.snapshot_started_at), size_text(volume.data_bytes)
    source = f"{volume.snapshot_id} of {taken_at}, {size} of data"
    start = f"{source}, to {volume.where}: " if numbered else f"{source}: "
    return (
        f"{start}{volume.how}, usable in about {duration_text(volume.usable_seconds)}, full speed in about "
        f"{duration_text(volume.ready_p50_seconds)}, {usd_text(volume.cost_usd)}. {volume.why}"
    )


def fallback(restore_id: str, volume: PlannedVolume, reason: str) -> Message:
    """Another plan takes over."""
    return Message(
        event="fallback",
        restore_id=restore_id,
        title=f"{volume.snapshot_id}: going on with {volume.how}",
        text=f"The plan could not be carried out: {reason}\n"
        f"The restore goes on with {volume.how}. {volume.why}",
        severity=Severity.WARNING,
        fields=(
            ("Full speed in about", duration_text(volume.ready_p50_seconds)),
            ("At the latest, in 9 of 10 cases", duration_text(volume.ready_p90_seconds)),
            ("Extra cost", usd_text(volume.cost_usd)),
        ),
        next_steps=("Nothing is asked of you.",),
    )


def ready(restore_id: str, facts: ReadyFacts) -> Message:
    """At full speed, with the proof."""
    took = (facts.ready_at - facts.started_at).total_seconds()
    late = facts.deadline_at is not None and facts.ready_at > facts.deadline_at
    speed = "at full speed" + (" where its file systems have data" if facts.used_only else "")
    lines = [f"{facts.volume_id} ({facts.volume.where}) is {speed} after {elapsed_text(took)}."]
    lines.append(_proof(facts))
    lines.append(f"Known because: {'; '.join(facts.reasons)}.")
    if facts.warm_ups:
        lines.append(AGAIN)
    costs_on = facts.boost is not None and not facts.boost.is_lowered
    if facts.boost is not None:
        lines.append(facts.boost.sentence)
    fields = [
        ("Time", f"{elapsed_text(took)}; estimated {duration_text(facts.volume.ready_p50_seconds)}"),
        ("How", facts.volume.how),
        ("Extra cost", usd_text(facts.volume.cost_usd)),
    ]
    if facts.deadline_at is not None:
        fields.insert(1, ("Deadline", clock_text(facts.deadline_at) + (" (missed)" if late else " (met)")))
    if facts.phases:
        fields.append(("Parts of it", "; ".join(_phase(*phase) for phase in facts.phases)))
    return Message(
        event="ready",
        restore_id=restore_id,
        title=f"{facts.volume_id} is {speed}",
        text="\n".join(lines),
        severity=Severity.WARNING if late or costs_on else Severity.GOOD,
        fields=tuple(fields),
        next_steps=_after_ready(facts),
    )


def _after_ready(facts: ReadyFacts) -> tuple[str, ...]:
    if facts.boost is not None and not facts.boost.is_lowered:
        return (f"Lower {facts.volume_id} to {facts.boost.target} with ModifyVolume.",)
    return (RELEASED,) if facts.volume.is_fast_at_once else ()


def _phase(name: str, estimated: float | None, actual: float | None) -> str:
    took = "not measured" if actual is None else elapsed_text(actual)
    return f"{name} {took}" if estimated is None else f"{name} {took} (estimated {elapsed_text(estimated)})"


def _proof(facts: ReadyFacts) -> str:
    if facts.after is None:
        return f"Read latency was not measured: {facts.unmeasured_because or 'no reason is known'}."
    after = f"4 KiB random reads take {_latency(facts.after)}"
    if facts.before is not None:
        after += f"; right after the restore they took {_latency(facts.before)}"
    promised = f"; the volume promises at most {_latency(facts.expected)}" if facts.expected else ""
    return f"{after}{promised}."


def _latency(found: Latency) -> str:
    return f"{found.p50_ms:.1f} ms (p99 {found.p99_ms:.1f} ms)"
