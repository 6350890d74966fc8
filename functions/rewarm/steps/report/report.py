"""State `Report`: what became of each volume, estimate against actual, cost, and the first failure.

`Report Volume` reports one volume before its message is sent; `Report Failure` a restore that failed before
it had volumes. Each writes the report twice: as JSON, and as a page for people.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, replace
from decimal import Decimal
from typing import Any

from rewarm.contracts.base import JsonObject
from rewarm.contracts.events import ReportEvent
from rewarm.contracts.results import ReportResult, VolumeReport
from rewarm.contracts.values import Failure, VolumePlan
from rewarm.domain.errors import RestoreError
from rewarm.domain.value import Value
from rewarm.domain.words.failures import explain
from rewarm.ports.artifacts import Artifacts
from rewarm.ports.instances import Commands
from rewarm.ports.restores import History, RestoreTable
from rewarm.steps.record import loading
from rewarm.steps.record.approvals import approval_json
from rewarm.steps.record.bucket import report_keys
from rewarm.steps.record.leftovers import removed_and_kept, things_left
from rewarm.steps.record.payloads import is_small, read_plan, read_plans, whole_result
from rewarm.steps.record.restore import KnownRestore, LookAtWaysBack, RestoreNotes, Status
from rewarm.steps.record.results import true_result
from rewarm.steps.registration import Metric, state
from rewarm.steps.report import phase_times, volume_reports
from rewarm.steps.report.volume_reports import result_of, seconds_between, total, volume_report, with_story

Draw = Callable[[JsonObject], str | None]
"""Makes the page from the report; None if that failed."""


class _Facts(Value):
    """The event, with the objects whose keys it names."""

    event: ReportEvent
    plans: list[VolumePlan]
    results: list[JsonObject]
    record: KnownRestore


class AccountPorts(Value, kw_only=True):
    """The ports that report_of needs."""

    artifacts: Artifacts
    table: RestoreTable
    history: History
    draw: Draw
    way_back: LookAtWaysBack | None = None


class ReportPorts(AccountPorts, kw_only=True):
    """The ports that report needs."""

    commands: Commands


def finished(event: ReportEvent, result: ReportResult) -> Iterator[Metric]:
    """Counts a finished restore, ready or failed, by the report of all its volumes."""
    if event.volume_index is None and event.confirmations is None:
        yield Metric("RestoresFinished", dimensions={"verdict": result.verdict})
        yield from figures(event, result)


def figures(event: ReportEvent, result: ReportResult) -> Iterator[Metric]:
    """Times and costs; a late report has only these, because `Announce Unreported` counted the restore.

    Zeros are written, too, so that alarms can return to OK.
    """
    seconds = (event.now - event.started_at).total_seconds()
    yield Metric("RestoreSeconds", seconds, "Seconds", {"verdict": result.verdict})
    above = result.cost_usd - result.planned_cost_usd
    yield Metric("PlannedCostUsd", float(result.planned_cost_usd), "None")
    yield Metric("CostUsd", float(result.cost_usd), "None")
    yield Metric("CostAbovePlanUsd", max(0.0, float(above)), "None")
    if result.drill is not None:
        yield Metric("DrillsNotPassed", 0 if result.drill.outcome == "passed" else 1)
    if event.deadline_at is not None and result.deadline_met is not None:
        allowed_seconds = (event.deadline_at - event.started_at).total_seconds()
        yield from _deadline(result, allowed_seconds)


def _deadline(result: ReportResult, allowed_seconds: float) -> Iterator[Metric]:
    """Whether the deadline was met, by the slowest volume as in the report."""
    yield Metric("DeadlineUsedPercent", 100 * result.slowest_seconds / max(1.0, allowed_seconds), "Percent")
    yield Metric("DeadlinesMissed", 0 if result.deadline_met else 1)


@state("Report", "Report Volume", "Report Failure", "Report Confirmation", metrics=finished)
def report(event: ReportEvent, ports: ReportPorts) -> ReportResult:
    """Writes report, page and record, and adds each ready volume's times to the history.

    The restore is ready only if every volume is. Raises RequestRefusedError if the plans are gone.
    """
    if event.volume_index is not None and event.request and event.request.warm_up.learn:
        from rewarm.steps.record.recordings import note_first_reads  # noqa: PLC0415 - few restores record

        notes = RestoreNotes(ports.table, event.restore_id).volume(event.volume_index)
        note_first_reads(notes, ports.artifacts, ports.commands)
    return report_of(event, _plans(event, ports.artifacts), ports)


def report_of(event: ReportEvent, plans: list[VolumePlan], ports: AccountPorts) -> ReportResult:
    """The same for these plans."""
    facts = _facts(event, plans, ports)
    volumes = [
        volume_report(plan, result, event, facts.record)
        for plan, result in zip(facts.plans, facts.results, strict=True)
    ]
    result = _account(facts, volumes)
    left = things_left(event.restore_id, facts.plans, facts.results, volumes, facts.record)
    trend = volume_reports.with_earlier(result.drill, ports.history) if result.drill is not None else []
    listed = [thing.to_json() for thing in left]
    document = {
        **_document(facts, result),
        "left": listed,
        "samples": _samples(facts, ports.artifacts),
        "drills": trend,
    }
    page = ports.draw(document)
    if page is None:
        result = result.model_copy(update={"page_key": None})
    ports.artifacts.put_json(result.report_key, {**document, "pageKey": result.page_key})
    if page is not None and result.page_key is not None:
        ports.artifacts.put_page(result.page_key, page)
    _note(event, result, listed, RestoreNotes(ports.table, event.restore_id))
    if event.volume_index is None:
        _remember(facts, ports.history)
    if result.drill is not None:
        volume_reports.remember(result.drill, ports.history)
    return result if is_small(volumes) else result.model_copy(update={"volumes": []})


def _facts(event: ReportEvent, plans: list[VolumePlan], ports: AccountPorts) -> _Facts:
    record = _record(event, ports.table)
    artifacts = ports.artifacts
    if ports.way_back is not None:
        record = ports.way_back(record)
    whole = [whole_result(result, artifacts) for result in event.results]
    results = [true_result(event.restore_id, result_of(plan, whole), record, artifacts) for plan in plans]
    return _Facts(event, plans, [with_story(result, record) for result in results], record)


def _record(event: ReportEvent, table: RestoreTable) -> KnownRestore:
    """The restore's record; for the report of one volume, without the other volumes."""
    record = RestoreNotes(table, event.restore_id)
    return record.read_whole() if event.volume_index is None else record.read_with(event.volume_index)


