"""Answers the REST API: restores, plans and runbooks. What the routes do is in steps/.

A route imports its step, and makes its ports, when it is asked first: a cold start answers one route.
"""

from __future__ import annotations

import json
import math
from datetime import timedelta
from functools import cache
from typing import TYPE_CHECKING
from urllib.parse import unquote
from uuid import uuid4

from aws_lambda_powertools.event_handler import APIGatewayRestResolver, Response
from aws_lambda_powertools.utilities.data_classes import APIGatewayProxyEvent
from aws_lambda_powertools.utilities.idempotency import (
    DynamoDBPersistenceLayer,
    IdempotencyConfig,
    idempotent_function,
)
from aws_lambda_powertools.utilities.idempotency.exceptions import (
    IdempotencyAlreadyInProgressError,
    IdempotencyPersistenceLayerError,
    IdempotencyValidationError,
)
from aws_lambda_powertools.utilities.typing import LambdaContext

from rewarm import wiring
from rewarm.adapters import clients
from rewarm.contracts.base import parsed
from rewarm.domain import errors
from rewarm.domain.parts import Part
from rewarm.domain.units import shown
from rewarm.handlers.api_others import fleet_ports, router
from rewarm.handlers.http import (
    Fault,
    as_answer_to,
    as_rest_event,
    caller,
    json_body,
    preferred,
    problem,
    query,
    stop_other_routes,
    with_safe_path,
)
from rewarm.observability import count, logger, tracer
from rewarm.ports import JsonObject
from rewarm.runtime import filled
from rewarm.wiring import now, pause

if TYPE_CHECKING:
    from rewarm.contracts.plans import PlanResult
    from rewarm.ports.prices import Prices
    from rewarm.ports.restores import History, RestoreTable
    from rewarm.steps.fleet.plan_fleet import PlanFleetPorts
    from rewarm.steps.plan.plan_restore import PlanRestorePorts
    from rewarm.steps.request.approval import ApproveRestorePorts
    from rewarm.steps.request.routes import GetRestorePorts, StartRestorePorts
    from rewarm.steps.request.runbooks import PutRunbookPorts

IDEMPOTENCY_SECONDS = 86_400
STATUS_CODES: dict[type[errors.RestoreError], int] = {
    errors.InvalidRequestError: 400,
    errors.AccessDeniedError: 403,
    errors.SnapshotNotFoundError: 404,
    errors.TargetNotFoundError: 404,
    errors.VolumeNotFoundError: 404,
    errors.RestoreNotFoundError: 404,
    errors.RunbookNotFoundError: 404,
    errors.RuleNotFoundError: 404,
    errors.FleetNotFoundError: 404,
    errors.BenchmarkNotFoundError: 404,
    errors.UndoLogNotFoundError: 404,
    errors.HotSetNotFoundError: 404,
    errors.DeviceInUseError: 409,
    errors.VolumeInUseError: 409,
    errors.TargetBusyError: 409,
    errors.ModificationPostponedError: 409,
    errors.RestoreEndedError: 409,
    errors.FleetBusyError: 409,
    errors.UndoLogInUseError: 409,
    errors.NotAwaitingApprovalError: 409,
    errors.AlreadyStoredError: 409,
    errors.SnapshotNotUsableError: 422,
    errors.TargetNotUsableError: 422,
    errors.NoStrategyFitsError: 422,
    errors.PartLeftOutError: 422,
    errors.QuotaExceededError: 422,
    errors.TooManyRestoresError: 429,
    errors.ThrottledError: 429,
    errors.ServiceUnavailableError: 503,
}
"""Every other error is an answer of AWS that we could not use: 502."""
UNAVAILABLE = STATUS_CODES[errors.ServiceUnavailableError]
STARTS = ("/restores", "/fleets")
"""What they start has an id that follows from the key and the request."""
API_SECONDS = 30
"""How long a key counts as being worked on: API Gateway waits no longer."""
RESTORE_RETRY_SECONDS = 60
"""After this time a running restore may have ended."""
MOST_RUNNING_SHOWN = 100
LOOK_SECONDS = 1.0
"""Seconds between two reads of a restore that a caller waits for."""
ANSWER_NEEDS_MILLIS = 8_000
"""Milliseconds that the rest of a plan may need: for a late answer of AWS, and for a picture."""
JSON, SVG = "application/json", "image/svg+xml"
APPROVE_ROUTE = "POST /restores/{restoreId}/approve"
"""The route of the API for tokens in template.yaml; only it requires the scope `approve`."""


