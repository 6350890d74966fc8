"""The routes of fleets: POST, GET and DELETE /fleets, POST /fleets/{fleetId}/redrive, and long plans.

POST refuses a wrong request at once, and keeps the request in the bucket, because ten thousand items exceed
an execution's input. A redrive is another execution for the volumes that are not ready: RedriveExecution
refuses executions that succeeded, and one with tolerated failures has.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import asdict
from datetime import datetime

from rewarm.domain.errors import (
    FleetBusyError,
    FleetNotFoundError,
    NoStrategyFitsError,
    RestoreEndedError,
    RestoreError,
    ServiceUnavailableError,
)
from rewarm.domain.fleets import (
    FLEET_PREFIX,
    FLEETS_RUNNING,
    ONLY_PLANNED,
    PLAN_PREFIX,
    FleetStatus,
    execution_of_fleet,
    is_fleet,
    status_of_fleet,
)
from rewarm.domain.model import Caller
from rewarm.domain.parts import EVERY_PART, Part, Parts
from rewarm.domain.units import count_text, iso
from rewarm.domain.value import Value
from rewarm.ports import JsonObject
from rewarm.ports.artifacts import Artifacts
from rewarm.ports.executions import FleetExecutions
from rewarm.ports.restores import RestoreTable
from rewarm.steps.fleet.progress import account_of, kept_volumes, progress
from rewarm.steps.fleet.requests import listed_items, parse_fleet_request, restores_of, source_of
from rewarm.steps.record.bucket import (
    ANSWER_SECONDS,
    REFUSED,
    fleet_plan_key,
    fleet_request_key,
    page_url,
)
from rewarm.steps.record.restore import RestoreNotes, asked_through_api, cancelled_news, parsed_time

STOPPED = "The fleet was cancelled."
_PLAN_ID = re.compile(PLAN_PREFIX + "[0-9a-f]{16}")


class FleetPorts(Value, kw_only=True):
    """The ports that the routes of fleets need."""

    table: RestoreTable
    artifacts: Artifacts
    fleets: FleetExecutions
    parts: Parts = EVERY_PART


def fleet_id_of(call: JsonObject) -> str:
    """The fleet's id, which follows from the idempotency key and the body."""
    text = json.dumps(call, sort_keys=True)
    return f"{FLEET_PREFIX}{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def start_fleet(
    body: JsonObject, *, fleet_id: str, by: Caller, now: datetime, ports: FleetPorts
) -> JsonObject:
    """The same id starts one fleet only. Raises InvalidRequestError."""
    request = parse_fleet_request(body, ports.parts)
    restores_of(fleet_id, listed_items(source_of(request)), request, run=1)
    ports.artifacts.put_json(fleet_request_key(fleet_id), request.to_json())
    record = {"status": FleetStatus.ACCEPTED.recorded, "startedAt": iso(now)}
    is_new = ports.table.put_new(fleet_id, {**record, **_run(fleet_id, 1, by, now, ports)})
    if is_new or status_of_fleet((ports.table.get(fleet_id) or {}).get("status")) in FLEETS_RUNNING:
        # The same call again: the first answer was lost, and maybe the start.
        _begin(fleet_id, 1, ports)
    return _accepted(fleet_id, 1)


def get_fleet(fleet_id: str, *, now: datetime, ports: FleetPorts) -> JsonObject:
    """Returns the fleet with its progress as of now. Raises FleetNotFoundError."""
    record = _record(fleet_id, ports.table)
    _, volumes = kept_volumes(fleet_id, ports.artifacts)
    found = None
    if volumes:
        found = account_of(
            progress(
                volumes,
                table=ports.table,
                since=parsed_time(record.get("runStartedAt")) or now,
                now=now,
                before=int(record.get("readyBefore") or 0),
            )
        ).to_json()
    return {
        "fleetId": fleet_id,
        "status": status_of_fleet(record["status"]),
        "startedAt": record["startedAt"],
        "finishedAt": record.get("finishedAt"),
        "deadlineAt": record.get("deadlineAt"),
        "run": int(record.get("run") or 1),
        "restoreCount": record.get("restoreCount"),
        "progress": found,
        "approval": record.get("approval"),
        "plan": record.get("plan"),
        "failure": record.get("failure"),
        "trigger": record.get("trigger"),
        "cancelRequested": bool(record.get("cancelRequested")),
        "cancelledBy": record.get("cancelledBy"),
        "left": record.get("left"),
        "events": record.get("events") or [],
        "reportUrl": page_url(record.get("pageKey"), ports.artifacts, seconds=ANSWER_SECONDS),
    }


def begin_plan(body: JsonObject, *, plan_id: str, ports: FleetPorts) -> JsonObject:
    """An execution makes the plan, which takes longer than an answer may."""
    ports.artifacts.put_json(fleet_request_key(plan_id), body)
    ports.fleets.start(execution_of_fleet(plan_id, ONLY_PLANNED), {"fleetId": plan_id, "run": ONLY_PLANNED})
    return {"planId": plan_id, "status": "planning"}