def _plans(event: ReportEvent, artifacts: Artifacts) -> list[VolumePlan]:
    """The plans; empty if the restore failed before it had any."""
    if event.volume_index is not None:
        return [read_plan(event.restore_id, event.volume_index, artifacts)]
    return read_plans(event.plans_key, artifacts) if event.plans_key is not None else []


def _account(facts: _Facts, volumes: list[VolumeReport]) -> ReportResult:
    event = facts.event
    failures = [volume.failure for volume in volumes if volume.failure is not None]
    report_key, page_key = report_keys(event.restore_id, _index_of_one(event))
    ready = bool(volumes) and all(volume.verdict == "ready" for volume in volumes)
    back = _application(facts)
    return ReportResult(
        verdict="ready" if ready else "failed",
        volumes=volumes,
        started_at=event.started_at,
        finished_at=event.now,
        deadline_at=event.deadline_at,
        deadline_met=_deadline_met(event, volumes) if ready else None,
        estimated_p90_seconds=max((plan.plan.ready_p90_seconds for plan in facts.plans), default=0),
        actual_seconds=seconds_between(event.started_at, event.now),
        slowest_seconds=max((volume.actual_seconds or 0 for volume in volumes), default=0),
        planned_cost_usd=sum((plan.plan.cost_usd for plan in facts.plans), Decimal(0)),
        cost_usd=sum((volume.cost_usd for volume in volumes), Decimal(0)),
        billed_usd=total([volume.billed_usd for volume in volumes]),
        failure=_failure(event) or next(iter(failures), None),
        drill=volume_reports.drill_result(
            event, facts.plans, volumes, back.get("application_seconds"), ready=ready
        ),
        **back,
        report_key=report_key,
        page_key=page_key,
    )


