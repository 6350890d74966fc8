"""Writes the report of a restore that has none, and the news of a fast volume whose message is missing.

A restore was stopped, or its state `Report` failed. The executions of its volumes wrote to the bucket; what
is missing there is in the record. If somebody has deleted the plans, the inputs of the executions have what
was chosen. `Announce Ready` may have been refused by Lambda, or no channel took its message. A restore that
ended ready without a report or message stays noted as running, where the sweeper finds it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any

from rewarm.contracts.events import AnnounceEvent, ReportEvent
from rewarm.contracts.request import RestoreRequest
from rewarm.contracts.results import ReportResult
from rewarm.contracts.values import Failure, VolumePlan
from rewarm.domain.errors import RequestRefusedError, RestoreError
from rewarm.domain.units import iso
from rewarm.domain.volume.leftovers import ExecutionEnd, SweptResource
from rewarm.ports import JsonObject
from rewarm.ports.executions import RestoreExecutions
from rewarm.ports.messages import PageLinks
from rewarm.steps.record.bucket import plans_key, sent_key
from rewarm.steps.record.lost_records import volumes_begun
from rewarm.steps.record.payloads import read_if_kept, read_plans
from rewarm.steps.record.restore import KnownRestore, RestoreNotes, Status
from rewarm.steps.record.results import kept_result, ready_result
from rewarm.steps.report.report import AccountPorts, report_of

LATE_REPORTS = "reports"
"""How sweeps name late reports."""
PATIENCE = timedelta(days=1)
"""After this time a report is not tried again."""
STARTED_WITH = ("volume", "plan", "fallbacks", "budgetUsd")
"""The parts of a plan in the input of its volume's execution; the other candidates are not there."""
DETAILS = (
    "plan", "preparation", "dispatch", "timeline", "initialization", "before", "after", "released", "readyAt",
    "warmUps",
)  # fmt: skip
"""What the message takes from the volume's result; if that is lost, the message says less."""


class PagePorts(AccountPorts, kw_only=True):
    """The ports that a restore's report and page need."""

    executions: RestoreExecutions
    links: PageLinks | None = None
    counted: Callable[[ReportEvent, ReportResult], None] = lambda _event, _result: None
    """Writes the metrics of a late report: its deadline and its costs."""


def results_of(restore_id: str, record: KnownRestore, failure: Failure, ports: PagePorts) -> list[JsonObject]:
    """A result for each volume: ready if it reached full speed, else failed with the restore's failure."""
    return [_result(restore_id, record, index, failure, ports) for index in record.indexes]


def report_end(
    restore_id: str,
    record: KnownRestore,
    *,
    now: datetime,
    failure: Failure,
    results: list[JsonObject],
    ports: PagePorts,
) -> str | None:
    """Returns the key of the restore's page; None without one. The message is sent in both cases."""
    if record.page_key is not None:
        # It had failed and had its report, and was stopped before it sent the message.
        return record.page_key
    try:
        event = _event(restore_id, record, now, failure, results)
        return report_of(event, _plans(restore_id, ports), ports).page_key
    except (RestoreError, ValueError, LookupError):
        # AWS is out of reach, or another version wrote what the report needs.
        return None


def report_ready(restore_id: str, record: KnownRestore, *, finished_at: datetime, ports: PagePorts) -> None:
    """Reports a restore whose volumes are all at full speed. Raises RestoreError, ValueError, LookupError."""
    results = [ready_result(restore_id, record, index, ports.artifacts) for index in record.indexes]
    event = _event(restore_id, record, finished_at, None, results)
    plans = {plan.volume.index: plan for plan in _plans(restore_id, ports)}
    ports.counted(event, report_of(event, [plans[index] for index in record.indexes], ports))


def _plans(restore_id: str, ports: PagePorts) -> list[VolumePlan]:
    """The plans; if they are gone from the bucket, only those of volumes whose executions began."""
    try:
        return read_plans(plans_key(restore_id), ports.artifacts)
    except RequestRefusedError:
        return [_plan_of(begun.input) for begun in volumes_begun(restore_id, ports.executions)]


def _plan_of(started_with: Mapping[str, Any]) -> VolumePlan:
    known = {name: started_with[name] for name in STARTED_WITH if started_with.get(name) is not None}
    return VolumePlan.model_validate(known)


