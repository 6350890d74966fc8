"""States `Announce Failure`, `Announce Unreported` and `Announce Drill`: how a restore ended.

It failed, its report is missing, or it was a drill.
"""

from __future__ import annotations

from rewarm.contracts.base import Contract, JsonObject
from rewarm.contracts.events import AnnounceEvent
from rewarm.contracts.values import DrillResult, Failure
from rewarm.domain.units import iso
from rewarm.domain.words import ended as words
from rewarm.domain.words.failures import explain
from rewarm.domain.words.message import Message
from rewarm.ports.restores import RestoreTable
from rewarm.steps.record.leftovers import ending_of
from rewarm.steps.record.records import REFUSALS, Status


class EndedDetails(Contract):
    """Details of `failed` and `unreported`; `results` are empty where it failed before there were volumes."""

    failure: Failure
    results: list[JsonObject]
    page_key: str | None = None


def failed(event: AnnounceEvent, record: JsonObject) -> tuple[Message, JsonObject]:
    """The message of a restore that failed or was cancelled."""
    details = EndedDetails.model_validate(event.details)
    failure = _failure_of_report(record) or details.failure
    why = explain(failure.error, failure.cause)
    ending = ending_of(event.restore_id, details.results, record, at=event.now)
    changes = {
        "finishedAt": iso(event.now),
        "failure": {"state": failure.state, "error": why.error, "cause": why.sentence},
    }
    if why.error == "RestoreCancelledError":
        message = words.cancelled(event.restore_id, ending=ending)
        return message, {**changes, "status": Status.CANCELLED.value}
    message = words.failed(event.restore_id, why.sentence, state=failure.state, ending=ending)
    status = Status.REFUSED if why.error in REFUSALS else Status.FAILED
    return message, {**changes, "status": status.value}


class DrilledDetails(Contract):
    """Details of `drill`."""

    drill: DrillResult
    page_key: str | None = None


def drilled(event: AnnounceEvent, _record: JsonObject) -> tuple[Message, JsonObject]:
    """The message of a drill whose volumes came to full speed, in time or not."""
    told = DrilledDetails.model_validate(event.details).drill
    outcome = words.DrillEnd(
        runbook=told.runbook,
        passed=told.outcome == "passed",
        recovery=(told.recovery_seconds or 0, told.recovery_objective_seconds),
        point=(told.point_seconds or 0, told.point_objective_seconds),
    )
    return words.drilled(event.restore_id, outcome), {}


def _failure_of_report(record: JsonObject) -> Failure | None:
    """The failure that `Report` wrote before its answer was lost: it had read every volume's result."""
    failure = record.get("failure") or {}
    if not record.get("reportKey") or "error" not in failure:
        return None
    return Failure(state=failure.get("state"), error=failure["error"], cause=failure.get("cause") or "")


def unreported(event: AnnounceEvent, _record: JsonObject) -> tuple[Message, JsonObject]:
    """The message of a restore that is ready without a report; the sweeper writes it (missing_reports.py)."""
    details = EndedDetails.model_validate(event.details)
    why = explain(details.failure.error, details.failure.cause)
    changes = {
        "status": Status.READY.value,
        "finishedAt": iso(event.now),
        "failure": None,
        "reportFailure": {"state": details.failure.state, "error": why.error, "cause": why.sentence},
    }
    return words.unreported(event.restore_id, why.sentence, volume_count=len(details.results)), changes


def is_reported(event: AnnounceEvent, table: RestoreTable) -> bool:
    """Whether only the answer of `Report` was lost: then nothing is missing and nobody needs a message."""
    if event.event != "unreported":
        return False
    return bool((table.get(event.restore_id) or {}).get("reportKey"))
