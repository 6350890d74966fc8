"""State `Report`: what became of each volume, estimate against actual, cost, and the first failure."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from rewarm.contracts import (
    Failure,
    ReportEvent,
    ReportResult,
    RestoreRequest,
    Trigger,
    VolumePlan,
    VolumeReport,
)
from rewarm.contracts.base import JsonObject
from rewarm.domain.errors import RestoreError
from rewarm.domain.failures import explain
from rewarm.domain.model import Strategy
from rewarm.domain.units import iso
from rewarm.ports import Artifacts, History, RestoreTable
from rewarm.steps import measuring
from rewarm.steps.kept import is_small, kept_plans, whole_result
from rewarm.steps.records import Status, measured_attribute
from rewarm.steps.report_replacement import with_replacements

BILLED_EVEN_IF_FAILED = frozenset(Strategy) - {Strategy.BACKGROUND, Strategy.WARM_UP_AGENT}
"""The rate is billed in full once the volume is active, a copy when it is made, fast snapshot restore for an
hour at least, a boost from the first second."""
NO_RESULT: JsonObject = {"verdict": "failed", "error": "States.Runtime", "cause": "The volume has no result."}


@dataclass(frozen=True, slots=True)
class _Told:
    """The event with what it has keys for."""

    restore_id: str
    now: datetime
    started_at: datetime
    deadline_at: datetime | None
    request: RestoreRequest
    trigger: Trigger
    plans: list[VolumePlan]
    results: list[JsonObject]


def report(
    asked: ReportEvent, *, artifacts: Artifacts, table: RestoreTable, history: History
) -> ReportResult:
    """A restore is ready only where every volume is; each volume that is ready teaches the next estimates."""
    event = _told(asked, artifacts)
    volumes = [_volume(plan, _result_of(plan, event), event) for plan in event.plans]
    volumes = with_replacements(volumes, event.plans, event.restore_id, table)
    failure = next((volume.failure for volume in volumes if volume.failure is not None), None)
    ready = bool(volumes) and all(volume.verdict == "ready" for volume in volumes)
    result = ReportResult(
        verdict="ready" if ready else "failed",
        volumes=volumes,
        started_at=event.started_at,
        finished_at=event.now,
        deadline_at=event.deadline_at,
        deadline_met=_deadline_met(event, volumes) if ready else None,
        estimated_p90_seconds=max((plan.plan.ready_p90_seconds for plan in event.plans), default=0),
        actual_seconds=_seconds(event.started_at, event.now),
        cost_usd=sum((volume.cost_usd for volume in volumes), Decimal(0)),
        failure=failure,
        report_key=f"restores/{event.restore_id}/report.json",
    )
    artifacts.put_json(result.report_key, _document(event, result))
    table.update(
        event.restore_id,
        {
            "status": _status(result).value,
            "finishedAt": iso(event.now),
            "costUsd": str(result.cost_usd),
            "reportKey": result.report_key,
            "failure": failure.to_json() if failure else None,
            **(_all_measured(volumes) if is_small(volumes) else {}),
        },
    )
    _remember(event, history)
    return result if is_small(volumes) else result.model_copy(update={"volumes": []})


def _told(asked: ReportEvent, artifacts: Artifacts) -> _Told:
    return _Told(
        restore_id=asked.restore_id,
        now=asked.now,
        started_at=asked.started_at,
        deadline_at=asked.deadline_at,
        request=asked.request,
        trigger=asked.trigger,
        plans=kept_plans(asked.plans_key, artifacts),
        results=[whole_result(result, artifacts) for result in asked.results],
    )


def _all_measured(volumes: list[VolumeReport]) -> JsonObject:
    return {measured_attribute(volume.index): _measured(volume) for volume in volumes if volume.phases}


def _remember(event: _Told, history: History) -> None:
    """Without it the next estimates are no better than this one's; that must not fail a restore."""
    places = Counter((one.volume.snapshot_id, one.volume.availability_zone) for one in event.plans)
    records = []
    for plan in event.plans:
        found = _result_of(plan, event)
        volume, ended = plan.volume, measuring.ended(found)
        # A volume that had to be warmed up again, or that another plan took over half-way, says nothing of
        # how long its strategy takes.
        if ended is not None and not found.get("warmUps") and not found.get("inPlace"):
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


