"""State `Report`: what became of each volume, estimate against actual, cost, and the first failure.

`Report Volume` is the same of one volume, before its message goes out; `Report Failure` that of a restore
which failed before it had volumes. Each writes the account twice: as JSON, and as a page for people.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal

from rewarm.contracts import Failure, ReportEvent, ReportResult, VolumePlan, VolumeReport
from rewarm.contracts.base import JsonObject
from rewarm.domain.errors import RestoreError
from rewarm.domain.units import iso
from rewarm.domain.words.failures import explain
from rewarm.ports.artifacts import Artifacts
from rewarm.ports.history import History
from rewarm.ports.restores import RestoreTable
from rewarm.steps.record import samples
from rewarm.steps.record.kept import is_small, kept_plan, kept_plans, whole_result
from rewarm.steps.record.leftovers import removed_and_kept
from rewarm.steps.record.records import (
    Status,
    events,
    measured_attribute,
    note,
    report_attribute,
    with_volume,
)
from rewarm.steps.report import measuring
from rewarm.steps.report.volume_reports import result_of, seconds_between, total, volume_report, with_story

Draw = Callable[[JsonObject], str | None]
"""From the account to the page; None where it could not be made."""


@dataclass(frozen=True, slots=True)
class _Told:
    """The event with what it has keys for."""

    event: ReportEvent
    plans: list[VolumePlan]
    results: list[JsonObject]
    record: JsonObject


@dataclass(frozen=True, kw_only=True)
class ReportPorts:
    """The ports that report needs."""

    artifacts: Artifacts
    table: RestoreTable
    history: History
    draw: Draw


def report(
    event: ReportEvent,
    ports: ReportPorts,
) -> ReportResult:
    """A restore is ready only where every volume is; each volume that is ready teaches the next estimates."""
    told = _told(event, ports.artifacts, ports.table)
    volumes = [volume_report(plan, one, event) for plan, one in zip(told.plans, told.results, strict=True)]
    result = _account(told, volumes, _folder(event))
    document = {**_document(told, result), "samples": _samples(told, ports.artifacts)}
    page = ports.draw(document)
    if page is None:
        result = result.model_copy(update={"page_key": None})
    ports.artifacts.put_json(result.report_key, {**document, "pageKey": result.page_key})
    if page is not None and result.page_key is not None:
        ports.artifacts.put_page(result.page_key, page)
    note(ports.table, event.restore_id, _changes(event, result))
    if event.volume_index is None:
        _remember(told, ports.history)
    return result if is_small(volumes) else result.model_copy(update={"volumes": []})


def _told(event: ReportEvent, artifacts: Artifacts, table: RestoreTable) -> _Told:
    record = _record(event, table)
    plans = _plans(event, artifacts)
    whole = [whole_result(result, artifacts) for result in event.results]
    return _Told(event, plans, [with_story(result_of(plan, whole), record) for plan in plans], record)


def _record(event: ReportEvent, table: RestoreTable) -> JsonObject:
    """An account of one volume is not of the others."""
    if event.volume_index is not None:
        return with_volume(table, event.restore_id, event.volume_index)
    return table.get_whole(event.restore_id) or {}


def _plans(event: ReportEvent, artifacts: Artifacts) -> list[VolumePlan]:
    """None where it failed before there were any."""
    if event.volume_index is not None:
        return [kept_plan(event.restore_id, event.volume_index, artifacts)]
    return kept_plans(event.plans_key, artifacts) if event.plans_key is not None else []


def _account(told: _Told, volumes: list[VolumeReport], folder: str) -> ReportResult:
    event = told.event
    failure = _failure(event) or next((one.failure for one in volumes if one.failure is not None), None)
    ready = bool(volumes) and all(volume.verdict == "ready" for volume in volumes)
    return ReportResult(
        verdict="ready" if ready else "failed",
        volumes=volumes,
        started_at=event.started_at,
        finished_at=event.now,
        deadline_at=event.deadline_at,
        deadline_met=_deadline_met(event, volumes) if ready else None,
        estimated_p90_seconds=max((plan.plan.ready_p90_seconds for plan in told.plans), default=0),
        actual_seconds=seconds_between(event.started_at, event.now),
        slowest_seconds=max((volume.actual_seconds or 0 for volume in volumes), default=0),
        planned_cost_usd=sum((plan.plan.cost_usd for plan in told.plans), Decimal(0)),
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
        **_all_measured(result.volumes),
    }


def _all_measured(volumes: list[VolumeReport]) -> JsonObject:
    return {measured_attribute(one.index): _measured(one) for one in volumes if one.phases}


def _remember(told: _Told, history: History) -> None:
    """Without it the next estimates are no better than this one's; that must not fail a restore."""
    places = Counter((one.volume.snapshot_id, one.volume.availability_zone) for one in told.plans)
    records = []
    for plan, found in zip(told.plans, told.results, strict=True):
        volume, ended = plan.volume, measuring.ended(found)
        # A volume that had to be warmed up again, or that another plan took over half-way, says nothing of
        # how long its strategy takes.
        if ended is not None and not found.get("warmUps") and not found.get("inPlace"):
            sharers = places[volume.snapshot_id, volume.availability_zone]
            name = f"{told.event.restore_id}/{volume.index}"
            records.append(measuring.measured(name, volume, ended, sharers))
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


def _samples(told: _Told, artifacts: Artifacts) -> list[JsonObject]:
    """Of each volume; an account of many volumes is still read and drawn within a function's time."""
    indexes = [plan.volume.index for plan in told.plans]
    found = {one: samples.read(told.event.restore_id, one, artifacts) for one in indexes}
    return [{"index": index, "samples": [list(one) for one in found[index]]} for index in indexes]


def _document(told: _Told, result: ReportResult) -> JsonObject:
    """The report with everything that led to it; the bucket has room that a state's payload has not."""
    event, record = told.event, told.record
    removed, kept = removed_and_kept(event.restore_id, told.results, record)
    return {
        "restoreId": event.restore_id,
        **result.to_json(),
        "volumeIndex": event.volume_index,
        "request": event.request.to_json() if event.request else None,
        "trigger": event.trigger.to_json() if event.trigger else None,
        "plans": [plan.to_json() for plan in told.plans],
        "results": told.results,
        "summary": record.get("summary"),
        "events": events(record),
        "removed": removed,
        "kept": kept,
    }
