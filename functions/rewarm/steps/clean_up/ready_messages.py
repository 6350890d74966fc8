"""Sends the message of a volume at full speed where `Announce Ready` could not.

Lambda may have refused to run it, or no channel took the message. The restore then stays noted as running
(state `Release Target`), which is how the sweeper finds it.
"""

from __future__ import annotations

from datetime import datetime

from rewarm.contracts.events import AnnounceEvent
from rewarm.contracts.request import RestoreRequest
from rewarm.domain.units import iso
from rewarm.domain.volume.leftovers import ExecutionEnd
from rewarm.ports import JsonObject
from rewarm.ports.messages import Messages
from rewarm.steps.announce.announce import announce
from rewarm.steps.clean_up.missing_reports import PagePorts, kept_result
from rewarm.steps.record.payloads import read_plan
from rewarm.steps.record.restore import KnownRestore

DETAILS = (
    "plan", "preparation", "dispatch", "timeline", "initialization", "before", "after", "released", "readyAt",
    "warmUps",
)  # fmt: skip
"""What the message takes from the volume's result; where that was lost, it says less."""


def untold_volumes(record: KnownRestore, ending: ExecutionEnd) -> list[int]:
    """The volumes at full speed of a restore that is over, for which no message was sent.

    A restore with volumes succeeds only where all of them are ready.
    """
    if record.request.dry_run:
        return []
    return [
        index
        for index in record.indexes
        if record.volume(index).told is None and (ending.status == "SUCCEEDED" or record.settled(index))
    ]


def send_ready(
    restore_id: str, record: KnownRestore, index: int, *, now: datetime, messages: Messages, pages: PagePorts
) -> None:
    """Sends it and notes that. Raises RestoreError where it could not be sent; the next sweep tries again."""
    plan = read_plan(restore_id, index, pages.artifacts)
    known = kept_result(restore_id, record, index, pages)
    result = known if known.get("verdict") == "ready" else {}
    ready_at = record.finished_at or now
    details: JsonObject = {
        "plan": plan.plan.to_json(),
        "readyAt": iso(ready_at),
        **{name: result[name] for name in DETAILS if result.get(name) is not None},
        "volume": plan.volume.to_json(),
        "volumeId": result.get("volumeId") or record.last_volume(index),
        "startedAt": iso(record.started_at or ready_at),
        "deadlineAt": record.deadline_at and iso(record.deadline_at),
        "pageKey": record.volume(index).report.page_key or record.page_key,
    }
    event = AnnounceEvent(
        restore_id=restore_id, now=now, event="ready", request=request_of(record), details=details
    )
    announce(event, table=pages.table, messages=messages, artifacts=pages.artifacts, links=pages.links)


def request_of(record: KnownRestore) -> RestoreRequest | None:
    """For whom the message is; one of another version goes to everybody."""
    try:
        return record.whole_request()
    except ValueError:
        return None
