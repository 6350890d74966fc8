"""States `Announce Change` and `Announce Failure` of a change of performance."""

from __future__ import annotations

from rewarm.contracts.base import Contract
from rewarm.contracts.events import AnnounceEvent
from rewarm.contracts.request import Notify
from rewarm.contracts.results import CheckPerformanceResult
from rewarm.contracts.values import Failure
from rewarm.domain.units import iso
from rewarm.domain.volume.performance import PerformanceSettings
from rewarm.domain.words import performance as words
from rewarm.domain.words.failures import explain
from rewarm.domain.words.message import Message
from rewarm.steps.performance.changes import ChangeStatus
from rewarm.steps.record.restore import Change, KnownRestore


class ChangeDetails(Contract):
    """Details of both messages."""

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


def announce_change(event: AnnounceEvent, _record: KnownRestore) -> tuple[Message, Change]:
    """The message that the new settings are in effect."""
    details = PerformanceChangedDetails.model_validate(event.details)
    check = details.check
    effect = words.Effect(
        check.requested_at, check.requested_from, check.took_effect_at or event.now, check.state, check.reason
    )
    changes = {"finishedAt": iso(event.now)}
    message = words.changed(_change(event, details), effect)
    return message, lambda restore: restore.table.update(restore.restore_id, changes)


def announce_change_failure(event: AnnounceEvent, _record: KnownRestore) -> tuple[Message, Change]:
    """The message that the change failed."""
    details = PerformanceFailedDetails.model_validate(event.details)
    why = explain(details.failure.error, details.failure.cause)
    changes = {
        "status": ChangeStatus.FAILED.value,
        "finishedAt": iso(event.now),
        "failure": {"state": details.failure.state, "error": why.error, "cause": why.sentence},
    }
    message = words.not_changed(_change(event, details), why.sentence)
    return message, lambda restore: restore.table.update(restore.restore_id, changes)


def _change(event: AnnounceEvent, details: ChangeDetails) -> words.Change:
    return words.Change(event.restore_id, details.volume_id, details.original, details.target)