def _result_of(plan: VolumePlan, event: _Told) -> JsonObject:
    index = plan.volume.index
    return next((result for result in event.results if result.get("index") == index), NO_RESULT)


def _volume(plan: VolumePlan, result: JsonObject, event: _Told) -> VolumeReport:
    ready = result.get("verdict") == "ready"
    carried_out = _part(result, "plan") or plan.plan.to_json()
    initialization, after = _part(result, "initialization"), _part(result, "after")
    ended = measuring.ended(result)
    account = measuring.account(plan.volume, ended) if ended is not None else None
    return VolumeReport(
        index=plan.volume.index,
        verdict="ready" if ready else "failed",
        snapshot_id=plan.volume.snapshot_id,
        volume_id=result.get("volumeId"),
        strategy=carried_out["strategy"],
        estimated_p50_seconds=carried_out["readyP50Seconds"],
        estimated_p90_seconds=carried_out["readyP90Seconds"],
        actual_seconds=_seconds(event.started_at, ended.verified_at if ended else _ready_at(result, event))
        if ready
        else None,
        since_plan_seconds=account.since_plan_seconds if account else None,
        error_percent=account.error_percent if account else None,
        phases=account.phases() if account else [],
        cost_usd=_cost(carried_out, ready=ready) + Decimal(str(result.get("spentUsd") or 0)),
        bytes_read=initialization.get("bytesDone"),
        latency_before_ms=_latency(_part(result, "before")),
        latency_after_ms=_latency(after),
        verified=after.get("verdict"),
        benchmarks=after.get("benchmarks") or [],
        benchmark_problem=after.get("benchmarkProblem"),
        boost=_part(result, "released").get("boost"),
        failure=None if ready else _failure(result),
    )


def _part(result: JsonObject, name: str) -> JsonObject:
    value = result.get(name)
    return value if isinstance(value, dict) else {}


def _ready_at(result: JsonObject, event: _Told) -> datetime:
    value = result.get("readyAt")
    return datetime.fromisoformat(value) if isinstance(value, str) else event.now


def _cost(plan: JsonObject, *, ready: bool) -> Decimal:
    """By the plan that was carried out; AWS's bill comes a day later. Earlier plans come on top."""
    if ready or Strategy(plan["strategy"]) in BILLED_EVEN_IF_FAILED:
        return Decimal(str(plan["costUsd"]))
    return Decimal(0)


def _latency(measurement: JsonObject) -> JsonObject | None:
    found = _part(measurement, "result").get("latencyMs")
    return found if isinstance(found, dict) else None


def _failure(result: JsonObject) -> Failure:
    told = explain(str(result.get("error") or "States.Runtime"), str(result.get("cause") or ""))
    return Failure(state=told.state or "Restore Volume", error=told.error, cause=told.sentence)


def _deadline_met(event: _Told, volumes: list[VolumeReport]) -> bool | None:
    if event.deadline_at is None:
        return None
    allowed = (event.deadline_at - event.started_at).total_seconds()
    return all((volume.actual_seconds or 0) <= allowed for volume in volumes)


def _seconds(start: datetime, end: datetime) -> int:
    return max(0, round((end - start).total_seconds()))


def _document(event: _Told, result: ReportResult) -> JsonObject:
    """The report with everything that led to it; the bucket has room that a state's payload has not."""
    return {
        "restoreId": event.restore_id,
        **result.to_json(),
        "request": event.request.to_json(),
        "trigger": event.trigger.to_json(),
        "plans": [plan.to_json() for plan in event.plans],
        "results": event.results,
    }
