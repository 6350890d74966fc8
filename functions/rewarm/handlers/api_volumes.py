"""Routes of volumes' performance and of benchmarks; handlers/api.py includes them."""

from __future__ import annotations

from functools import cache
from uuid import uuid4

from aws_lambda_powertools.event_handler.api_gateway import Router

from rewarm.handlers.http import json_body
from rewarm.observability import count, logger
from rewarm.ports import JsonObject
from rewarm.runtime import filled
from rewarm.steps.performance.routes import (
    StartPerformanceChangePorts,
    get_performance,
    start_performance_change,
)
from rewarm.steps.verify.benchmarks import get_benchmark
from rewarm.steps.verify.start_benchmark import BenchmarkPorts, start_benchmark
from rewarm.wiring import now


@cache
def _changes() -> StartPerformanceChangePorts:
    """Made at the first use, because only these routes need them."""
    return filled(StartPerformanceChangePorts)


@cache
def _benchmarks() -> BenchmarkPorts:
    return filled(BenchmarkPorts)


router = Router()  # type: ignore[no-untyped-call]  # Powertools leaves it untyped


@router.post("/volumes/<volume_id>/performance")
def _change_performance(volume_id: str) -> tuple[JsonObject, int]:
    # A request that is sent twice meets the first one's change in EC2: no key is needed.
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
