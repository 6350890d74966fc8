"""The sweeper's function: by the schedule everything, by an event one restore."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import pytest

from rewarm.domain.errors import IncompleteCleanUpError, ThrottledError
from rewarm.steps.adopt import hear
from tests.unit.handlers.conftest import ENVIRONMENT, Context

EVENT = {
    "source": "aws.states",
    "detail": {
        "name": "restore-0",
        "status": "FAILED",
        "stateMachineArn": ENVIRONMENT["RESTORE_STATE_MACHINE_ARN"],
    },
}


@pytest.mark.parametrize(("event", "reads"), [({"source": "aws.events"}, 1), (EVENT, 0)])
def test_gauges_are_read_by_the_schedule_only(
    event: dict[str, object],
    reads: int,
    fresh: Callable[[str], ModuleType],
    monkeypatch: pytest.MonkeyPatch,
    context: Context,
) -> None:
    """A thousand restores that fail at once send two thousand events."""
    module, read = fresh("sweep"), []
    monkeypatch.setattr(module, "sweep", lambda ports: [])
    monkeypatch.setattr(module, "sweep_one", lambda restore_id, ports: [])
    asked = []
    monkeypatch.setattr(module, "_publish_gauges", lambda executions: read.append(1) or ())
    monkeypatch.setattr(hear, "silence", lambda *_: asked.append(1))
    assert module.lambda_handler(event, context) == {"swept": []}
    assert len(read) == reads
    assert len(asked) == reads


def _throttled(*_: object) -> None:
    raise ThrottledError("Query")


@pytest.mark.parametrize(
    ("silence", "said"),
    [
        (lambda *_: "rules have not looked", "^rules have not looked$"),
        (_throttled, "whether rules look at new volumes is not known: Query"),
    ],
)
def test_rules_that_do_not_look_are_named_after_all_else(
    silence: Callable[..., str | None],
    said: str,
    fresh: Callable[[str], ModuleType],
    monkeypatch: pytest.MonkeyPatch,
    context: Context,
) -> None:
    module, read = fresh("sweep"), []
    monkeypatch.setattr(module, "sweep", lambda ports: [])
    monkeypatch.setattr(module, "_publish_gauges", lambda executions: read.append(1) or ())
    monkeypatch.setattr(hear, "silence", silence)
    with pytest.raises(IncompleteCleanUpError, match=said):
        module.lambda_handler({"source": "aws.events"}, context)
    assert read == [1]