@cache
def _show_ports() -> GetRestorePorts:
    """Those of routes that need no EC2."""
    from rewarm.steps.request.routes import GetRestorePorts

    return filled(GetRestorePorts)


@cache
def _approval_ports() -> ApproveRestorePorts:
    from rewarm.steps.request.approval import ApproveRestorePorts

    return filled(ApproveRestorePorts)


@cache
def _runbook_ports() -> PutRunbookPorts:
    from rewarm.steps.request.runbooks import PutRunbookPorts

    return filled(PutRunbookPorts)


@cache
def _start_ports() -> StartRestorePorts:
    from rewarm.steps.request.routes import StartRestorePorts
    from rewarm.steps.select.admission import Keeper

    keeper = Keeper(wiring.holds(), wiring.table(), wiring.settings.limits, wiring.witness())
    return filled(StartRestorePorts, keeper=keeper)


@cache
def _plan_ports() -> PlanRestorePorts:
    from rewarm.steps.plan.plan_restore import PlanRestorePorts

    return filled(PlanRestorePorts, history=_history(), prices=_prices())


@cache
def _fleet_plan_ports() -> PlanFleetPorts:
    from rewarm.steps.fleet.plan_fleet import PlanFleetPorts

    return filled(PlanFleetPorts, history=_history(), prices=_prices())


@cache
def _table() -> RestoreTable:
    return wiring.table()


@cache
def _history() -> History:
    return wiring.history()


@cache
def _prices() -> Prices:
    return wiring.prices()


_IDEMPOTENCY = IdempotencyConfig(
    event_key_jmespath="key",
    payload_validation_jmespath="body",
    expires_after_seconds=IDEMPOTENCY_SECONDS,
    raise_on_no_idempotency_key=True,
)
_IDEMPOTENCY_STORE = DynamoDBPersistenceLayer(
    table_name=wiring.settings.idempotency_table, boto3_client=clients.client("dynamodb")
)

app = APIGatewayRestResolver(strip_prefixes=[])
app.include_router(router)


@tracer.capture_lambda_handler(capture_response=False)
@logger.inject_lambda_context(clear_state=True)
def lambda_handler(given: JsonObject, context: LambdaContext) -> JsonObject:
    """One HTTP request."""
    _IDEMPOTENCY.register_lambda_context(context)
    event = with_safe_path(as_rest_event(given))
    if event["httpMethod"] != "GET":
        by = caller(APIGatewayProxyEvent(event)).name
        request_id = event["requestContext"].get("extendedRequestId")
        logger.info(
            "asked",
            method=event["httpMethod"],
            path=event["path"],
            asked_by=by,
            extended_request_id=request_id,
        )
    return as_answer_to(given, app.resolve(event, context))


@app.post("/restores")
def _start_restore() -> tuple[JsonObject, int]:
    body = _body()
    key = _key()
    if key is None:
        return _started(body, f"restore-{uuid4().hex[:16]}"), 202
    return _started_once(call={"key": key, "body": body}), 202


@app.post("/fleets")
def _start_fleet() -> tuple[JsonObject, int]:
    from rewarm.domain.fleets import FLEET_PREFIX

    body = _body()
    key = _key()
    if key is None:
        return _fleet_started(body, f"{FLEET_PREFIX}{uuid4().hex[:16]}"), 202
    return _fleet_started_once(call={"key": key, "body": body}), 202


