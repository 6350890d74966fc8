"""State `Announce Ready`: one volume is at full speed. `Report` calls the restore ready when all are.

`Announce Confirmation` says later what VolumeReadOps makes of it.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from rewarm.contracts.base import Contract, Instant
from rewarm.contracts.events import AnnounceEvent
from rewarm.contracts.results import (
    PollInitializationResult,
    PrepareSnapshotResult,
    ReleaseResult,
    VerifyVolumeResult,
)
from rewarm.contracts.values import (
    Confirmation,
    DispatchWarmerResult,
    Measurement,
    Plan,
    Timeline,
    VolumeAssignment,
)
from rewarm.domain.model import Strategy
from rewarm.domain.ready.reads import Opinion, p99_limit_ms
from rewarm.domain.volume.extents import Scope, reported
from rewarm.domain.volume.performance import BoostOutcome, modify_command, performance_of
from rewarm.domain.words import ready as words
from rewarm.domain.words.failures import explain
from rewarm.domain.words.message import Message
from rewarm.domain.words.way_back import not_read
from rewarm.steps.announce.usable import planned_volume
from rewarm.steps.record.restore import Change, KnownRestore, RestoreNotes, nothing
from rewarm.steps.record.way_back import in_words
from rewarm.steps.report import phase_times


class ReadyDetails(Contract):
    """Details of `ready`."""

    volume: VolumeAssignment
    plan: Plan
    volume_id: str
    initialization: PollInitializationResult | None = None
    before: VerifyVolumeResult | None = None
    after: VerifyVolumeResult | None = None
    released: ReleaseResult | None = None
    ready_at: Instant | None = None
    preparation: PrepareSnapshotResult | None = None
    dispatch: DispatchWarmerResult | None = None
    timeline: Timeline | None = None
    started_at: Instant
    deadline_at: Instant | None = None
    warm_ups: int = 0
    page_key: str | None = None
    sender: str | None = None
    """Who sends the message (claims.py)."""
    last_try: bool = False
    """True if the state machine will not retry any more (announce.py)."""


def announce_ready(event: AnnounceEvent, record: KnownRestore) -> tuple[Message, Change]:
    """The message; the record gets what `Release` could not give back, and the replaced volume."""
    details = ReadyDetails.model_validate(event.details)
    ready_at = details.ready_at or event.now
    unreleased = _unreleased(details)
    recording = record.volume(details.volume.index).recording
    facts = words.ReadyFacts(
        volume_id=details.volume_id,
        volume=planned_volume(details.volume, details.plan, record),
        started_at=details.started_at,
        full_speed_at=phase_times.verified_at(ready_at, details.after),
        deadline_at=details.deadline_at,
        proof=_proof(event, details),
        reasons=_reasons(details),
        boost=details.released.boost if details.released else None,
        was_warm=_was_warm(details),
        meanwhile=_meanwhile(details),
        first_reads=recording.first_reads,
        recording=recording.sentence,
        used_only=_used_only(details),
        phases=_phases(details, ready_at),
        warm_ups=details.warm_ups,
        unreleased=unreleased,
        left_out=event.request.left_out if event.request else (),
        left=[*_left(details.volume.index, record), *(details.released.left if details.released else ())],
        **_way_back(event.restore_id, details, record),
    )
    index = details.volume.index
    replaced = record.volume(index).replaced if details.volume.replaces is not None else None

    def change(restore: RestoreNotes) -> None:
        if unreleased is not None:
            restore.note_unreleased(index, [*facts.left, unreleased.reason], replaced)
        elif replaced is not None:
            restore.volume(index).note_replaced(replaced)

    return words.ready(event.restore_id, facts), change


def _reasons(details: ReadyDetails) -> list[str]:
    """What proves full speed; if the volume's result was lost, only that its execution had verified it."""
    known = details.initialization.reasons if details.initialization else ["its execution had verified it"]
    return [*known, *_measured(details.after)]


class ConfirmedDetails(Contract):
    """Details of `confirmed`."""

    confirmations: list[Confirmation]
    page_key: str | None = None


def announce_confirmation(event: AnnounceEvent, _record: KnownRestore) -> tuple[Message, Change]:
    """What VolumeReadOps, the second witness, says of all volumes."""
    details = ConfirmedDetails.model_validate(event.details)
    opinions = [
        words.VolumeOpinion(
            confirmation.volume_id, confirmation.opinion or Opinion.SILENT, confirmation.reason
        )
        for confirmation in details.confirmations
    ]
    return words.confirmed(event.restore_id, opinions), nothing


