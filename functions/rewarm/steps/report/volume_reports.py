"""The report of one volume: estimate against actual, what it cost, what was measured.

And of a drill: recovery time and point against their objectives, with the earlier drills.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from decimal import Decimal

from rewarm.contracts.base import JsonObject
from rewarm.contracts.events import ReportEvent
from rewarm.contracts.results import BilledPart, FirstReads, Replacement, VolumeReport
from rewarm.contracts.values import Confirmation, DrillResult, Failure, VolumeAssignment, VolumePlan
from rewarm.domain.errors import RestoreError
from rewarm.domain.model import Strategy
from rewarm.domain.plan.cost import billed
from rewarm.domain.words.failures import explain
from rewarm.ports.restores import History
from rewarm.steps.record.approvals import is_unapproved
from rewarm.steps.record.restore import KnownRestore, parsed_time
from rewarm.steps.record.volume import KnownVolume
from rewarm.steps.record.way_back import in_words
from rewarm.steps.report import phase_times

BILLED_EVEN_IF_FAILED = frozenset(Strategy) - {Strategy.BACKGROUND, Strategy.WARM_UP_AGENT}
"""AWS bills a rate in full once the volume is active, and a copy when it is made. It bills fast snapshot
restore for at least an hour, and a boost from the first second."""
BILLED_BY_THE_HOUR = frozenset({Strategy.FAST_SNAPSHOT_RESTORE, Strategy.BOOSTED_WARM_UP})
"""Billed until fast snapshot restore is disabled or the volume is lowered."""
NO_RESULT: JsonObject = {"verdict": "failed", "error": "States.Runtime", "cause": "The volume has no result."}


def result_of(plan: VolumePlan, results: list[JsonObject]) -> JsonObject:
    """The result of the volume's execution, or a failure if there is none."""
    index = plan.volume.index
    return next((result for result in results if result.get("index") == index), {**NO_RESULT, "index": index})


def with_story(result: JsonObject, record: KnownRestore) -> JsonObject:
    """The result of a failed volume, completed from the record: its execution returns only an error."""
    if result.get("verdict") == "ready":
        return result
    return {**record.volume(result.get("index", 0)).story_of_failure, **result}


def volume_report(
    plan: VolumePlan, result: JsonObject, event: ReportEvent, record: KnownRestore
) -> VolumeReport:
    """The report of a volume, from its plan, the result of its execution and the restore's record."""
    ready = result.get("verdict") == "ready"
    carried_out = part_of(result, "plan") or plan.plan.to_json()
    initialization = part_of(result, "initialization")
    after = part_of(result, "after")
    ready_result = phase_times.ready_result(result)
    parts = _billed_parts(carried_out, result)
    return VolumeReport(
        index=plan.volume.index,
        verdict="ready" if ready else "failed",
        snapshot_id=plan.volume.snapshot_id,
        volume_id=result.get("volumeId"),
        strategy=carried_out["strategy"],
        estimated_p50_seconds=carried_out["readyP50Seconds"],
        estimated_p90_seconds=carried_out["readyP90Seconds"],
        actual_seconds=_actual_seconds(result, ready_result, event) if ready else None,
        **_times(plan, ready_result),
        cost_usd=_cost(carried_out, record, ready=ready) + Decimal(str(result.get("spentUsd") or 0)),
        billed_usd=total([part.billed_usd for part in parts]),
        cost_parts=parts,
        bytes_read=initialization.get("bytesDone"),
        warm_ups=int(result.get("warmUps") or 0),
        expected=after.get("expected") or part_of(result, "before").get("expected"),
        latency_before_ms=_latency(part_of(result, "before")),
        latency_meanwhile_ms=_meanwhile(initialization),
        latency_after_ms=_latency(after),
        **_recorded(record.volume(plan.volume.index), ready=ready),
        verified=after.get("verdict"),
        confirmation=_confirmation(plan.volume.index, event),
        benchmarks=after.get("benchmarks") or [],
        benchmark_problem=after.get("benchmarkProblem"),
        boost=part_of(result, "released").get("boost"),
        release_failure=_release_failure(carried_out, result),
        replaced=_replaced(plan.volume, record, ready=ready),
        mount_points=record.attached(plan.volume.index).mount_points,
        failure=None if ready else _failure(result),
    )


