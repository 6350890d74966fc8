"""Looks at an initialization that AWS does not answer: nothing is known, and loading continues meanwhile."""

from __future__ import annotations

from datetime import datetime, timedelta

from rewarm.contracts.events import PollInitializationEvent
from rewarm.contracts.results import PollInitializationResult
from rewarm.domain.errors import RestoreError
from rewarm.domain.time.patience import patience
from rewarm.domain.units import clock_text

WAIT_SECONDS, WAIT_FRACTION = (30, 300), 1 / 20
"""A twentieth of the time without an answer: each look writes nine of the 25,000 events of a history."""


def unseen(
    event: PollInitializationEvent, previous: PollInitializationResult, error: RestoreError
) -> PollInitializationResult:
    """What was known before, and when to look again. Raises the error after too long without an answer."""
    since = previous.unseen_since or event.now
    blind = event.now - since
    if blind > silence_allowed(event, since=since):
        raise error
    low, high = WAIT_SECONDS
    wait = max(low, min(high, round(blind.total_seconds() * WAIT_FRACTION)))
    reasons = [f"nothing is known since {clock_text(since)}: {error}"]
    return previous.model_copy(update={"unseen_since": since, "wait_seconds": wait, "reasons": reasons})


def without_blindness(event: PollInitializationEvent) -> PollInitializationEvent:
    """The event as if the time in which nothing could be seen had not passed: it is no standstill."""
    previous = event.previous
    if previous is None or previous.unseen_since is None:
        return event
    moved = previous.last_progress_at + (event.now - previous.unseen_since)
    return event.model_copy(update={"previous": previous.model_copy(update={"last_progress_at": moved})})


def silence_allowed(event: PollInitializationEvent, *, since: datetime) -> timedelta:
    """How long a silence may last that began then, by what was spent before and what is left."""
    left = None if event.deadline_at is None else event.deadline_at - since
    first = event.previous.first_polled_at if event.previous else event.now
    return patience(since - (event.dispatch.started_at if event.dispatch else first), left)