def _used_only(details: ReadyDetails) -> bool:
    agent = (details.initialization.signals.agent if details.initialization else None) or {}
    return reported(agent.get("scope"), Scope.WRITTEN) is Scope.USED


def _proof(event: AnnounceEvent, details: ReadyDetails) -> words.Proof:
    after = details.after
    expected = after.expected if after else None
    wanted = event.request.verify.max_p99_ms if event.request else None
    return words.Proof(
        before=_latency(details.before.result if details.before else None),
        after=_latency(after.result if after else None),
        unmeasured_because=after.reason if after else _no_measurement(details),
        limit_p99_ms=p99_limit_ms(wanted, details.volume.volume.settings()),
        limit_is_requested=wanted is not None,
        before_when=_before_when(details),
        expected=words.Latency(expected.p50_ms, expected.p99_ms, expected.iops) if expected else None,
    )


def _was_warm(details: ReadyDetails) -> bool:
    """Whether an adopted volume was warm already, so that nothing was loaded."""
    if details.volume.adopts is None or details.dispatch is not None:
        return False
    measured = details.before is not None and details.before.verdict == "fast"
    return measured or details.volume.was_made_empty


def _meanwhile(details: ReadyDetails) -> tuple[float, float] | None:
    """How long the agent's probe reads took on an adopted volume (p50, p99)."""
    agent = (details.initialization.signals.agent if details.initialization else None) or {}
    found = agent.get("probeLatencyMs") if agent.get("probeReads") else None
    if details.volume.adopts is None or not isinstance(found, dict):
        return None
    p50 = found.get("p50")
    p99 = found.get("p99")
    return (
        (float(p50), float(p99)) if isinstance(p50, (int, float)) and isinstance(p99, (int, float)) else None
    )


def _before_when(details: ReadyDetails) -> str:
    if details.volume.adopts is None:
        return "right after the restore"
    return "at first" if _was_warm(details) else "before the warm-up"


def _no_measurement(details: ReadyDetails) -> str:
    lost = details.initialization is None
    return "the figures were lost" if lost else "there is no instance to measure it on"


def _latency(measured: Measurement | None) -> words.Latency | None:
    if measured is None:
        return None
    return words.Latency(measured.latency_ms.p50, measured.latency_ms.p99, measured.iops)


def _measured(after: VerifyVolumeResult | None) -> list[str]:
    if after is not None and after.verdict == "fast" and after.result is not None:
        return [f"{after.result.samples:,} random reads were within the limit"]
    return [after.reason] if after is not None and after.verdict == "slow" else []


def _phases(details: ReadyDetails, ready_at: datetime) -> list[tuple[str, float | None, float | None]]:
    if details.timeline is None:
        return []
    result = phase_times.ReadyResult.model_validate({**dict(details), "ready_at": ready_at})
    return [
        (phase.phase.value, phase.estimated_p50_seconds, phase.actual_seconds)
        for phase in phase_times.volume_times(details.volume, result).phases()
    ]


def _unreleased(details: ReadyDetails) -> words.Unreleased | None:
    """What `Release` could not give back; None if it had no error."""
    released = details.released
    volume = details.volume
    plan = details.plan
    if released is None or released.failure is None:
        return None
    reason = explain(released.failure.error, released.failure.cause).sentence
    if plan.strategy is Strategy.FAST_SNAPSHOT_RESTORE:
        place = words.FastRestore(volume.snapshot_id, volume.availability_zone)
        return words.Unreleased(reason, fast_restore=place)
    if plan.boost is None or released.boost is not None:
        return words.Unreleased(reason)
    boosted = performance_of(plan.boost)
    target = performance_of(volume.volume.settings())
    command = modify_command(details.volume_id, target)
    outcome = BoostOutcome(
        "not-lowered", boosted.in_words, target.in_words, reason.rstrip("."), command=command
    )
    return words.Unreleased(reason, boost=outcome)


def _way_back(restore_id: str, details: ReadyDetails, record: KnownRestore) -> dict[str, Any]:
    """What undoes a rewind; a volume that was replaced has its own words."""
    volume = record.volume(details.volume.index)
    if details.plan.strategy is not Strategy.REWIND:
        return {}
    if volume.rewind is None:
        return {"way_back": not_read(restore_id)}
    return {"way_back": in_words(volume, is_ready=True), "has_way_back": not volume.rewind.presence.is_gone}


def _left(index: int, record: KnownRestore) -> list[str]:
    """What the clean-up of an earlier plan could not remove; no other message says so."""
    account = record.volume(index).clean_up
    return account.kept if account is not None and account.goes_on else []