def _application(facts: _Facts) -> dict[str, Any]:
    """What became of the application; in the report of one volume it may still be under way."""
    found = facts.record.application
    if found is None or facts.event.volume_index is not None:
        return {}
    if not found.is_over:
        reason = "the restore ended before it did"
        found = found.model_copy(update={"state": "unknown", "reason": reason})
    seconds = None if found.back_at is None else seconds_between(facts.event.started_at, found.back_at)
    return {"application": found, "application_seconds": seconds}


def _failure(event: ReportEvent) -> Failure | None:
    """The failure of a restore that had no volumes yet."""
    if event.failure is None:
        return None
    why = explain(event.failure.error, event.failure.cause)
    return Failure(state=why.state or event.failure.state, error=why.error, cause=why.sentence)


def _index_of_one(event: ReportEvent) -> int | None:
    """The volume whose report has its own key, so that no execution overwrites another's report.

    None if the restore has no other volume.
    """
    return None if event.volume_count == 1 else event.volume_index


def _note(event: ReportEvent, result: ReportResult, left: list[JsonObject], record: RestoreNotes) -> None:
    if event.volume_index is not None:
        record.volume(event.volume_index).note_report(result.report_key, result.page_key)
        return
    for volume in result.volumes:
        if volume.phases:
            record.volume(volume.index).note_measured(_measured(volume))
    record.note_report(result, _status(result), event.now, left)


def _remember(facts: _Facts, history: History) -> None:
    """Adds the times to the history. An error is ignored, because it only makes later estimates worse."""
    places = Counter((plan.volume.snapshot_id, plan.volume.availability_zone) for plan in facts.plans)
    records = []
    for plan, found in zip(facts.plans, facts.results, strict=True):
        volume = plan.volume
        ended = phase_times.ready_result(found)
        # A volume that was warmed up again, that another plan took over, or that others use, does not show
        # how long its strategy takes.
        disturbed = volume.adopts or found.get("warmUps") or found.get("inPlace")
        if ended is not None and not disturbed:
            sharers = places[volume.snapshot_id, volume.availability_zone]
            name = f"{facts.event.restore_id}/{volume.index}"
            record = phase_times.history_record(name, volume, ended, sharers)
            records.append(replace(record, parts=_parts(facts.record, volume.index)))
    with suppress(RestoreError):
        history.add(records)


def _parts(record: KnownRestore, index: int) -> tuple[tuple[str, float], ...]:
    """What brought the application back; once for a restore, by the volume whose execution ran it."""
    found = record.application
    if found is None or found.state != "back" or found.index != index:
        return ()
    parts = [part for part in found.parts if not part.at_end]
    return tuple(
        (part.title, (part.ended_at - part.since).total_seconds())
        for part in parts
        if part.ended_at is not None and part.since is not None
    )


def _measured(volume: VolumeReport) -> JsonObject:
    account: JsonObject = volume.to_json()
    return {name: account[name] for name in ("sincePlanSeconds", "errorPercent", "phases")}


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


def _samples(facts: _Facts, artifacts: Artifacts) -> list[JsonObject]:
    """The samples of each volume, and where the blocks are that a recording said to read first."""
    restore_id = facts.event.restore_id
    found = []
    for plan in facts.plans:
        index = plan.volume.index
        size_gib = plan.volume.volume.size_gib
        samples = [list(sample) for sample in loading.read_samples(restore_id, index, artifacts)]
        entry: JsonObject = {"index": index, "samples": samples}
        if plan.hot is not None:
            entry["hotMap"] = loading.read_hot_map(restore_id, index, size_gib, artifacts)
        found.append(entry)
    return found


def _document(facts: _Facts, result: ReportResult) -> JsonObject:
    """The report with everything that led to it, which is too large for a state's payload."""
    event = facts.event
    record = facts.record
    removed, kept = removed_and_kept(event.restore_id, facts.results, record)
    return {
        "restoreId": event.restore_id,
        **result.to_json(),
        "volumeIndex": event.volume_index,
        "request": event.request.to_json() if event.request else None,
        "trigger": event.trigger.to_json() if event.trigger else None,
        "plans": [plan.to_json() for plan in facts.plans],
        "results": facts.results,
        "cancelledBy": asdict(record.cancelled_by) if record.cancelled_by else None,
        "summary": record.summary,
        "approval": approval_json(record),
        "events": record.all_events,
        "removed": removed,
        "kept": kept,
    }
