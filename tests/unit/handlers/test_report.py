"""The function of Report: a page is never worth a restore, and a volume's account counts no restore."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from rewarm import runtime
from rewarm.steps.record.bucket import plans_key
from rewarm.steps.record.payloads import write_plans
from tests.support.builders import NOW, RESTORE_ID, World, request
from tests.support.values import accounts
from tests.unit.handlers.conftest import Context

Function = Callable[[dict[str, Any], Context], Any]


@pytest.fixture
def world() -> World:
    found = World()
    write_plans(RESTORE_ID, [accounts.planned()], found.artifacts)
    return found


@pytest.fixture
def function(world: World) -> Function:
    return runtime.state_function(
        "report", artifacts=world.artifacts, table=world.table, history=world.history
    )


def event(**changes: Any) -> dict[str, Any]:
    return {
        "restoreId": RESTORE_ID,
        "now": accounts.moment(470),
        "startedAt": NOW.isoformat(),
        "deadlineAt": None,
        "request": request().to_json(),
        "trigger": {"kind": "api"},
        "plansKey": plans_key(RESTORE_ID),
        "results": [accounts.ready()],
        "failure": None,
        "volumeIndex": None,
        "volumeCount": 1,
        **changes,
    }


def test_the_page_is_made_and_kept(function: Function, context: Context, world: World) -> None:
    answer = function(event(), context)
    assert answer["pageKey"] == f"restores/{RESTORE_ID}/report.html"
    assert "Ready: the volume at full speed" in world.artifacts.pages[answer["pageKey"]]


def test_a_page_that_cannot_be_made_fails_nothing(
    function: Function, context: Context, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_account: Any) -> str:
        raise MemoryError

    monkeypatch.setattr("rewarm.page.render", broken)
    answer = function(event(), context)
    assert (answer["verdict"], answer["pageKey"]) == ("ready", None)
    assert world.artifacts.pages == {}
    assert world.table.records[RESTORE_ID]["status"] == "ready"


@pytest.mark.parametrize(("index", "counted"), [(None, True), (0, False)])
def test_only_the_whole_restore_is_counted(
    function: Function,
    context: Context,
    capsys: pytest.CaptureFixture[str],
    index: int | None,
    counted: bool,  # noqa: FBT001
) -> None:
    function(event(volumeIndex=index), context)
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines() if line.startswith("{")]
    assert any("RestoresFinished" in line for line in lines) is counted
