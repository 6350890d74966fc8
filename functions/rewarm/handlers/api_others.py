"""Routes of fleets, of volumes' performance, of benchmarks and of undo logs; handlers/api.py includes them.

Their ports are made at the first use, because only these routes need them.
"""

from __future__ import annotations

from functools import cache
from uuid import uuid4

from aws_lambda_powertools.event_handler.api_gateway import Router
from aws_lambda_powertools.utilities.data_classes import APIGatewayProxyEvent

from rewarm.handlers.http import json_body, query
from rewarm.observability import count, logger
from rewarm.ports import JsonObject
from rewarm.runtime import filled
from rewarm.steps.fleet.routes import FleetPorts, cancel_fleet, get_fleet, redrive_fleet
from rewarm.steps.performance.routes import (
    StartPerformanceChangePorts,
    get_performance,
    start_performance_change,
)
from rewarm.steps.request.listing import list_fleets
from rewarm.steps.rewind.undo_logs import DeleteUndoLogPorts, delete_undo_log, list_undo_logs
from rewarm.steps.verify.benchmarks import get_benchmark
from rewarm.steps.verify.start_benchmark import BenchmarkPorts, start_benchmark
from rewarm.wiring import now

router = Router()  # type: ignore[no-untyped-call]  # Powertools leaves it untyped


@cache
def fleet_ports() -> FleetPorts:
    """What POST /fleets takes as well."""
    return filled(FleetPorts)


@cache
def _changes() -> StartPerformanceChangePorts:
    return filled(StartPerformanceChangePorts)


@cache
def _benchmarks() -> BenchmarkPorts:
    return filled(BenchmarkPorts)


@cache
def _undo_logs() -> DeleteUndoLogPorts:
    return filled(DeleteUndoLogPorts)


@router.get("/fleets")
def _list_fleets() -> JsonObject:
    return list_fleets(query(APIGatewayProxyEvent(router.current_event.raw_event)), fleet_ports().table)


@router.get("/fleets/<fleet_id>")
def _get_fleet(fleet_id: str) -> JsonObject:
    return get_fleet(fleet_id, now=now(), ports=fleet_ports())


@router.delete("/fleets/<fleet_id>")
def _cancel_fleet(fleet_id: str) -> tuple[JsonObject, int]:
    logger.append_keys(restore_id=fleet_id)
    return cancel_fleet(fleet_id, fleet_ports()), 202


@router.post("/fleets/<fleet_id>/redrive")
def _redrive_fleet(fleet_id: str) -> tuple[JsonObject, int]:
    logger.append_keys(restore_id=fleet_id)
    return redrive_fleet(fleet_id, now=now(), ports=fleet_ports()), 202


@router.post("/volumes/<volume_id>/performance")
def _change_performance(volume_id: str) -> tuple[JsonObject, int]:
    # A repeated request finds the first one's change in EC2, so no key is needed.
    change_id = f"performance-{uuid4().hex[:16]}"
    logger.append_keys(restore_id=change_id, volume_id=volume_id)
    body = json_body(router.current_event)
    started = start_performance_change(volume_id, body, change_id=change_id, now=now(), ports=_changes())
    count("PerformanceChangesStarted")
    return started, 202


@router.get("/volumes/<volume_id>/performance")
def _get_performance(volume_id: str) -> JsonObject:
    return get_performance(volume_id, now=now(), ports=_changes())


@router.post("/benchmarks")
def _start_benchmark() -> tuple[JsonObject, int]:
    return start_benchmark(
        json_body(router.current_event),
        benchmark_id=f"benchmark-{uuid4().hex[:16]}",
        now=now(),
        ports=_benchmarks(),
    ), 202


@router.get("/benchmarks/<benchmark_id>")
def _get_benchmark(benchmark_id: str) -> JsonObject:
    return get_benchmark(benchmark_id, now=now(), ports=_benchmarks())


@router.get("/undo-logs")
def _list_undo_logs() -> JsonObject:
    return list_undo_logs(_undo_logs())


@router.delete("/undo-logs/<restore_id>")
def _delete_undo_log(restore_id: str) -> JsonObject:
    return delete_undo_log(restore_id, _undo_logs())