def _key() -> str | None:
    key = app.current_event.headers.get("Idempotency-Key")
    if key is not None and not key.strip():
        raise errors.InvalidRequestError("is empty; send a key, or no such header", field="Idempotency-Key")
    return key


@idempotent_function(  # type: ignore[untyped-decorator]  # Powertools leaves it untyped
    data_keyword_argument="call",
    persistence_store=_IDEMPOTENCY_STORE,
    config=_IDEMPOTENCY,
    key_prefix="start",
)
def _started_once(call: JsonObject) -> JsonObject:
    from rewarm.steps.request.routes import restore_id_of

    window = timedelta(seconds=IDEMPOTENCY_SECONDS)
    return _started(call["body"], restore_id_of(call, table=_table(), now=now(), window=window))


def _started(body: JsonObject, restore_id: str) -> JsonObject:
    from rewarm.steps.request.routes import start_restore

    logger.append_keys(restore_id=restore_id)
    by = caller(app.current_event)
    started = start_restore(body, restore_id=restore_id, by=by, now=now(), ports=_start_ports())
    count("RestoresStarted", trigger="api")
    return started


@idempotent_function(  # type: ignore[untyped-decorator]  # Powertools leaves it untyped
    data_keyword_argument="call",
    persistence_store=_IDEMPOTENCY_STORE,
    config=_IDEMPOTENCY,
    key_prefix="fleet",
)
def _fleet_started_once(call: JsonObject) -> JsonObject:
    """The id follows from the call, so that a retried call starts nothing twice."""
    from rewarm.steps.fleet.routes import fleet_id_of

    return _fleet_started(call["body"], fleet_id_of(call))


def _fleet_started(body: JsonObject, fleet_id: str) -> JsonObject:
    from rewarm.steps.fleet.routes import start_fleet

    logger.append_keys(restore_id=fleet_id)
    by = caller(app.current_event)
    started = start_fleet(body, fleet_id=fleet_id, by=by, now=now(), ports=fleet_ports())
    count("FleetsStarted")
    return started


@app.post("/plans")
def _plan_restore() -> Response[str]:
    from rewarm.contracts.plans import PICTURES
    from rewarm.steps.plan.plan_restore import plan_restore

    event = app.current_event
    kind = preferred(",".join(event.multi_value_headers.get("accept") or []), (JSON, SVG))
    if kind is None:
        found = event.headers.get("Accept")
        return _error(406, "NotAcceptableError", f"found {found}; allowed is {JSON} or {SVG}", "Accept")
    drawn = query(event).get("picture", PICTURES[0])
    if drawn not in PICTURES:
        raise errors.InvalidRequestError(
            f"found {shown(drawn)}; allowed is {', '.join(PICTURES)}", field="picture"
        )
    plan_id = f"plan-{uuid4().hex[:16]}"
    result = plan_restore(
        _body(),
        restore_id=plan_id,
        now=now(),
        ports=_plan_ports(),
        has_time=_has_time,
    )
    body = _drawn(result, drawn) if kind == SVG else json.dumps(result.to_json())
    return Response(status_code=200, content_type=kind, body=body, headers={"Vary": "Accept"})


def _has_time() -> bool:
    return bool(app.lambda_context.get_remaining_time_in_millis() > ANSWER_NEEDS_MILLIS)


def _drawn(result: PlanResult, name: str) -> str:
    # matplotlib takes seconds to load, so only requests for a picture wait for it.
    from rewarm.charts.pictures import picture

    return picture(result, name)


@app.post("/fleets/plans")
def _plan_fleet() -> tuple[JsonObject, int]:
    from rewarm.domain.fleets import PLAN_PREFIX
    from rewarm.steps.fleet.plan_fleet import plan_fleet
    from rewarm.steps.fleet.routes import begin_plan

    body = _body()
    plan = plan_fleet(body, now=now(), ports=_fleet_plan_ports(), has_time=_has_time)
    if plan is not None:
        return plan.to_json(), 200
    return begin_plan(body, plan_id=f"{PLAN_PREFIX}{uuid4().hex[:16]}", ports=fleet_ports()), 202


