"""State `Report`: what became of each volume, estimate against actual, cost, and the first failure.

`Report Volume` is the same of one volume, before its message goes out; `Report Failure` that of a restore
which failed before it had volumes. Each writes the account twice: as JSON, and as a page for people.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from decimal import Decimal

from rewarm.contracts import Failure, ReportEvent, ReportResult, VolumeReport
from rewarm.contracts.base import JsonObject
from rewarm.domain.errors import RestoreError
from rewarm.domain.failures import explain
from rewarm.domain.units import iso
from rewarm.ports import Artifacts, History, RestoreTable
from rewarm.steps import measuring, samples
from rewarm.steps.leftovers import removed_and_kept
from rewarm.steps.records import Status, measured_attribute, report_attribute
from rewarm.steps.volume_reports import result_of, seconds_between, total, volume_report, with_story

Draw = Callable[[JsonObject], str | None]
"""From the account to the page; None where it could not be made."""


def report(
    event: ReportEvent, *, artifacts: Artifacts, table: RestoreTable, history: History, draw: Draw
) -> ReportResult:
    """A restore is ready only where every volume is; each volume that is ready teaches the next estimates."""
    record = table.get(event.restore_id) or {}
    results = [with_story(result_of(plan, event.results), record) for plan in event.plans]
    volumes = [volume_report(plan, result, event) for plan, result in zip(event.plans, results, strict=True)]
    result = _account(event, volumes, _folder(event))
    document = {**_document(event, result, results, record), "samples": _samples(event, artifacts)}
    page = draw(document)
    if page is None:
        result = result.model_copy(update={"page_key": None})
    artifacts.put_json(result.report_key, {**document, "pageKey": result.page_key})
    if page is not None and result.page_key is not None:
        artifacts.put_page(result.page_key, page)
    table.update(event.restore_id, _changes(event, result))
    if event.volume_index is None:
        _remember(event, history)
    return result


def _account(event: ReportEvent, volumes: list[VolumeReport], folder: str) -> ReportResult:
    failure = _failure(event) or next((one.failure for one in volumes if one.failure is not None), None)
    ready = bool(volumes) and all(volume.verdict == "ready" for volume in volumes)
    return ReportResult(
        verdict="ready" if ready else "failed",
        volumes=volumes,
        started_at=event.started_at,
        finished_at=event.now,
        deadline_at=event.deadline_at,
        deadline_met=_deadline_met(event, volumes) if ready else None,
        estimated_p90_seconds=max((plan.plan.ready_p90_seconds for plan in event.plans), default=0),
        actual_seconds=seconds_between(event.started_at, event.now),
        cost_usd=sum((volume.cost_usd for volume in volumes), Decimal(0)),
        billed_usd=total([volume.billed_usd for volume in volumes]),
        failure=failure,
        report_key=f"{folder}/report.json",
        page_key=f"{folder}/report.html",
    )


def _failure(event: ReportEvent) -> Failure | None:
    """Of a restore that came to no volumes."""
    if event.failure is None:
        return None
    told = explain(event.failure.error, event.failure.cause)
    return Failure(state=told.state or event.failure.state, error=told.error, cause=told.sentence)


def _folder(event: ReportEvent) -> str:
    """One of several volumes has an account of its own: each execution writes only where no other does."""
    whole = f"restores/{event.restore_id}"
    alone = event.volume_index is None or event.volume_count == 1
    return whole if alone else f"{whole}/{event.volume_index}"


def _changes(event: ReportEvent, result: ReportResult) -> JsonObject:
    keys = {"reportKey": result.report_key, "pageKey": result.page_key}
    if event.volume_index is not None:
        return {report_attribute(event.volume_index): keys}
    return {
        **keys,
        "status": _status(result).value,
        "finishedAt": iso(event.now),
        "costUsd": str(result.cost_usd),
        "failure": result.failure.to_json() if result.failure else None,
        **{measured_attribute(one.index): _measured(one) for one in result.volumes if one.phases},
    }


def _remember(event: ReportEvent, history: History) -> None:
    """Without it the next estimates are no better than this one's; that must not fail a restore."""
    places = Counter((one.volume.snapshot_id, one.volume.availability_zone) for one in event.plans)
    records = []
    for plan in event.plans:
        found = result_of(plan, event.results)
        volume, ended = plan.volume, measuring.ended(found)
        # A volume that had to be warmed up again says nothing of how long its strategy takes.
        if ended is not None and not found.get("warmUps"):
            sharers = places[volume.snapshot_id, volume.availability_zone]
            records.append(measuring.measured(f"{event.restore_id}/{volume.index}", volume, ended, sharers))
    with suppress(RestoreError):
        history.add(records)


def _measured(volume: VolumeReport) -> JsonObject:
    told: JsonObject = volume.to_json()
    return {name: told[name] for name in ("sincePlanSeconds", "errorPercent", "phases")}


def _status(result: ReportResult) -> Status:
    if result.verdict == "ready":
        return Status.READY
    cancelled = result.failure is not None and result.failure.error == "RestoreCancelledError"
    return Status.CANCELLED if cancelled else Status.FAILED


def _deadline_met(event: ReportEvent, volumes: list[VolumeReport]) -> bool | None:
    if event.deadline_at is None:
        return None
    allowed = (event.deadline_at - event.started_at).total_seconds()
    return all((volume.actual_seconds or 0) <= allowed for volume in volumes)


def _samples(event: ReportEvent, artifacts: Artifacts) -> list[JsonObject]:
    """Of each volume; an account of many volumes is still read and drawn within a function's time."""
    return [
        {
            "index": plan.volume.index,
            "samples": [list(one) for one in samples.read(event.restore_id, plan.volume.index, artifacts)],
        }
        for plan in event.plans
    ]


def _document(
    event: ReportEvent, result: ReportResult, results: list[JsonObject], record: JsonObject
) -> JsonObject:
    """The report with everything that led to it; the bucket has room that a state's payload has not."""
    removed, kept = removed_and_kept(event.restore_id, results, record)
    return {
        "restoreId": event.restore_id,
        **result.to_json(),
        "volumeIndex": event.volume_index,
        "request": event.request.to_json() if event.request else None,
        "trigger": event.trigger.to_json() if event.trigger else None,
        "plans": [plan.to_json() for plan in event.plans],
        "results": results,
        "summary": record.get("summary"),
        "events": record.get("events") or [],
        "removed": removed,
        "kept": kept,
    }
