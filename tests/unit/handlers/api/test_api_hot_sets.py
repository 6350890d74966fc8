"""The routes of hot sets, through API Gateway's own events."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from types import ModuleType

import pytest

from rewarm.domain.units import iso
from rewarm.steps.request.hot_sets import HotSetPorts
from tests.support.builders import NOW, RESTORE_ID, SOURCE_VOLUME_ID, World
from tests.support.worlds.recordings import keep
from tests.support.worlds.undo_logs import FakeUndoLogs
from tests.unit.handlers.api.test_api import Api
from tests.unit.handlers.conftest import Context

ROUTE = f"/hot-sets/{SOURCE_VOLUME_ID}"


@pytest.fixture
def api(fresh: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch, context: Context) -> Api:
    routes = fresh("api_others")  # first: the API includes them when it is loaded
    module, world = fresh("api"), World()
    keys = [
        keep(world.artifacts, [7, 3]),
        keep(world.artifacts, [3, 9], at=NOW - timedelta(days=1)),
        keep(world.artifacts, [1], lineage="snap-0123456789abcdef0"),
    ]
    broken = keep(world.artifacts, [5], at=NOW - timedelta(days=2))
    world.artifacts.texts[broken] = "nothing"
    logs = FakeUndoLogs({**dict.fromkeys([*keys, broken], 50), "recordings/other": 1})
    ports = HotSetPorts(logs=logs, artifacts=world.artifacts)
    monkeypatch.setattr(routes, "_hot_sets", lambda: ports)
    return Api(module, world, context)


def test_lineages_are_listed_with_their_newest_recording(api: Api) -> None:
    status, told = api.call("GET", "/hot-sets")
    assert status == 200
    assert told["hotSets"] == [
        {"lineage": "snap-0123456789abcdef0", "recordings": 1, "newestAt": iso(NOW), "bytes": 50},
        {"lineage": SOURCE_VOLUME_ID, "recordings": 3, "newestAt": iso(NOW), "bytes": 150},
    ]


def test_a_hot_set_is_shown_with_what_it_is_made_of(api: Api) -> None:
    status, told = api.call("GET", ROUTE)
    assert (status, told["blocks"], told["bytes"]) == (200, 3, 3 * 524_288)
    assert [one["blocks"] for one in told["recordings"]] == [2, 2, None]
    assert told["recordings"][0]["restoreId"] == RESTORE_ID
    assert told["recordings"][2]["leftOutBecause"] == "it does not begin as a recording does"


def test_a_hot_set_is_deleted_whole_and_then_it_is_404(api: Api) -> None:
    assert api.call("DELETE", ROUTE) == (200, {"lineage": SOURCE_VOLUME_ID, "deletedObjects": 3})
    status, told = api.call("DELETE", ROUTE)
    assert (status, told["error"]) == (404, "HotSetNotFoundError")
    status, told = api.call("GET", "/hot-sets/vol-00000000000000009")
    assert (status, told["error"]) == (404, "HotSetNotFoundError")
