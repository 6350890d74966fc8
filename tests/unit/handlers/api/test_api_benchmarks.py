"""The routes of benchmarks, through API Gateway's own events."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import pytest

from rewarm.steps.record.bucket import benchmark_output_key
from rewarm.steps.verify.start_benchmark import BenchmarkPorts
from tests.support.builders import INSTANCE_ID, World
from tests.support.values.fio_outputs import account, run_text, side
from tests.unit.handlers.api.test_api import Api
from tests.unit.handlers.conftest import Context

WANTED = {"instanceId": INSTANCE_ID, "targets": [{"mount": "/data"}], "patterns": ["upload"]}


@pytest.fixture
def api(fresh: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch, context: Context) -> Api:
    routes = fresh("api_others")  # first: the API includes them when it is loaded
    module, world = fresh("api"), World()
    ports = BenchmarkPorts(world.commands, world.instances, world.volumes, world.artifacts)
    monkeypatch.setattr(routes, "_benchmarks", lambda: ports)
    return Api(module, world, context)


def test_a_benchmark_is_started_and_told(api: Api) -> None:
    status, started = api.call("POST", "/benchmarks", WANTED)
    assert (status, started["status"]) == (202, "running")
    path = f"/benchmarks/{started['benchmarkId']}"
    assert api.call("GET", path)[1]["status"] == "running"
    text = run_text("/data", "upload", account(write=side(253, block_kib=1024)))
    api.world.artifacts.texts[benchmark_output_key(started["benchmarkId"])] = text
    api.world.commands.finish(started["commandId"])
    status, told = api.call("GET", path)
    assert (status, told["status"]) == (200, "completed")
    assert [run["totalMibS"] for run in told["runs"]] == [253.0]


def test_what_is_wrong_is_400_and_names_the_field(api: Api) -> None:
    status, told = api.call("POST", "/benchmarks", {**WANTED, "patterns": ["fast"]})
    assert (status, told["error"], told["field"]) == (400, "InvalidRequestError", "patterns.0")


def test_one_that_is_not_there_is_404(api: Api) -> None:
    status, told = api.call("GET", "/benchmarks/benchmark-0")
    assert (status, told["error"]) == (404, "BenchmarkNotFoundError")
