"""Routes of rules, fleets, performance, benchmarks, undo logs and hot sets; handlers/api.py includes them.

As in api.py, a route imports its step, and makes its ports, when it is asked first.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING
from uuid import uuid4

from aws_lambda_powertools.event_handler.api_gateway import Router
from aws_lambda_powertools.utilities.data_classes import APIGatewayProxyEvent

from rewarm.contracts.base import parsed
from rewarm.domain.parts import Part
from rewarm.handlers.http import caller, json_body, query
from rewarm.observability import count, logger
from rewarm.ports import JsonObject
from rewarm.runtime import filled
from rewarm.wiring import now, settings, table

if TYPE_CHECKING:
    from rewarm.ports.restores import RestoreTable
    from rewarm.steps.adopt.rules import CheckRulePorts
    from rewarm.steps.fleet.routes import FleetPorts
    from rewarm.steps.performance.routes import StartPerformanceChangePorts
    from rewarm.steps.request.hot_sets import HotSetPorts
    from rewarm.steps.rewind.undo_logs import DeleteUndoLogPorts
    from rewarm.steps.verify.start_benchmark import BenchmarkPorts

router = Router()  # type: ignore[no-untyped-call]  # Powertools leaves it untyped


@cache
def fleet_ports() -> FleetPorts:
    """What POST /fleets takes as well."""
    from rewarm.steps.fleet.routes import FleetPorts

    return filled(FleetPorts)


@cache
def _changes() -> StartPerformanceChangePorts:
    from rewarm.steps.performance.routes import StartPerformanceChangePorts

    return filled(StartPerformanceChangePorts)


@cache
def _benchmarks() -> BenchmarkPorts:
    from rewarm.steps.verify.start_benchmark import BenchmarkPorts

    return filled(BenchmarkPorts)


@cache
def _undo_logs() -> DeleteUndoLogPorts:
    from rewarm.steps.rewind.undo_logs import DeleteUndoLogPorts

    return filled(DeleteUndoLogPorts)


@cache
def _hot_sets() -> HotSetPorts:
    from rewarm.steps.request.hot_sets import HotSetPorts

    return filled(HotSetPorts)


@cache
def _table() -> RestoreTable:
    return table()


@cache
def _check() -> CheckRulePorts:
    from rewarm.steps.adopt.rules import CheckRulePorts

    return filled(CheckRulePorts)


@router.get("/rules")
def _list_rules() -> JsonObject:
    from rewarm.steps.request.listing import list_rules

    return list_rules(query(APIGatewayProxyEvent(router.current_event.raw_event)), _table())


@router.put("/rules/<name>")
def _put_rule(name: str) -> JsonObject:
    from rewarm.contracts.answers import PutQuery
    from rewarm.steps.adopt.rules import put_rule

    body = json_body(router.current_event)
    by = caller(router.current_event)
    asked = parsed(PutQuery, query(APIGatewayProxyEvent(router.current_event.raw_event)))
    return put_rule(name, body, by=by, table=_table(), parts=settings.parts, replaces=asked.replaces)


@router.get("/rules/<name>")
def _get_rule(name: str) -> JsonObject:
    from rewarm.steps.adopt.rules import get_rule

    return get_rule(name, _table())


@router.delete("/rules/<name>")
def _delete_rule(name: str) -> JsonObject:
    from rewarm.steps.adopt.rules import delete_rule

    return delete_rule(name, _table())


@router.get("/rules/<name>/check")
def _check_rule(name: str) -> JsonObject:
    from rewarm.steps.adopt.rules import check_rule

    return check_rule(name, _check())


@router.get("/fleets")
def _list_fleets() -> JsonObject:
    from rewarm.steps.request.listing import list_fleets

    return list_fleets(query(APIGatewayProxyEvent(router.current_event.raw_event)), fleet_ports().table)


@router.get("/fleets/<fleet_id>")
def _get_fleet(fleet_id: str) -> JsonObject:
    from rewarm.steps.fleet.routes import get_fleet

    return get_fleet(fleet_id, now=now(), ports=fleet_ports())


@router.get("/fleets/plans/<plan_id>")
def _get_fleet_plan(plan_id: str) -> tuple[JsonObject, int]:
    from rewarm.steps.fleet.routes import get_plan

    return get_plan(plan_id, ports=fleet_ports())


@router.delete("/fleets/<fleet_id>")
def _cancel_fleet(fleet_id: str) -> tuple[JsonObject, int]:
    from rewarm.steps.fleet.routes import cancel_fleet

    logger.append_keys(restore_id=fleet_id)
    by = caller(router.current_event)
    return cancel_fleet(fleet_id, by=by, now=now(), ports=fleet_ports()), 202


@router.post("/fleets/<fleet_id>/redrive")
def _redrive_fleet(fleet_id: str) -> tuple[JsonObject, int]:
    from rewarm.steps.fleet.routes import redrive_fleet

    logger.append_keys(restore_id=fleet_id)
    by = caller(router.current_event)
    return redrive_fleet(fleet_id, by=by, now=now(), ports=fleet_ports()), 202


@router.post("/volumes/<volume_id>/performance")
def _change_performance(volume_id: str) -> tuple[JsonObject, int]:
    from rewarm.steps.performance.routes import start_performance_change

    settings.parts.need(Part.PERFORMANCE_CHANGES)
    # A repeated request finds the first one's change in EC2, so no key is needed.
    change_id = f"performance-{uuid4().hex[:16]}"
    logger.append_keys(restore_id=change_id, volume_id=volume_id)
    body = json_body(router.current_event)
    by = caller(router.current_event)
    started = start_performance_change(
        volume_id, body, change_id=change_id, by=by, now=now(), ports=_changes()
    )
    count("PerformanceChangesStarted")
    return started, 202


@router.get("/volumes/<volume_id>/performance")
def _get_performance(volume_id: str) -> JsonObject:
    from rewarm.steps.performance.routes import get_performance

    settings.parts.need(Part.PERFORMANCE_CHANGES)
    return get_performance(volume_id, now=now(), ports=_changes())


@router.post("/benchmarks")
def _start_benchmark() -> tuple[JsonObject, int]:
    from rewarm.steps.verify.start_benchmark import start_benchmark

    return start_benchmark(
        json_body(router.current_event),
        benchmark_id=f"benchmark-{uuid4().hex[:16]}",
        by=caller(router.current_event),
        now=now(),
        ports=_benchmarks(),
    ), 202


@router.get("/benchmarks/<benchmark_id>")
def _get_benchmark(benchmark_id: str) -> JsonObject:
    from rewarm.steps.verify.benchmarks import get_benchmark

    return get_benchmark(benchmark_id, now=now(), ports=_benchmarks())


@router.get("/undo-logs")
def _list_undo_logs() -> JsonObject:
    from rewarm.steps.rewind.undo_logs import list_undo_logs

    settings.parts.need(Part.REWINDS)
    return list_undo_logs(_undo_logs())


@router.delete("/undo-logs/<restore_id>")
def _delete_undo_log(restore_id: str) -> JsonObject:
    from rewarm.steps.rewind.undo_logs import delete_undo_log

    settings.parts.need(Part.REWINDS)
    by = caller(router.current_event)
    return delete_undo_log(restore_id, by=by, now=now(), ports=_undo_logs())


@router.get("/hot-sets")
def _list_hot_sets() -> JsonObject:
    from rewarm.steps.request.hot_sets import list_hot_sets

    return list_hot_sets(_hot_sets())


@router.get("/hot-sets/<lineage>")
def _get_hot_set(lineage: str) -> JsonObject:
    from rewarm.steps.request.hot_sets import get_hot_set

    return get_hot_set(lineage, _hot_sets())


@router.delete("/hot-sets/<lineage>")
def _delete_hot_set(lineage: str) -> JsonObject:
    from rewarm.steps.request.hot_sets import delete_hot_set

    return delete_hot_set(lineage, _hot_sets())
