"""States `Announce Failure`, `Announce Unreported` and `Announce Drill`: how a restore ended.

It failed, its report is missing, or it was a drill.
"""

from __future__ import annotations

from rewarm.contracts.base import Contract, JsonObject
from rewarm.contracts.events import AnnounceEvent
from rewarm.contracts.values import DrillResult, Failure
from rewarm.domain.words import ended as words
from rewarm.domain.words.failures import explain
from rewarm.domain.words.message import Message
from rewarm.ports.restores import RestoreTable
from rewarm.steps.record.leftovers import ending_of
from rewarm.steps.record.restore import REFUSALS, Change, KnownRestore, RestoreNotes, Status, nothing
from rewarm.steps.record.results import are_all_ready


class EndedDetails(Contract):
    """Details of `failed` and `unreported`; `results` is empty if the restore failed without volumes."""

    failure: Failure
    results: list[JsonObject]
    page_key: str | None = None
    sender: str | None = None
    """Who sends the message (claims.py)."""


def announce_failure(event: AnnounceEvent, record: KnownRestore) -> tuple[Message, Change]:
    """The message of a restore that failed or was cancelled."""
    details = EndedDetails.model_validate(event.details)
    failure = _failure_of_report(record) or details.failure
    why = explain(failure.error, failure.cause)
    ending = ending_of(event.restore_id, details.results, record, at=event.now)
    known = Failure(state=failure.state, error=why.error, cause=why.sentence)
    if why.error == "RestoreCancelledError":
        message = words.cancelled(event.restore_id, by=record.cancelled_by, ending=ending)
        status = Status.CANCELLED
    else:
        message = words.failed(
            event.restore_id, why.sentence, error=why.error, state=failure.state, ending=ending
        )
        status = Status.REFUSED if why.error in REFUSALS else Status.FAILED
    return message, lambda restore: restore.note_failed(status, known, event.now)


class DrilledDetails(Contract):
    """Details of `drill`."""

    drill: DrillResult
    page_key: str | None = None


def announce_drill(event: AnnounceEvent, _record: KnownRestore) -> tuple[Message, Change]:
    """The message of a drill whose volumes came to full speed, in time or not."""
    drill = DrilledDetails.model_validate(event.details).drill
    outcome = words.DrillEnd(
        runbook=drill.runbook,
        outcome=drill.outcome,
        of_application=drill.recovery_of == "application",
        recovery=(drill.recovery_seconds, drill.recovery_objective_seconds),
        point=(drill.point_seconds or 0, drill.point_objective_seconds),
    )
    return words.drilled(event.restore_id, outcome), nothing


def _failure_of_report(record: KnownRestore) -> Failure | None:
    """The failure that `Report` wrote before its answer was lost: it knows every volume's result."""
    return record.failure.named if record.report_key else None


def announce_unreported(event: AnnounceEvent, _record: KnownRestore) -> tuple[Message, Change]:
    """The message of a restore that is ready without a report; the sweeper writes it (missing_reports.py)."""
    details = EndedDetails.model_validate(event.details)
    why = explain(details.failure.error, details.failure.cause)
    known = Failure(state=details.failure.state, error=why.error, cause=why.sentence)
    message = words.unreported(event.restore_id, why.sentence, volume_count=len(details.results))
    return message, lambda restore: restore.note_unreported(known, event.now)


def is_untrue(event: AnnounceEvent, table: RestoreTable) -> bool:
    """Whether the message would be wrong, so that none is sent.

    The report exists, and only the answer of `Report` was lost. Or a restore is to be called failed whose
    volumes are all at full speed; the sweeper writes its report then (missing_reports.py).
    """
    if event.event not in {"failed", "unreported"}:
        return False
    record = RestoreNotes(table, event.restore_id).read()
    if event.event == "unreported":
        return bool(record.report_key)
    return are_all_ready(EndedDetails.model_validate(event.details).results, record)