def total(amounts: list[Decimal | None]) -> Decimal | None:
    """The sum in USD; None if an amount is not known."""
    known = [amount for amount in amounts if amount is not None]
    return sum(known, Decimal(0)) if len(known) == len(amounts) else None


def part_of(result: JsonObject, name: str) -> JsonObject:
    """An object in the result; empty if it is missing."""
    value = result.get(name)
    return value if isinstance(value, dict) else {}


def seconds_between(start: datetime, end: datetime) -> int:
    """Whole seconds, at least 0."""
    return max(0, round((end - start).total_seconds()))


def _actual_seconds(
    result: JsonObject, ready_result: phase_times.ReadyResult | None, event: ReportEvent
) -> int:
    ready_at = ready_result.verified_at if ready_result else parsed_time(result.get("readyAt")) or event.now
    return seconds_between(event.started_at, ready_at)


def _billed_parts(plan: JsonObject, result: JsonObject) -> list[BilledPart]:
    strategy = Strategy(plan["strategy"])
    lasted = _lasted(plan, result)
    is_made = result.get("volumeId") is not None
    parts = []
    for part in plan.get("costParts") or []:
        planned = Decimal(str(part["usd"]))
        seconds = part.get("seconds")
        usd, how = billed(strategy, part["item"], planned, seconds, is_made=is_made, actual_seconds=lasted)
        parts.append(
            BilledPart(
                item=part["item"], planned_usd=planned, billed_usd=usd, arithmetic=part["arithmetic"], how=how
            )
        )
    return parts


def _lasted(plan: JsonObject, result: JsonObject) -> float | None:
    """Seconds between the calls that began and ended a cost by the hour; None if it has not ended."""
    timeline = part_of(result, "timeline")
    released = part_of(result, "released")
    if released.get("failure"):
        return None
    boosted = plan["strategy"] == Strategy.BOOSTED_WARM_UP
    state = part_of(released, "boost").get("state")
    if boosted and state == "not-raised":
        return 0.0
    if boosted and state != "lowered":
        return None
    since = parsed_time(timeline.get("asked" if boosted else "began"))
    until = parsed_time(released.get("firstTriedAt"))
    return None if since is None or until is None else (until - since).total_seconds()


def _cost(plan: JsonObject, record: KnownRestore, *, ready: bool) -> Decimal:
    """USD by the plan that was carried out, without earlier plans; AWS's bill comes a day later."""
    if is_unapproved(record):  # nothing was made while it waited
        return Decimal(0)
    if ready or Strategy(plan["strategy"]) in BILLED_EVEN_IF_FAILED:
        return Decimal(str(plan["costUsd"]))
    return Decimal(0)


def _latency(measurement: JsonObject) -> JsonObject | None:
    found = part_of(measurement, "result").get("latencyMs")
    return found if isinstance(found, dict) else None


def _times(plan: VolumePlan, ready_result: phase_times.ReadyResult | None) -> JsonObject:
    if ready_result is None:
        return {"since_plan_seconds": None, "error_percent": None, "phases": []}
    times = phase_times.volume_times(plan.volume, ready_result)
    return {
        "since_plan_seconds": times.since_plan_seconds,
        "error_percent": times.error_percent,
        "phases": times.phases(),
    }


def _recorded(known: KnownVolume, *, ready: bool) -> JsonObject:
    """What the record knows besides, of the reads of an application and of the way back."""
    found = known.recording.first_reads
    first = None if found is None else FirstReads(blocks=found[0], cold_blocks=found[1])
    way_back = in_words(known, is_ready=ready)
    return {"first_reads": first, "recording": known.recording.sentence, "way_back": way_back}


