"""Routes of benchmarks; handlers/api.py includes them."""

from __future__ import annotations

from uuid import uuid4

from aws_lambda_powertools.event_handler.api_gateway import Router

from rewarm.handlers import wiring
from rewarm.handlers.http import json_body
from rewarm.handlers.wiring import now
from rewarm.ports import JsonObject
from rewarm.steps.verify.benchmarks import get_benchmark
from rewarm.steps.verify.start_benchmark import BenchmarkPorts, start_benchmark

_PORTS = BenchmarkPorts(
    commands=wiring.benchmark_commands(),
    instances=wiring.instances(),
    volumes=wiring.volumes(),
    artifacts=wiring.artifacts(),
)

router = Router()  # type: ignore[no-untyped-call]  # Powertools leaves it untyped


@router.post("/benchmarks")
def _start_benchmark() -> tuple[JsonObject, int]:
    return start_benchmark(
        json_body(router.current_event),
        benchmark_id=f"benchmark-{uuid4().hex[:16]}",
        now=now(),
        ports=_PORTS,
    ), 202


@router.get("/benchmarks/<benchmark_id>")
def _get_benchmark(benchmark_id: str) -> JsonObject:
    return get_benchmark(benchmark_id, now=now(), ports=_PORTS)
