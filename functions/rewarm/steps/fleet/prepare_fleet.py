"""State `Prepare Fleet`: writes the restores of a run of a fleet for the Distributed Map.

The first run has all volumes. Each further run has those that are not ready, under new ids. A retry writes
the same restores. After a long wait for an approval, it plans the same restores again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime, timedelta

from pydantic import Field

from rewarm.contracts.base import Instant, StepEvent
from rewarm.contracts.fleets import FleetRequest, PrepareFleetResult
from rewarm.contracts.values import Approval, PlanSummary
from rewarm.domain.errors import NoStrategyFitsError, RestoreCancelledError, RestoreNotFoundError
from rewarm.domain.fleets import MOST_VOLUMES, ONLY_PLANNED, READY, FleetStatus, FleetVolume
from rewarm.domain.units import iso
from rewarm.domain.value import Value
from rewarm.ports import JsonObject
from rewarm.ports.artifacts import Artifacts
from rewarm.ports.restores import VOLUME_COUNT, RestoreTable
from rewarm.steps.fleet.fleet_sources import resolve_fleet
from rewarm.steps.fleet.plan_fleet import PlanFleetPorts, places_of_fleet, planned
from rewarm.steps.fleet.progress import keep_volumes, kept_volumes, read_json, states_of
from rewarm.steps.fleet.requests import (
    FleetRestore,
    parse_fleet_request,
    restore_ids_of,
    restores_of,
    source_of,
    trigger_of,
)
from rewarm.steps.plan.planning import question_of
from rewarm.steps.record.bucket import (
    REFUSED,
    fleet_items_key,
    fleet_plan_key,
    fleet_request_key,
    fleet_results_prefix,
)
from rewarm.steps.record.restore import RestoreNotes
from rewarm.steps.registration import state


class PrepareFleetEvent(StepEvent):
    """Asks for the restores of a fleet; `restoreId` is the fleet's id."""

    run: int = Field(ge=ONLY_PLANNED, description="0: makes a plan, and nothing else.")
    started_at: Instant
    approved: Approval | None = Field(
        default=None, description="What was approved of an earlier plan; null before anything was."
    )


class PrepareFleetPorts(Value, kw_only=True):
    """The ports that prepare_fleet needs."""

    planning: PlanFleetPorts
    artifacts: Artifacts
    table: RestoreTable
    bucket: str
    """Where the Distributed Map reads and writes."""


@state("Prepare Fleet", "Prepare Fleet Plan")
def prepare_fleet(event: PrepareFleetEvent, ports: PrepareFleetPorts) -> PrepareFleetResult:
    """Plans, writes and notes the run. Raises every error of the source, RestoreCancelledError and
    NoStrategyFitsError.
    """
    fleet_id = event.restore_id
    record = ports.table.get(fleet_id) or {}
    if record.get("cancelRequested"):
        raise RestoreCancelledError("the fleet was cancelled, as asked for")
    request = _request(fleet_id, ports.artifacts)
    deadline_at = _deadline(request, event.started_at)
    last_run, volumes = kept_volumes(fleet_id, ports.artifacts)
    if event.run == ONLY_PLANNED:
        _keep_plan(event, request, deadline_at, ports)
    elif last_run != event.run or event.approved is not None:
        volumes = _plan_run(event, request, volumes, deadline_at, ports)
    own = restore_ids_of(fleet_id, event.run, volumes)
    summary = read_json(fleet_plan_key(fleet_id, event.run), ports.artifacts).get("summary")
    plan_summary = PlanSummary.model_validate(summary) if summary else None
    noted: JsonObject = {
        "status": FleetStatus.RESTORING.recorded,
        VOLUME_COUNT: len(volumes),
        "readyBefore": sum(volume.restore_id not in own for volume in volumes),
        "restoreCount": len({volume.restore_id for volume in volumes}),
        "deadlineAt": iso(deadline_at) if deadline_at else None,
        "plan": summary,
    }
    if event.run != ONLY_PLANNED:
        ports.table.update(fleet_id, noted)
    tolerated = request.tolerated_failure_count
    return PrepareFleetResult(
        bucket=ports.bucket,
        items_key=fleet_items_key(fleet_id, event.run),
        results_prefix=fleet_results_prefix(fleet_id, event.run),
        restore_count=len(own),
        volume_count=sum(volume.restore_id in own for volume in volumes),
        max_concurrency=places_of_fleet(request, ports.planning.most_in_stack),
        tolerated_failure_percentage=request.tolerated_failure_percentage,
        tolerated_failure_count=MOST_VOLUMES if tolerated is None else tolerated,
        deadline_at=deadline_at,
        plan=plan_summary,
        question=question_of(plan_summary, deadline_at, event.now) if plan_summary else None,
        notify=request.notify,
    )


