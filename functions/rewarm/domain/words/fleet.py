"""The words of a fleet's messages: what is planned, how far it is, and how it ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from rewarm.domain.units import clock_text, count_text
from rewarm.domain.words.message import Message, Severity

KIND = "Fleet"
MOST_NAMED = 5
"""Failed volumes that a message names; the report has all."""


@dataclass(frozen=True, slots=True)
class FleetEnd:
    """How a fleet ended."""

    verdict: str
    volume_count: int
    ready: int
    failed: Sequence[str]
    """A line for each volume that is not ready."""
    cause: str | None = None
    """Why the fleet ended before its restores had."""


def planned(
    fleet_id: str, *, volumes: int, restores: int, at_once: int, run: int, deadline_at: datetime | None
) -> Message:
    """The message that the restores of a run begin."""
    again = "" if run == 1 else " Volumes that are ready already are not restored again."
    until = f", to be ready by {clock_text(deadline_at)}" if deadline_at is not None else ""
    parallel = f", at most {at_once:,} at once" if at_once < restores else ""
    return _message(
        "fleet-planned",
        fleet_id,
        f"{count_text(volumes, 'volume')} of {fleet_id} will be restored",
        f"{count_text(restores, 'restore')} begin now{parallel}{until}. Volumes to one instance are one "
        f"restore.{again}",
        Severity.INFO,
        next_steps=(f"GET /fleets/{fleet_id} shows how far it is; DELETE stops it.",),
    )


def progress(fleet_id: str, *, counts: Mapping[str, int], volumes: int, eta: datetime | None) -> Message:
    """The message of how far a fleet is."""
    ready = counts.get("ready", 0)
    others = ", ".join(f"{count:,} {state}" for state, count in counts.items() if state != "ready")
    until = f" At this pace all have ended by {clock_text(eta)}." if eta is not None else ""
    return _message(
        "fleet-progress",
        fleet_id,
        f"{ready:,} of {count_text(volumes, 'volume')} of {fleet_id} are ready",
        f"The others: {others}.{until}" if others else "All are ready.",
        Severity.INFO,
    )


def ended(fleet_id: str, end: FleetEnd) -> Message:
    """The message of a fleet that is over."""
    missing = end.volume_count - end.ready
    if end.verdict == "ready":
        title = f"{fleet_id} is ready: {count_text(end.volume_count, 'volume')} at full speed"
        return _message("fleet-ended", fleet_id, title, "Every volume is at full speed.", Severity.GOOD)
    verdicts = {"incomplete": "is incomplete", "failed": "failed", "cancelled": "was cancelled"}
    named = [*end.failed[:MOST_NAMED]]
    more = len(end.failed) - len(named)
    text = " ".join(
        [
            *([end.cause] if end.cause else []),
            f"{end.ready:,} of {count_text(end.volume_count, 'volume')} are ready, {missing:,} are not.",
            *named,
            *([f"And {more:,} more; the report names them."] if more else []),
        ]
    )
    return _message(
        "fleet-ended",
        fleet_id,
        f"{fleet_id} {verdicts[end.verdict]}: {end.ready:,} of {end.volume_count:,} volumes are ready",
        text,
        Severity.WARNING if end.verdict == "cancelled" else Severity.ERROR,
        next_steps=(
            "Each failed restore has cleaned up after itself; its own report says why it failed.",
            f"POST /fleets/{fleet_id}/redrive restores what is not ready, and nothing else.",
        ),
    )


def _message(
    event: str, fleet_id: str, title: str, text: str, severity: Severity, next_steps: tuple[str, ...] = ()
) -> Message:
    return Message(
        event=event,
        restore_id=fleet_id,
        kind=KIND,
        title=title,
        text=text,
        severity=severity,
        next_steps=next_steps,
        links=(("fleet", f"/fleets/{fleet_id}"),),
    )
