"""The functions of states: parse, call one step with its ports, answer JSON; errors keep their bare names."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Any

import pytest
from pydantic import ValidationError

from rewarm import runtime, wiring
from rewarm.domain.errors import RestoreNotFoundError, RunbookNotFoundError
from rewarm.steps.registration import REGISTRATIONS
from tests.support.builders import RESTORE_ID, TO_ZONE, World
from tests.support.holds import FakePace
from tests.support.wired import ports, steps
from tests.unit.handlers.conftest import Context

NOW = "2026-11-21T03:00:00Z"
Function = Callable[[dict[str, Any], Context], Any]


def parse_event(**changes: Any) -> dict[str, Any]:
    return {"restoreId": RESTORE_ID, "now": NOW, "startedAt": NOW, "input": {"request": TO_ZONE}, **changes}


@pytest.mark.parametrize("name", sorted(steps()))
def test_each_step_becomes_a_function_with_all_its_ports(name: str) -> None:
    assert callable(getattr(runtime, name))


def test_what_is_neither_a_state_nor_a_handler_is_no_function() -> None:
    for name in ("swept", "records", "__path__"):
        assert not hasattr(runtime, name)


def returned(make: str) -> str:
    """The type that wiring.py says: of the function, or of the name that stands for another function."""
    given = re.fullmatch(r"Callable\[\[\], (.+)\]", wiring.__annotations__.get(make, ""))
    return given[1] if given else str(vars(wiring)[make].__annotations__["return"])


def test_each_port_is_of_the_type_that_is_asked_for() -> None:
    """mypy sees that a function of wiring.py returns what it says, but not that its name is the port's."""
    may_stand_for = {
        ("Executions", "FleetExecutions"),
        ("RestoreExecutions", "StackExecutions"),
        ("str", "Collection[str]"),
    }
    found = {
        (port, getattr(kind, "__name__", ""), returned(make))
        for step in steps().values()
        for port, kind, make in ports(step.step)
        if inspect.isclass(kind)
    }
    assert len(found) > 30
    other = {(port, *kinds) for port, *kinds in found if kinds[0] != kinds[1]}
    assert [one for one in other if one[1:] not in may_stand_for] == []


@pytest.fixture
def function() -> Function:
    return runtime.state_function("parse_request", keeper=World().keeper(), pace=FakePace())


def test_answers_json_by_the_contracts_names(function: Function, context: Context) -> None:
    answer = function(parse_event(), context)
    assert answer["outcome"] == "accepted"
    assert answer["request"]["target"] == {**answer["request"]["target"], **TO_ZONE["target"]}
    assert answer["duplicateOf"] is None
    json.dumps(answer)


def test_an_error_leaves_with_its_bare_class(function: Function, context: Context) -> None:
    event = parse_event(input={"request": {**TO_ZONE, "source": {"alarm": "lost"}}})
    with pytest.raises(RunbookNotFoundError) as caught:
        function(event, context)
    assert type(caught.value) is RunbookNotFoundError
    assert not isinstance(caught.value, RestoreNotFoundError)


def test_an_event_that_breaks_the_contract_is_refused(function: Function, context: Context) -> None:
    with pytest.raises(ValidationError):
        function(parse_event(surprise=1), context)


def test_every_log_line_names_the_restore(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    from rewarm.observability import logger  # noqa: PLC0415

    logger.setLevel("INFO")  # an embedded AWS in this process may have asked for less
    lines: list[str] = []
    monkeypatch.setattr(logger.registered_handler, "stream", type("Stream", (), {
        "write": lambda _, text: lines.append(text), "flush": lambda _: None,
    })())  # fmt: skip
    own = runtime.registration("parse_request")

    @wraps(own.step)
    def logging_step(*args: Any, **ports: Any) -> Any:
        logger.info("seen")
        return own.step(*args, **ports)

    monkeypatch.setitem(REGISTRATIONS, "parse_request", replace(own, step=logging_step))
    function = runtime.state_function("parse_request", keeper=World().keeper(), pace=FakePace())
    function(parse_event(), context)
    logged = [json.loads(line) for line in lines if line.strip()]
    assert [line["restore_id"] for line in logged if line["message"] == "seen"] == [RESTORE_ID]


def test_a_start_that_is_ignored_is_counted(capsys: pytest.CaptureFixture[str], context: Context) -> None:
    trigger = {"kind": "schedule", "scheduleName": "monthly", "scheduledAt": NOW}
    event = parse_event(input={"request": TO_ZONE, "trigger": trigger})
    function = runtime.state_function("parse_request", keeper=World().keeper(), pace=FakePace())
    function(event, context)
    assert capsys.readouterr().out == ""
    assert function({**event, "restoreId": "restore-2"}, context)["outcome"] != "accepted"
    assert json.loads(capsys.readouterr().out)["StartsIgnored"] == [1.0]


def test_facts_become_metrics(capsys: pytest.CaptureFixture[str]) -> None:
    from rewarm.observability import count  # noqa: PLC0415

    count("VolumesCreated", strategy="warm-up-agent")
    told = json.loads(capsys.readouterr().out)
    assert (told["VolumesCreated"], told["strategy"]) == ([1.0], "warm-up-agent")
    assert told["_aws"]["CloudWatchMetrics"][0]["Namespace"] == "Rewarm"
