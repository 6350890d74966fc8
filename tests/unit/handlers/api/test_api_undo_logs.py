"""The routes of undo logs, through API Gateway's own events."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import pytest

from rewarm.steps.rewind.undo_logs import DeleteUndoLogPorts
from tests.support.builders import World
from tests.support.worlds.undo_logs import FakeUndoLogs
from tests.unit.handlers.api.test_api import CALLER, Api
from tests.unit.handlers.conftest import Context


@pytest.fixture
def api(fresh: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch, context: Context) -> Api:
    routes = fresh("api_others")  # first: the API includes them when it is loaded
    module, world = fresh("api"), World()
    logs = FakeUndoLogs({"undo/restore-1/0/0/000000-000": 5})
    ports = DeleteUndoLogPorts(logs=logs, artifacts=world.artifacts, undo_log_days=30, table=world.table)
    monkeypatch.setattr(routes, "_undo_logs", lambda: ports)
    return Api(module, world, context)


def test_logs_are_listed_and_deleted(api: Api) -> None:
    status, told = api.call("GET", "/undo-logs")
    assert (status, [log["restoreId"] for log in told["undoLogs"]]) == (200, ["restore-1"])
    status, told = api.call("DELETE", "/undo-logs/restore-1")
    assert (status, told) == (200, {"restoreId": "restore-1", "deletedObjects": 1})
    status, told = api.call("DELETE", "/undo-logs/restore-1")
    assert (status, told["error"]) == (404, "UndoLogNotFoundError")
    assert api.world.table.records == {}, "a log outlives its restore's record"


def test_the_restores_record_says_who_deleted_its_log(api: Api) -> None:
    api.world.table.put_new("restore-1", {"status": "ready"})
    assert api.call("DELETE", "/undo-logs/restore-1")[0] == 200
    (news,) = api.world.table.records["restore-1"]["events"]
    assert news["title"] == f"{CALLER} deletes the undo log"


def test_a_log_that_is_needed_is_409(api: Api) -> None:
    api.world.table.put_new("restore-1", {"status": "initializing"})
    status, told = api.call("DELETE", "/undo-logs/restore-1")
    assert (status, told["error"]) == (409, "UndoLogInUseError")