@app.get("/restores")
def _list_restores() -> JsonObject:
    from rewarm.steps.request.listing import list_restores

    return list_restores(query(app.current_event), _table())


@app.get("/restores/<restore_id>")
def _get_restore(restore_id: str) -> JsonObject:
    from rewarm.contracts.answers import RestoreQuery
    from rewarm.steps.request.routes import get_restore

    asked = parsed(RestoreQuery, query(app.current_event))
    last_look = now() + timedelta(seconds=asked.wait)
    while True:
        is_last = now() >= last_look
        found = get_restore(restore_id, _show_ports(), known=None if is_last else asked.version, now=now())
        if found is not None:
            return found
        pause(LOOK_SECONDS)


@app.delete("/restores/<restore_id>")
def _cancel_restore(restore_id: str) -> tuple[JsonObject, int]:
    from rewarm.steps.request.routes import cancel_restore

    return cancel_restore(restore_id, by=caller(app.current_event), now=now(), ports=_approval_ports()), 202


@app.post("/restores/<restore_id>/approve")
def _approve_restore(restore_id: str) -> tuple[JsonObject, int]:
    from rewarm.contracts.answers import ApprovalQuery
    from rewarm.steps.request.approval import approve_restore

    asked = parsed(ApprovalQuery, query(app.current_event))
    stop_other_routes(app.current_event, APPROVE_ROUTE)
    by = caller(app.current_event)
    return approve_restore(
        restore_id, by=by, now=now(), ports=_approval_ports(), asked_at=asked.asked_at
    ), 202


@app.get("/runbooks")
def _list_runbooks() -> JsonObject:
    from rewarm.steps.request.listing import list_runbooks

    return list_runbooks(query(app.current_event), _table())


@app.put("/runbooks/<alarm_name>")
def _put_runbook(alarm_name: str) -> JsonObject:
    from rewarm.contracts.answers import PutQuery
    from rewarm.steps.request.runbooks import put_runbook

    asked = parsed(PutQuery, query(app.current_event))
    return put_runbook(
        unquote(alarm_name),
        _body(),
        by=caller(app.current_event),
        prefix=wiring.settings.alarm_name_prefix,
        ports=_runbook_ports(),
        replaces=asked.replaces,
    )


@app.get("/runbooks/<alarm_name>")
def _get_runbook(alarm_name: str) -> JsonObject:
    from rewarm.steps.request.runbooks import get_runbook

    return get_runbook(unquote(alarm_name), table=_table(), history=_history())


@app.delete("/runbooks/<alarm_name>")
def _delete_runbook(alarm_name: str) -> JsonObject:
    from rewarm.steps.request.runbooks import delete_runbook

    return delete_runbook(unquote(alarm_name), table=_table())


@app.put("/calibration")
def _put_calibration() -> JsonObject:
    from rewarm.steps.record.calibrations import put_calibration

    wiring.settings.parts.need(Part.CALIBRATION)
    return put_calibration(_body(), _history(), by=caller(app.current_event), now=now()).to_json()


@app.get("/calibration")
def _get_calibration() -> JsonObject:
    from rewarm.steps.record.calibrations import get_calibration

    book = _prices().book(now=now())
    return get_calibration(_history(), book, stack=wiring.settings.stack_name).to_json()


@app.put("/calibrations/<calibration_id>")
def _put_lease(calibration_id: str) -> JsonObject:
    from rewarm.steps.record.calibrations import put_lease

    wiring.settings.parts.need(Part.CALIBRATION)
    by = caller(app.current_event)
    return put_lease(calibration_id, _body(), _history(), by=by, now=now()).to_json()


