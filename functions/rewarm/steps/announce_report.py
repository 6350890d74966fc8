"""State `Announce Unreported`: every volume is at full speed, and the report of the restore is missing.

The restore stays ready: a report is never worth a restore. The sweeper writes it later (late_reports.py).
"""

from __future__ import annotations

from rewarm.contracts import AnnounceEvent
from rewarm.contracts.base import JsonObject
from rewarm.domain.failures import explain
from rewarm.domain.messages import Message, Severity
from rewarm.domain.units import iso
from rewarm.steps.announce_details import FailedDetails
from rewarm.steps.records import Status

LATER = "Rewarm tries again every 15 minutes, for a day."


def unreported(event: AnnounceEvent, record: JsonObject) -> tuple[Message, JsonObject]:
    """Where only the answer of `Report` was lost, the report is there, and nothing is missing."""
    details = FailedDetails.model_validate(event.details)
    many = len(details.results) > 1
    title = f"{f'All {len(details.results)} volumes are' if many else 'The volume is'} ready"
    message = Message("unreported", event.restore_id, title, f"{title}.", Severity.GOOD)
    if record.get("reportKey"):
        return message, {}
    told = explain(details.failure.error, details.failure.cause)
    changes = {
        "status": Status.READY.value,
        "finishedAt": iso(event.now),
        "failure": None,
        "reportFailure": {"state": details.failure.state, "error": told.error, "cause": told.sentence},
    }
    return _warning(message, told.sentence), changes


def _warning(message: Message, reason: str) -> Message:
    return Message(
        event=message.event,
        restore_id=message.restore_id,
        title=f"{message.title}, without a report",
        text=f"{message.text} The report of the restore could not be written: {reason.rstrip('.')}. {LATER}",
        severity=Severity.WARNING,
        next_steps=(
            "Mend what is named above; the volumes need nothing.",
            f"GET /restores/{message.restore_id} has the report's link once it is written.",
        ),
    )