def _keep_plan(
    event: PrepareFleetEvent, request: FleetRequest, deadline_at: datetime | None, ports: PrepareFleetPorts
) -> None:
    """Writes what POST /fleets/plans had no time for, or why there is no plan."""
    _, restores = _restores(event, request, (), ports)
    key = fleet_plan_key(event.restore_id, event.run)
    try:
        plan = planned(request, restores, ports.planning, deadline_at=deadline_at, now=event.now)
    except NoStrategyFitsError as error:
        ports.artifacts.put_json(key, {REFUSED: str(error)})
    else:
        ports.artifacts.put_json(key, plan.answer.to_json())


def _request(fleet_id: str, artifacts: Artifacts) -> FleetRequest:
    body = read_json(fleet_request_key(fleet_id), artifacts)
    if not body:
        raise RestoreNotFoundError(f"the request of {fleet_id} is gone from the bucket")
    return parse_fleet_request(body)


def _deadline(request: FleetRequest, started_at: datetime) -> datetime | None:
    minutes = request.objective.ready_within_minutes
    return None if minutes is None else started_at + timedelta(minutes=minutes)


def _plan_run(
    event: PrepareFleetEvent,
    request: FleetRequest,
    before: Sequence[FleetVolume],
    deadline_at: datetime | None,
    ports: PrepareFleetPorts,
) -> list[FleetVolume]:
    """Writes this run's plan, its restores, and the restore of each volume. Returns all volumes."""
    fleet_id = event.restore_id
    kept, restores = _restores(event, request, before, ports)
    plan = planned(
        request,
        restores,
        ports.planning,
        deadline_at=deadline_at,
        now=event.now,
        approved_usd=event.approved.usd if event.approved else None,
    )
    ports.artifacts.put_json(fleet_plan_key(fleet_id, event.run), plan.answer.to_json())
    at_once = places_of_fleet(request, ports.planning.most_in_stack)
    trigger = trigger_of(fleet_id, deadline_at, RestoreNotes(ports.table, fleet_id).read().asked_by)
    items = plan.to_items(trigger, ports.planning.pace, at_once, event.now)
    ports.artifacts.put_json(fleet_items_key(fleet_id, event.run), items)
    volumes = [*kept, *(volume for restore in restores for volume in restore.volumes)]
    keep_volumes(fleet_id, event.run, volumes, ports.artifacts)
    return volumes


def _restores(
    event: PrepareFleetEvent,
    request: FleetRequest,
    volumes: Sequence[FleetVolume],
    ports: PrepareFleetPorts,
) -> tuple[list[FleetVolume], list[FleetRestore]]:
    """The volumes that are ready already, and the restores of this run."""
    if not volumes:
        found = resolve_fleet(source_of(request), ports.planning)
        items: list[JsonObject] = [asdict(item) for item in found]
        return [], restores_of(event.restore_id, items, request, run=event.run)
    ready = {volume for volume, state in states_of(volumes, ports.table) if state == READY}
    again = [volume.item for volume in volumes if volume not in ready]
    kept = [volume for volume in volumes if volume in ready]
    return kept, restores_of(event.restore_id, again, request, run=event.run)
