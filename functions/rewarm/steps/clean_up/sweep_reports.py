"""The account of a restore that did not come to its own report: the same as of one that failed.

What its volumes' executions had written down is in the bucket; what is missing there the record knows.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from rewarm.contracts import Failure, ReportEvent, ReportResult, RestoreRequest, Trigger
from rewarm.domain.errors import RestoreError
from rewarm.ports import JsonObject
from rewarm.ports.artifacts import Artifacts
from rewarm.steps.record.bucket import plans_key, result_key
from rewarm.steps.record.payloads import LARGEST_BYTES
from rewarm.steps.record.records import (
    indexes,
    parsed_time,
    report_attribute,
    settled_attribute,
    volume_attribute,
)
from rewarm.steps.report.report import ReportPorts, report


@dataclass(frozen=True, kw_only=True)
class PagePorts(ReportPorts):
    """The ports that the account of a restore needs."""

    counted: Callable[[ReportEvent, ReportResult], None] = lambda _event, _result: None
    """Told of a report that was written late: its deadline and its costs are figures, too."""


def results_of(restore_id: str, record: JsonObject, failure: Failure, ports: PagePorts) -> list[JsonObject]:
    """One for each volume: ready where it came to full speed, else failed for the restore's end."""
    return [_result(restore_id, record, index, failure, ports) for index in indexes(record)]


def report_end(
    restore_id: str,
    record: JsonObject,
    *,
    now: datetime,
    failure: Failure,
    results: list[JsonObject],
    ports: PagePorts,
) -> str | None:
    """The key of its page; None where there is none: the end is told all the same."""
    if isinstance(record.get("pageKey"), str):
        # It had failed and was reported, and was stopped before it could say so.
        return str(record["pageKey"])
    try:
        plans = plans_key(restore_id) if _read(plans_key(restore_id), ports.artifacts) else None
        event = _event(restore_id, record, now, failure, results).model_copy(update={"plans_key": plans})
        told = report(event, ports)
    except (RestoreError, ValueError, LookupError):
        # Out of reach, or written by a version that knew other things.
        return None
    return told.page_key


def report_ready(restore_id: str, record: JsonObject, *, finished_at: datetime, ports: PagePorts) -> None:
    """Of a restore whose volumes are all at full speed. Raises RestoreError, ValueError and LookupError."""
    results = [_ready(restore_id, record, index, ports) for index in indexes(record)]
    event = _event(restore_id, record, finished_at, None, results)
    event = event.model_copy(update={"plans_key": plans_key(restore_id)})
    told = report(event, ports)
    ports.counted(event, told)


def _ready(restore_id: str, record: JsonObject, index: int, ports: PagePorts) -> JsonObject:
    known = _known(restore_id, record, index, ports)
    found = known if known.get("verdict") == "ready" else {}
    made = record.get(volume_attribute(index)) or {}
    return {"volumeId": made.get("volumeId"), **found, "index": index, "verdict": "ready"}


def _event(
    restore_id: str, record: JsonObject, now: datetime, failure: Failure | None, results: list[JsonObject]
) -> ReportEvent:
    trigger = record.get("trigger")
    return ReportEvent(
        restore_id=restore_id,
        now=now,
        started_at=parsed_time(record.get("startedAt")) or now,
        deadline_at=parsed_time(record.get("deadlineAt")),
        request=RestoreRequest.model_validate(record.get("request")),
        trigger=Trigger.model_validate(trigger) if trigger else None,
        results=results,
        failure=failure,
        volume_count=len(results),
    )


def _result(
    restore_id: str, record: JsonObject, index: int, failure: Failure, ports: PagePorts
) -> JsonObject:
    if record.get(settled_attribute(index)):
        return _ready(restore_id, record, index, ports)
    known = _known(restore_id, record, index, ports)
    if known.get("verdict") == "failed":
        return known
    made = record.get(volume_attribute(index)) or {}
    ended = {"error": failure.error, "cause": failure.cause}
    return {"index": index, "verdict": "failed", "volumeId": made.get("volumeId"), **ended}


def _known(restore_id: str, record: JsonObject, index: int, ports: PagePorts) -> JsonObject:
    """As `Keep Result` wrote it; where the restore was stopped before, from the volume's own report."""
    try:
        found = _read(result_key(restore_id, index), ports.artifacts)
        if not found:
            own = (record.get(report_attribute(index)) or {}).get("reportKey")
            account = _read(own, ports.artifacts) if isinstance(own, str) else {}
            found = next(iter(account.get("results") or []), {})
    except (RestoreError, ValueError):
        return {}
    return found


def _read(key: str, artifacts: Artifacts) -> JsonObject:
    text = artifacts.get_text(key, most_bytes=LARGEST_BYTES)
    found = json.loads(text) if text is not None else {}
    return found if isinstance(found, dict) else {}
