"""States `Announce …`: tells people and the record; domain.messages finds the words."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from types import MappingProxyType

from rewarm.contracts import (
    AnnounceEvent,
    AnnounceResult,
    Failure,
    Measurement,
    Plan,
    ReleaseResult,
    Trigger,
    VerifyVolumeResult,
    VolumeAssignment,
)
from rewarm.contracts.base import JsonObject
from rewarm.domain.errors import ServiceUnavailableError
from rewarm.domain.scope import Scope, reported
from rewarm.domain.units import clock_text, iso
from rewarm.domain.volume.performance import BoostOutcome, performance_of
from rewarm.domain.words import ended as end_messages
from rewarm.domain.words import message as wording
from rewarm.domain.words.failures import explain
from rewarm.domain.words.message import Message
from rewarm.domain.words.usable import attached, available
from rewarm.ports import Artifacts, Messages, RestoreTable
from rewarm.steps.announce.details import (
    AttachedDetails,
    AvailableDetails,
    FailedDetails,
    FallbackDetails,
    PlanDetails,
    ReadyDetails,
)
from rewarm.steps.announce.performance import performance_changed, performance_failed
from rewarm.steps.announce.record import recorded
from rewarm.steps.announce.replacement import telling_replaced
from rewarm.steps.announce.unreleased import telling_unreleased
from rewarm.steps.announce.unreported import unreported
from rewarm.steps.announce.usable import USABLE, note_usable
from rewarm.steps.record.bucket import MESSAGE_SECONDS, page_url
from rewarm.steps.record.leftovers import ending_of
from rewarm.steps.record.payloads import with_plans
from rewarm.steps.record.records import REFUSALS, Status, plan_attribute
from rewarm.steps.report import phase_times

ON = {"slack": True, "email": True}

Composer = Callable[[AnnounceEvent, JsonObject], tuple[Message, JsonObject]]
"""From the event and the record to the message and what changes in the record."""


def announce(
    event: AnnounceEvent, *, table: RestoreTable, messages: Messages, artifacts: Artifacts | None = None
) -> AnnounceResult:
    """The record is written first, so that it holds the news even where no channel takes them.

    Raises RestoreCancelledError, ServiceUnavailableError.
    """
    if artifacts is not None and "plansKey" in event.details:
        event = with_plans(event, artifacts)
    if event.event in USABLE:
        note_usable(event, table)
    message = recorded(event, COMPOSERS[event.event], table)
    key = event.details.get("pageKey")
    url = page_url(key, artifacts, seconds=MESSAGE_SECONDS) if artifacts is not None else None
    channels = messages.send({**_as_json(message, event), "reportUrl": url})
    if event.event == "failed":
        _note_told(event, channels, table)
    return AnnounceResult(channels=channels)


def _note_told(event: AnnounceEvent, channels: list[str], table: RestoreTable) -> None:
    """Told is what any channel took, the event bus included: that a person has read it nobody knows.

    Until this is noted the sweeper tells it (sweep_restores.py).
    """
    if not channels:
        raise ServiceUnavailableError("no channel took the message that the restore has ended")
    table.update(event.restore_id, {"toldAt": iso(event.now)})


def _as_json(message: Message, event: AnnounceEvent) -> JsonObject:
    return {
        "event": message.event,
        "restoreId": message.restore_id,
        "at": iso(event.now),
        "severity": message.severity.value,
        "title": message.title,
        "text": message.text,
        "fields": [{"name": name, "value": value} for name, value in message.fields],
        "nextSteps": list(message.next_steps),
        "links": dict(message.links) or {"restore": f"/restores/{message.restore_id}"},
        "kind": message.kind,
        "notify": event.request.notify.to_json() if event.request else event.details.get("notify") or ON,
    }


def _plan(event: AnnounceEvent, record: JsonObject) -> tuple[Message, JsonObject]:
    del record
    details = PlanDetails.model_validate(event.details)
    summary = details.summary
    facts = wording.PlanFacts(
        volumes=[_planned(one.volume, one.plan) for one in details.plans],
        started_by=_started_by(details.trigger),
        total_cost_usd=summary.total_cost_usd,
        ready_p90_at=summary.ready_p90_at,
        deadline_at=details.deadline_at,
        deadline_missed=summary.deadline_missed,
        prices=f"{summary.price_source}, {clock_text(summary.price_book_as_of)[:10]}"
        + (" (more than 90 days old)" if summary.price_book_stale else ""),
        dry_run=event.request is not None and event.request.dry_run,
        notes=summary.notes,
    )
    plans = {plan_attribute(one.volume.index): _as_noted(one.volume, one.plan) for one in details.plans}
    changes = {"status": Status.PLANNED.value, "summary": summary.to_json(), **plans}
    return wording.plan(event.restore_id, facts), changes


def _as_noted(volume: VolumeAssignment, plan: Plan) -> JsonObject:
    return {"index": volume.index, "snapshotId": volume.snapshot_id, "plan": plan.to_json()}


def _fallback(event: AnnounceEvent, record: JsonObject) -> tuple[Message, JsonObject]:
    del record
    details = FallbackDetails.model_validate(event.details)
    reason = explain(details.failure.error, details.failure.cause).sentence
    return wording.fallback(event.restore_id, _planned(details.volume, details.plan), reason), {}


def _attached(event: AnnounceEvent, record: JsonObject) -> tuple[Message, JsonObject]:
    del record
    details = AttachedDetails.model_validate(event.details)
    message = attached(
        event.restore_id,
        details.volume_id,
        details.device,
        details.volume.instance_id or "",
        _planned(details.volume, details.plan),
    )
    return message, {"status": Status.INITIALIZING.value}


def _available(event: AnnounceEvent, record: JsonObject) -> tuple[Message, JsonObject]:
    del record
    details = AvailableDetails.model_validate(event.details)
    zone, planned = details.volume.availability_zone, _planned(details.volume, details.plan)
    message = available(event.restore_id, details.volume_id, zone, planned)
    return message, {"status": Status.INITIALIZING.value}


def _ready(event: AnnounceEvent, record: JsonObject) -> tuple[Message, JsonObject]:
    """Of one volume; the record turns ready in Report, when all are."""
    del record
    details = ReadyDetails.model_validate(event.details)
    after = details.after
    facts = wording.ReadyFacts(
        volume_id=details.volume_id,
        volume=_planned(details.volume, details.plan),
        started_at=details.started_at,
        ready_at=details.ready_at or event.now,
        boost=_boost(details.released),
        used_only=_used_only(details),
        deadline_at=details.deadline_at,
        before=_latency(details.before.result if details.before else None),
        after=_latency(after.result if after else None),
        unmeasured_because=after.reason if after else "there is no instance to measure it on",
        reasons=[*details.initialization.reasons, *_measured(after)],
        phases=_phases(details, event.now),
        warm_ups=details.warm_ups,
        expected=_expected(after),
    )
    return wording.ready(event.restore_id, facts), {}


def _used_only(details: ReadyDetails) -> bool:
    agent = details.initialization.signals.agent or {}
    return reported(agent.get("scope"), Scope.WRITTEN) is Scope.USED


def _expected(after: VerifyVolumeResult | None) -> wording.Latency | None:
    found = after.expected if after else None
    return wording.Latency(found.p50_ms, found.p99_ms, found.iops) if found else None


def _measured(after: VerifyVolumeResult | None) -> list[str]:
    if after is not None and after.verdict == "fast" and after.result is not None:
        return [f"{after.result.samples:,} random reads were fast"]
    return [after.reason] if after is not None and after.verdict == "slow" else []


def _phases(details: ReadyDetails, now: datetime) -> list[tuple[str, float | None, float | None]]:
    if details.timeline is None:
        return []
    one = phase_times.ReadyResult.model_validate({**dict(details), "ready_at": details.ready_at or now})
    return [
        (phase.phase.value, phase.estimated_p50_seconds, phase.actual_seconds)
        for phase in phase_times.volume_times(details.volume, one).phases()
    ]


def _failed(event: AnnounceEvent, record: JsonObject) -> tuple[Message, JsonObject]:
    details = FailedDetails.model_validate(event.details)
    failure = _reported(record) or details.failure
    told = explain(failure.error, failure.cause)
    ending = ending_of(event.restore_id, details.results, record, at=event.now)
    changes = {
        "finishedAt": iso(event.now),
        "failure": {"state": failure.state, "error": told.error, "cause": told.sentence},
    }
    if told.error == "RestoreCancelledError":
        message = end_messages.cancelled(event.restore_id, ending=ending)
        return message, {**changes, "status": Status.CANCELLED.value}
    message = end_messages.failed(event.restore_id, told.sentence, state=failure.state, ending=ending)
    status = Status.REFUSED if told.error in REFUSALS else Status.FAILED
    return message, {**changes, "status": status.value}


def _reported(record: JsonObject) -> Failure | None:
    """What `Report` found, where only its answer was lost: it has read all that is kept of the volumes."""
    found = record.get("failure") or {}
    if not record.get("reportKey") or "error" not in found:
        return None
    return Failure(state=found.get("state"), error=found["error"], cause=found.get("cause") or "")


def _boost(released: ReleaseResult | None) -> BoostOutcome | None:
    boost = released.boost if released else None
    if boost is None:
        return None
    return BoostOutcome(boost.boosted, boost.target, boost.state == "lowered", boost.reason)


def _planned(volume: VolumeAssignment, plan: Plan) -> wording.PlannedVolume:
    where = f"{volume.device} on {volume.instance_id}" if volume.instance_id else volume.availability_zone
    rate = f" at {plan.initialization_rate_mib_s} MiB/s" if plan.initialization_rate_mib_s else ""
    boost = f" as {performance_of(plan.boost.values()).in_words}" if plan.boost else ""
    return wording.PlannedVolume(
        snapshot_id=volume.snapshot_id,
        snapshot_started_at=volume.snapshot_started_at,
        data_bytes=volume.data_bytes,
        where=where,
        how=f"{plan.strategy}{rate}{boost}",
        source_volume_id=volume.source_volume_id,
        usable_seconds=plan.usable_seconds,
        ready_p50_seconds=plan.ready_p50_seconds,
        ready_p90_seconds=plan.ready_p90_seconds,
        cost_usd=plan.cost_usd,
        why=plan.why,
    )


def _started_by(trigger: Trigger) -> str:
    if trigger.kind == "alarm":
        return f'The alarm "{trigger.alarm_name}" went off.'
    if trigger.kind == "schedule":
        return f"As scheduled{f' by {trigger.schedule_name}' if trigger.schedule_name else ''}."
    return "As asked for through the API."


def _latency(measured: Measurement | None) -> wording.Latency | None:
    if measured is None:
        return None
    return wording.Latency(measured.latency_ms.p50, measured.latency_ms.p99, measured.iops)


COMPOSERS = MappingProxyType[str, Composer](
    {
        "plan": _plan,
        "fallback": _fallback,
        "attached": telling_replaced(_attached),
        "available": _available,
        "ready": telling_replaced(telling_unreleased(_ready)),
        "unreported": unreported,
        "failed": _failed,
        "performance-changed": performance_changed,
        "performance-failed": performance_failed,
    }
)
