"""The frame of every step's handler: parse, call one step, answer JSON; errors keep their bare names."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from pydantic import ValidationError

from rewarm.domain.errors import RestoreNotFoundError, RunbookNotFoundError
from tests.support.builders import RESTORE_ID, TO_ZONE, World
from tests.support.holds import FakePace
from tests.support.wired import use
from tests.unit.handlers.conftest import Context

HANDLERS = Path(__file__).parents[3] / "functions/rewarm/handlers"
NO_STEPS = {"__init__", "wiring", "http", "public", "publish_agent", "wake_up", "sweep"}
STEPS = sorted({path.stem for path in HANDLERS.glob("*.py") if not path.stem.startswith("api")} - NO_STEPS)
NOW = "2026-11-21T03:00:00Z"


def parse_event(**changes: Any) -> dict[str, Any]:
    return {"restoreId": RESTORE_ID, "now": NOW, "startedAt": NOW, "input": {"request": TO_ZONE}, **changes}


@pytest.mark.parametrize("name", STEPS)
def test_each_step_has_a_handler_of_a_few_lines(name: str, fresh: Callable[[str], ModuleType]) -> None:
    module = fresh(name)
    assert callable(module.lambda_handler)
    lines = (HANDLERS / f"{name}.py").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 35
    assert any(re.match(rf"from rewarm\.steps\.\w+\.{name} import .*\b{name}\b", line) for line in lines)


@pytest.fixture
def handler(fresh: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    module = fresh("parse_request")
    use(monkeypatch, module, keeper=World().keeper(), pace=FakePace())
    return module


def test_answers_json_by_the_contracts_names(handler: ModuleType, context: Context) -> None:
    answer = handler.lambda_handler(parse_event(), context)
    assert answer["outcome"] == "accepted"
    assert answer["request"]["target"] == {**answer["request"]["target"], **TO_ZONE["target"]}
    assert answer["duplicateOf"] is None
    json.dumps(answer)


def test_an_error_leaves_with_its_bare_class(handler: ModuleType, context: Context) -> None:
    event = parse_event(input={"request": {**TO_ZONE, "source": {"alarm": "lost"}}})
    with pytest.raises(RunbookNotFoundError) as caught:
        handler.lambda_handler(event, context)
    assert type(caught.value) is RunbookNotFoundError
    assert not isinstance(caught.value, RestoreNotFoundError)


def test_an_event_that_breaks_the_contract_is_refused(handler: ModuleType, context: Context) -> None:
    with pytest.raises(ValidationError):
        handler.lambda_handler(parse_event(surprise=1), context)


def test_every_log_line_names_the_restore(
    handler: ModuleType, context: Context, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from rewarm.observability import logger  # noqa: PLC0415

    logger.setLevel("INFO")  # an embedded AWS in this process may have asked for less
    lines: list[str] = []
    monkeypatch.setattr(logger.registered_handler, "stream", type("Stream", (), {
        "write": lambda _, text: lines.append(text), "flush": lambda _: None,
    })())  # fmt: skip
    real = handler.parse_request

    def logging_step(*args: Any, **ports: Any) -> Any:
        logger.info("seen")
        return real(*args, **ports)

    monkeypatch.setattr(handler, "parse_request", logging_step)
    handler.lambda_handler(parse_event(), context)
    logged = [json.loads(line) for line in lines if line.strip()]
    assert [line["restore_id"] for line in logged if line["message"] == "seen"] == [RESTORE_ID]
    assert capsys is not None


def test_facts_become_metrics(capsys: pytest.CaptureFixture[str]) -> None:
    from rewarm.observability import count  # noqa: PLC0415

    count("VolumesCreated", strategy="warm-up-agent")
    told = json.loads(capsys.readouterr().out)
    assert (told["VolumesCreated"], told["strategy"]) == ([1.0], "warm-up-agent")
    assert told["_aws"]["CloudWatchMetrics"][0]["Namespace"] == "Rewarm"
