"""The routes of /volumes, with API Gateway's own events, and the sweeper's handler."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from types import ModuleType
from typing import Any

import pytest

from rewarm.domain.errors import AccessDeniedError, IncompleteCleanUpError
from rewarm.steps.clean_up.sweep import SweptResource
from tests.support.builders import VOLUME_ID
from tests.support.fakes import FakeFastRestores
from tests.support.wired import use
from tests.support.worlds.performance import CHANGE_ID, ChangeWorld, FakeInventory
from tests.unit.handlers.api.test_api import event
from tests.unit.handlers.conftest import Context

Json = dict[str, Any]
PATH = f"/volumes/{VOLUME_ID}/performance"
PORTS = ("volumes", "modifications", "trail", "log", "table", "executions")


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> ChangeWorld:
    made, routes = ChangeWorld(), importlib.import_module("rewarm.handlers.api_others")
    use(monkeypatch, routes, **{port: getattr(made, port) for port in PORTS})
    return made


@pytest.fixture
def call(warm: Callable[[str], ModuleType], context: Context) -> Callable[..., Json]:
    module = warm("api")

    def ask(method: str, path: str, body: Any = None) -> Json:
        text = body if isinstance(body, str) or body is None else json.dumps(body)
        answer: Json = module.lambda_handler(event(method, path, text, {}), context)
        return {**answer, "body": json.loads(answer["body"])}

    return ask


def test_accepts_a_change(world: ChangeWorld, call: Callable[..., Json]) -> None:
    answer = call("POST", PATH, {"iops": 2_000})
    assert answer["statusCode"] == 202
    change_id = answer["body"]["changeId"]
    assert change_id.startswith("performance-")
    assert len(change_id) == len(CHANGE_ID)
    assert set(world.executions.started) == {change_id}
    told = call("GET", PATH)
    assert (told["statusCode"], told["body"]["change"]["changeId"]) == (200, change_id)


@pytest.mark.parametrize(
    ("path", "body", "status", "field"),
    [
        (PATH, "not json", 400, "request"), (PATH, {"iops": 1}, 400, "iops"),
        ("/volumes/vol-1/performance", {"iops": 2_000}, 400, "volumeId"),
        ("/volumes/vol-0000000000000dead/performance", {"iops": 2_000}, 404, None),
    ],
)  # fmt: skip
def test_refuses_with_the_field(
    world: ChangeWorld, call: Callable[..., Json], path: str, body: Any, status: int, field: str | None
) -> None:
    answer = call("POST", path, body)
    assert (answer["statusCode"], answer["body"]["field"]) == (status, field)
    assert world.executions.started == {}


def test_a_volume_without_a_free_slot_is_409_with_the_time(
    world: ChangeWorld, call: Callable[..., Json]
) -> None:
    now = datetime.now(UTC)
    world.trail.calls[VOLUME_ID] = [now - timedelta(hours=hours) for hours in (23, 20, 10, 5)]
    answer = call("POST", PATH, {"iops": 2_000})
    assert (answer["statusCode"], answer["body"]["error"]) == (409, "ModificationPostponedError")
    free_at = (now + timedelta(hours=1)).isoformat(timespec="minutes").replace("+00:00", "")
    assert f"takes its next change at {free_at}" in answer["body"]["message"]
    (seconds,) = answer["multiValueHeaders"]["Retry-After"]
    assert 3_500 < int(seconds) <= 3_600


class TestSweep:
    @pytest.fixture
    def handler(self, fresh: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch) -> ModuleType:
        module = fresh("sweep")
        monkeypatch.setattr(module, "_INVENTORY", FakeInventory())
        monkeypatch.setattr(module, "_silence", list)
        return module

    def test_says_what_it_swept(
        self, handler: ModuleType, context: Context, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        found = [
            SweptResource("boosts", VOLUME_ID, "ended"),
            SweptResource("boosts", "vol-2", "ending", "busy"),
        ]
        monkeypatch.setattr(handler, "sweep", lambda _ports: found)
        answer = handler.lambda_handler({}, context)
        assert answer == {"swept": [one.to_json() for one in found]}

    def test_fails_where_something_is_left_so_that_its_alarm_goes_off(
        self, handler: ModuleType, context: Context, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        class Denied:
            def boosted(self, _stack_name: str) -> list[Any]:
                raise AccessDeniedError("DescribeVolumes: UnauthorizedOperation")

            of_stack = replaced = boosted

        use(monkeypatch, handler, volumes=Denied(), fast_restores=FakeFastRestores())
        with pytest.raises(IncompleteCleanUpError, match=r"all \(boosts\): DescribeVolumes"):
            handler.lambda_handler({}, context)