def write_late_report(
    restore_id: str, record: KnownRestore, ending: ExecutionEnd, *, now: datetime, ports: PagePorts
) -> SweptResource | None:
    """Returns `ending` where the next sweep tries again; None if nothing is missing or it is too late."""
    if not is_owed(record, ending):
        return None
    restore = RestoreNotes(ports.table, restore_id)
    finished_at = _finish(restore, record, now)
    try:
        report_ready(restore_id, record, finished_at=finished_at, ports=ports)
    except (RestoreError, ValueError, LookupError) as error:
        if now - finished_at > PATIENCE:
            return None
        return SweptResource(LATE_REPORTS, restore_id, "ending", f"its report cannot be written yet: {error}")
    restore.note_late_report()
    return SweptResource(LATE_REPORTS, restore_id, "ended", "its report was missing, and is written")


def _finish(restore: RestoreNotes, record: KnownRestore, now: datetime) -> datetime:
    """Notes once when the restore was ready, as far as that is known, even if no message could be sent.

    From then on its devices are free, even if the report fails.
    """
    known = record.finished_at
    if known is None or record.status != Status.READY:
        restore.note_ready(known or now)
    return known or now


def is_owed(record: KnownRestore, ending: ExecutionEnd) -> bool:
    """Whether a report is missing. A restore that succeeded has ready volumes; a dry run has no report."""
    has_volumes = record.volume_count > 0 and not record.request.dry_run
    is_ready = ending.status == "SUCCEEDED" or (record.is_at_full_speed and not record.is_finished)
    return is_ready and has_volumes and not record.report_key


def _event(
    restore_id: str, record: KnownRestore, now: datetime, failure: Failure | None, results: list[JsonObject]
) -> ReportEvent:
    return ReportEvent(
        restore_id=restore_id,
        now=now,
        started_at=record.started_at or now,
        deadline_at=record.deadline_at,
        request=record.whole_request(),
        trigger=record.trigger,
        results=results,
        failure=failure,
        volume_count=len(results),
    )


def _result(
    restore_id: str, record: KnownRestore, index: int, failure: Failure, ports: PagePorts
) -> JsonObject:
    if record.settled(index):
        return ready_result(restore_id, record, index, ports.artifacts)
    known = kept_result(restore_id, record, index, ports.artifacts)
    if known.get("verdict") == "failed":
        return known
    made = record.volume(index).volume_id
    ended = {"error": failure.error, "cause": failure.cause}
    return {"index": index, "verdict": "failed", "volumeId": made, **ended}


def recall_end(restore_id: str, ports: PagePorts) -> bool:
    """Writes again what the table lost when it was put back: how it ended, and who is at full speed."""
    begun = enumerate(volumes_begun(restore_id, ports.executions))
    settled = [index for index, volume in begun if volume.status == "SUCCEEDED"]
    end = read_if_kept(sent_key(restore_id), ports.artifacts)
    if settled or end:
        RestoreNotes(ports.table, restore_id).recall(settled, end)
    return bool(settled or end)


def volumes_without_message(
    restore_id: str, record: KnownRestore, ending: ExecutionEnd, ports: PagePorts
) -> list[int]:
    """The volumes of an ended restore that are at full speed and have had no message.

    A restore with volumes succeeds only where all of them are ready. Where the table was put back to an
    earlier moment, a volume's result says that its message was sent.
    """
    if record.request.dry_run:
        return []
    return [
        index
        for index in record.indexes
        if record.volume(index).message_sent is None
        and (ending.status == "SUCCEEDED" or record.settled(index))
        and kept_result(restore_id, record, index, ports.artifacts).get("announced") is not True
    ]


def ready_news(
    restore_id: str, record: KnownRestore, index: int, *, now: datetime, sender: str, pages: PagePorts
) -> AnnounceEvent:
    """What announces the volume; `sender` is the run of the sweeper. Raises RestoreError, LookupError."""
    plan = {plan.volume.index: plan for plan in _plans(restore_id, pages)}[index]
    known = kept_result(restore_id, record, index, pages.artifacts)
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
        "sender": sender,
    }
    return AnnounceEvent(
        restore_id=restore_id, now=now, event="ready", request=request_of(record), details=details
    )


def request_of(record: KnownRestore) -> RestoreRequest | None:
    """The request, which says who gets the message; None (everybody) if another version wrote it."""
    try:
        return record.whole_request()
    except ValueError:
        return None