@app.exception_handler(errors.RestoreError)  # type: ignore[untyped-decorator]
def _refused(error: errors.RestoreError) -> Response[str]:
    status = STATUS_CODES.get(type(error), 502)
    logger.info("refused", error=type(error).__name__, reason=str(error), status=status)
    words = f"{error}{_may_have_begun() if status == UNAVAILABLE else ''}"
    answer = problem(
        app.current_event, status, type(error).__name__, words, _faults(error), **_in_the_way(error)
    )
    if isinstance(error, errors.ModificationPostponedError) and error.retry_at is not None:
        seconds = math.ceil((error.retry_at - now()).total_seconds())
        answer.headers["Retry-After"] = str(max(1, seconds))
    if isinstance(error, errors.TooManyRestoresError):
        answer.headers["Retry-After"] = str(RESTORE_RETRY_SECONDS)
    return answer


def _may_have_begun() -> str:
    """How to repeat a start if nobody knows whether it took effect; empty for other requests."""
    event = app.current_event
    if event.http_method != "POST" or event.path not in STARTS:
        return ""
    again = (
        "send it again with the same Idempotency-Key, with which it begins once at most"
        if event.headers.get("Idempotency-Key")
        else f"look at GET {event.path} before you send it again, then with an Idempotency-Key"
    )
    return f"; the request may have been carried out all the same: {again}"


def _faults(error: errors.RestoreError) -> list[Fault]:
    if isinstance(error, errors.InvalidRequestError) and error.faults:
        return list(error.faults)
    return [(error.field, str(error).removeprefix(f"{error.field}: "))] if error.field else []


def _in_the_way(error: errors.RestoreError) -> JsonObject:
    """The restores in the way, or what is stored, for programs; the message names them for people."""
    if isinstance(error, errors.TargetBusyError):
        return {"heldBy": error.held_by}
    if isinstance(error, errors.TooManyRestoresError):
        return {"running": list(error.running[:MOST_RUNNING_SHOWN])}
    if isinstance(error, errors.AlreadyStoredError):
        return {"stored": error.stored, "wanted": error.wanted, "version": error.version}
    return {}


@app.exception_handler(IdempotencyValidationError)  # type: ignore[untyped-decorator]
def _other_body(_error_: IdempotencyValidationError) -> Response[str]:
    message = "this Idempotency-Key was used for another request; send another key, or the same request"
    return _error(409, "IdempotencyConflictError", message, "Idempotency-Key")


@app.exception_handler(IdempotencyAlreadyInProgressError)  # type: ignore[untyped-decorator]
def _in_progress(_error_: IdempotencyAlreadyInProgressError) -> Response[str]:
    message = "the request with this Idempotency-Key is being worked on; send it again in a moment"
    return _error(409, "IdempotencyConflictError", message, "Idempotency-Key")


@app.exception_handler(IdempotencyPersistenceLayerError)  # type: ignore[untyped-decorator]
def _key_not_kept(error: IdempotencyPersistenceLayerError) -> Response[str]:
    """The table did not take the key, or it did not take the result of a request that was carried out."""
    answer: Response[str] = _refused(errors.ServiceUnavailableError(str(error)))
    answer.headers["Retry-After"] = str(API_SECONDS)
    return answer


@app.not_found
def _no_such_route(_error_: Exception) -> Response[str]:
    event = app.current_event
    message = f"there is no {event.http_method} {event.path}"
    routes = [*app._static_routes, *app._dynamic_routes]  # noqa: SLF001 - it shows them nowhere else
    methods = sorted(route.method for route in routes if route.rule.match(event.path))
    if not methods:
        return _error(404, "RouteNotFoundError", message, None)
    answer = _error(405, "MethodNotAllowedError", message, None)
    answer.headers["Allow"] = ", ".join(methods)
    return answer


def _body() -> JsonObject:
    """Raises InvalidRequestError."""
    return json_body(app.current_event)


def _error(status: int, name: str, message: str, field: str | None) -> Response[str]:
    return problem(app.current_event, status, name, message, [(field, message)] if field else [])
