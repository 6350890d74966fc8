"""State `Announce Unreported`: every volume is at full speed, and the report of the restore is missing.

The restore stays ready: a report is never worth a restore. The sweeper writes it later (late_reports.py).
"""

from __future__ import annotations

from rewarm.contracts import AnnounceEvent
from rewarm.contracts.base import JsonObject
from rewarm.domain.units import iso
from rewarm.domain.words.failures import explain
from rewarm.domain.words.message import Message, Severity
from rewarm.ports import RestoreTable
from rewarm.steps.announce.details import FailedDetails
from rewarm.steps.record.records import Status

LATER = "Rewarm tries again every 15 minutes, for a day."


def is_reported(event: AnnounceEvent, table: RestoreTable) -> bool:
    """Only the answer of `Report` was lost: nothing is missing, and there is nothing to tell or to count."""
    if event.event != "unreported":
        return False
    return bool((table.get(event.restore_id) or {}).get("reportKey"))


def unreported(event: AnnounceEvent, record: JsonObject) -> tuple[Message, JsonObject]:
    """What is missing, why, and that the restore is ready all the same."""
    del record
    details = FailedDetails.model_validate(event.details)
    many = len(details.results) > 1
    title = f"{f'All {len(details.results)} volumes are' if many else 'The volume is'} ready"
    told = explain(details.failure.error, details.failure.cause)
    changes = {
        "status": Status.READY.value,
        "finishedAt": iso(event.now),
        "failure": None,
        "reportFailure": {"state": details.failure.state, "error": told.error, "cause": told.sentence},
    }
    reason = told.sentence.rstrip(".")
    message = Message(
        event="unreported",
        restore_id=event.restore_id,
        title=f"{title}, without a report",
        text=f"{title}. The report of the restore could not be written: {reason}. {LATER}",
        severity=Severity.WARNING,
        next_steps=(
            "Mend what is named above; the volumes need nothing.",
            f"GET /restores/{event.restore_id} has the report's link once it is written.",
        ),
    )
    return message, changes
