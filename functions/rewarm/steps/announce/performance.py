"""State `Announce …` of a change of performance: the words, and what changes in the record."""

from __future__ import annotations

from rewarm.contracts import AnnounceEvent, Failure
from rewarm.contracts.base import Contract, JsonObject
from rewarm.contracts.performance import CheckPerformanceResult, PerformanceSettings
from rewarm.contracts.request import Notify
from rewarm.domain.units import iso
from rewarm.domain.words import performance as wording
from rewarm.domain.words.failures import explain
from rewarm.domain.words.message import Message
from rewarm.steps.performance.changes import ChangeStatus


class ChangeDetails(Contract):
    """What both kinds of message are about."""

    volume_id: str
    original: PerformanceSettings
    target: PerformanceSettings
    notify: Notify | None = None


class PerformanceChangedDetails(ChangeDetails):
    """Details of `performance-changed`."""

    check: CheckPerformanceResult


class PerformanceFailedDetails(ChangeDetails):
    """Details of `performance-failed`."""

    failure: Failure


def performance_changed(event: AnnounceEvent, record: JsonObject) -> tuple[Message, JsonObject]:
    """The new settings hold."""
    del record
    details = PerformanceChangedDetails.model_validate(event.details)
    check = details.check
    effect = wording.Effect(
        check.requested_at, check.requested_from, check.took_effect_at or event.now, check.state, check.reason
    )
    return wording.changed(_change(event, details), effect), {"finishedAt": iso(event.now)}


def performance_failed(event: AnnounceEvent, record: JsonObject) -> tuple[Message, JsonObject]:
    """They do not."""
    del record
    details = PerformanceFailedDetails.model_validate(event.details)
    told = explain(details.failure.error, details.failure.cause)
    changes = {
        "status": ChangeStatus.FAILED.value,
        "finishedAt": iso(event.now),
        "failure": {"state": details.failure.state, "error": told.error, "cause": told.sentence},
    }
    return wording.not_changed(_change(event, details), told.sentence), changes


def _change(event: AnnounceEvent, details: ChangeDetails) -> wording.Change:
    return wording.Change(
        event.restore_id, details.volume_id, details.original.values(), details.target.values()
    )