def get_plan(plan_id: str, *, ports: FleetPorts) -> tuple[JsonObject, int]:
    """The plan, or that it is being made, with the status of the answer.

    Raises FleetNotFoundError, and what kept it from being made.
    """
    if not _PLAN_ID.fullmatch(plan_id):
        raise FleetNotFoundError(f"there is no plan {plan_id}")
    plan = ports.artifacts.get_json(fleet_plan_key(plan_id, ONLY_PLANNED))
    if plan is not None and REFUSED in plan:
        raise NoStrategyFitsError(str(plan[REFUSED]))
    if plan is not None:
        return plan, 200
    ports.parts.need(Part.FLEETS)
    ending = ports.fleets.ending(ports.fleets.arn_of(execution_of_fleet(plan_id, ONLY_PLANNED)))
    if ending.runs:
        return {"planId": plan_id, "status": "planning"}, 202
    if ending.status in {"GONE", "SUCCEEDED"}:
        raise FleetNotFoundError(f"there is no plan {plan_id}")
    raise ServiceUnavailableError(f"the plan was not made, {ending.in_words}; ask for it again")


def cancel_fleet(fleet_id: str, *, by: Caller, now: datetime, ports: FleetPorts) -> JsonObject:
    """Stops the fleet and its restores; the sweeper cleans up after them.

    Volumes at full speed stay. Asking again changes nothing. Raises FleetNotFoundError, RestoreEndedError.
    """
    ports.parts.need(Part.FLEETS)
    record = _record(fleet_id, ports.table)
    status = status_of_fleet(record["status"])
    if status not in FLEETS_RUNNING:
        raise RestoreEndedError(f"{fleet_id} has ended: it is {status}; nothing is left to cancel")
    if not record.get("cancelRequested"):
        ports.table.request_cancel(fleet_id, by=asdict(by))
        RestoreNotes(ports.table, fleet_id).append_event(cancelled_news(by, now))
    ports.fleets.stop(str(record["execution"]), STOPPED)
    return {"fleetId": fleet_id, "status": status, "cancelRequested": True}


def redrive_fleet(fleet_id: str, *, by: Caller, now: datetime, ports: FleetPorts) -> JsonObject:
    """Restores the volumes that are not ready. Raises FleetNotFoundError, FleetBusyError, and
    RestoreEndedError if every volume is ready.
    """
    ports.parts.need(Part.FLEETS)
    record = _record(fleet_id, ports.table)
    run = int(record.get("run") or 1)
    if status_of_fleet(record["status"]) in FLEETS_RUNNING:
        raise FleetBusyError(f"{fleet_id} still runs; `rewarm fleet cancel {fleet_id}` ends it")
    if status_of_fleet(record["status"]) == FleetStatus.READY:
        raise RestoreEndedError(f"{fleet_id} is ready: all of its volumes are at full speed")
    _, volumes = kept_volumes(fleet_id, ports.artifacts)
    running = progress(volumes, table=ports.table, since=now, now=now).running_restores
    if running:
        raise FleetBusyError(
            f"{count_text(len(running), 'restore')} of {fleet_id} still run or are being cleaned up, such as "
            f"{running[0]}; try again in some minutes"
        )
    begun: JsonObject = {
        "status": FleetStatus.ACCEPTED.recorded,
        **_run(fleet_id, run + 1, by, now, ports),
        "finishedAt": None,
        "failure": None,
        "left": None,
        "plan": None,
        "cancelRequested": False,
        "cancelledBy": None,
        "endedAnnounced": None,
    }
    ports.table.update(fleet_id, begun)
    title = f"{by.name} asked for run {run + 1}"
    news = {"event": "redriven", "at": iso(now), "title": title, "text": f"{title}."}
    RestoreNotes(ports.table, fleet_id).append_event(news)
    _begin(fleet_id, run + 1, ports)
    return _accepted(fleet_id, run + 1)


def _run(fleet_id: str, run: int, by: Caller, now: datetime, ports: FleetPorts) -> JsonObject:
    """What is noted of a run before its execution starts, so that the sweeper always finds it."""
    execution = ports.fleets.arn_of(execution_of_fleet(fleet_id, run))
    noted = {"run": run, "runStartedAt": iso(now), "execution": execution}
    return {**noted, "trigger": asked_through_api(by)}


def _begin(fleet_id: str, run: int, ports: FleetPorts) -> None:
    try:
        ports.fleets.start(execution_of_fleet(fleet_id, run), {"fleetId": fleet_id, "run": run})
    except ServiceUnavailableError:
        # The execution may have begun nevertheless. If not, the sweeper ends the fleet.
        raise
    except RestoreError as error:
        failed = {"status": FleetStatus.FAILED.recorded, "failure": {"cause": str(error)}}
        ports.table.update(fleet_id, failed)
        raise


def _accepted(fleet_id: str, run: int) -> JsonObject:
    links = {"self": f"/fleets/{fleet_id}", "cancel": f"/fleets/{fleet_id}"}
    return {"fleetId": fleet_id, "status": FleetStatus.ACCEPTED, "run": run, "links": links}


def _record(fleet_id: str, table: RestoreTable) -> JsonObject:
    record = table.get(fleet_id) if is_fleet(fleet_id) else None
    if record is None or "status" not in record:
        raise FleetNotFoundError(f"there is no fleet {fleet_id}")
    return record