def _meanwhile(initialization: JsonObject) -> JsonObject | None:
    """How long a polite agent's probe reads took, if it made any."""
    agent = part_of(part_of(initialization, "signals"), "agent")
    return part_of(agent, "probeLatencyMs") or None if agent.get("probeReads") else None


def _release_failure(plan: JsonObject, result: JsonObject) -> Failure | None:
    """Why `Release` failed; None if the plan has no cost by the hour."""
    found = part_of(part_of(result, "released"), "failure")
    if not found or Strategy(plan["strategy"]) not in BILLED_BY_THE_HOUR:
        return None
    why = explain(str(found.get("error")), str(found.get("cause") or ""))
    return Failure(state=found.get("state"), error=why.error, cause=why.sentence)


def _replaced(volume: VolumeAssignment, record: KnownRestore, *, ready: bool) -> Replacement | None:
    """The volume that was to leave its place; None if the restore replaces none."""
    old = volume.replaces
    if old is None or volume.place is None:
        return None
    noted = record.volume(volume.index).replaced
    # The record of a ready volume may lag, because its message could not be written.
    state = "replaced" if ready else noted.state or "in-place"
    return Replacement.model_validate(
        {"volumeId": old.volume_id, "device": volume.place, "state": state, "reason": noted.reason or ""}
    )


def _confirmation(index: int, event: ReportEvent) -> Confirmation | None:
    known = event.confirmations or []
    return next((confirmation for confirmation in known if confirmation.index == index), None)


def _failure(result: JsonObject) -> Failure:
    why = explain(str(result.get("error") or "States.Runtime"), str(result.get("cause") or ""))
    return Failure(state=why.state or "Restore Volume", error=why.error, cause=why.sentence)


def drill_result(
    event: ReportEvent,
    plans: Sequence[VolumePlan],
    volumes: Sequence[VolumeReport],
    back_after: int | None,
    *,
    ready: bool,
) -> DrillResult | None:
    """The result; None if the restore is no drill, or this is the report of one volume.

    `back_after` is None if the application is not back, or was not to be brought back.
    """
    request = event.request
    if request is None or request.drill is None or not request.is_drill or event.volume_index is not None:
        return None
    drill = request.drill
    ages = [seconds_between(plan.volume.snapshot_started_at, event.started_at) for plan in plans]
    minutes = drill.recovery_time_minutes or request.objective.ready_within_minutes
    of_application = request.after is not None
    took = (
        back_after if of_application else max((volume.actual_seconds or 0 for volume in volumes), default=0)
    )
    is_back = ready and took is not None
    result = DrillResult(
        restore_id=event.restore_id,
        runbook=drill.runbook or "",
        at=event.started_at,
        outcome="passed" if is_back else "failed",
        recovery_seconds=took if is_back else None,
        recovery_of="application" if of_application else "volumes",
        recovery_objective_seconds=_seconds(minutes),
        point_seconds=max(ages, default=None),
        point_objective_seconds=_seconds(drill.recovery_point_minutes),
    )
    return result.model_copy(update={"outcome": "late"}) if is_back and _is_late(result) else result


def with_earlier(result: DrillResult, history: History) -> list[JsonObject]:
    """The runbook's drills with this one, oldest first; only this one if the others cannot be read."""
    earlier: list[JsonObject] = []
    with suppress(RestoreError):
        earlier = history.drills(result.runbook)
    return [*(drill for drill in earlier if drill.get("restoreId") != result.restore_id), result.to_json()]


def remember(result: DrillResult, history: History) -> None:
    """Adds it to the runbook's drills. An error is ignored, because the report has the result, too."""
    with suppress(RestoreError):
        history.add_drill(result.runbook, result.to_json())


def _is_late(result: DrillResult) -> bool:
    pairs = (
        (result.recovery_seconds, result.recovery_objective_seconds),
        (result.point_seconds, result.point_objective_seconds),
    )
    return any(took is not None and limit is not None and took > limit for took, limit in pairs)


def _seconds(minutes: int | None) -> int | None:
    return None if minutes is None else 60 * minutes
