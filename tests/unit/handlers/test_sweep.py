"""The sweeper's function: by the schedule everything, by an event one restore."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import pytest

from rewarm.domain.errors import IncompleteCleanUpError, ThrottledError
from rewarm.steps.adopt.hear import LOOK_SECONDS
from rewarm.steps.adopt.rules import put_rule
from tests.support.builders import ALICE
from tests.support.worlds.adoptions import RuleWorld
from tests.unit.handlers.conftest import ENVIRONMENT, Context
from tests.unit.steps.adopt.test_hear import MADE, VOLUME

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
    looked = []
    monkeypatch.setattr(context, "get_remaining_time_in_millis", lambda: 200_000)
    monkeypatch.setattr(module, "_publish_gauges", lambda executions: read.append(1) or ())
    monkeypatch.setattr(module, "_looked", lambda *, scans: looked.append(scans))
    assert module.lambda_handler(event, context) == {"swept": []}
    assert len(read) == reads
    assert looked == [True] * reads, "rules look at everything when the sweeper does"


def test_rules_that_cannot_look_keep_the_sweep_from_nothing_and_are_named(
    fresh: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch, context: Context
) -> None:
    def look(*, scans: bool) -> None:
        raise ThrottledError("DescribeVolumes")

    module, read = fresh("sweep"), []
    monkeypatch.setattr(context, "get_remaining_time_in_millis", lambda: 200_000)
    monkeypatch.setattr(module, "sweep", lambda ports: [])
    monkeypatch.setattr(module, "_publish_gauges", lambda executions: read.append(1) or ())
    monkeypatch.setattr(module, "_looked", look)
    with pytest.raises(IncompleteCleanUpError, match="rules could not look at new volumes: DescribeVolumes"):
        module.lambda_handler({"source": "aws.events"}, context)
    assert read == [1]


@pytest.mark.parametrize("account", ["123456789012", "999999999999"])
def test_an_event_of_a_volume_sweeps_nothing_and_has_rules_look_some_seconds_later(
    account: str, fresh: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch, context: Context
) -> None:
    module, world, done = fresh("sweep"), RuleWorld(), []
    put_rule("all", {"match": {"volumeTags": {"app": "*"}}}, by=ALICE, table=world.table)
    region = module.wiring.settings.region
    event = {**MADE, "account": account, "region": region}
    event["resources"] = [f"arn:aws:ec2:{region}:{account}:volume/{VOLUME}"]
    monkeypatch.setattr(module, "_look_ports", lambda: world)
    monkeypatch.setattr(module, "sweep", lambda ports: done.append("sweep"))
    monkeypatch.setattr(module, "pause", done.append)
    monkeypatch.setattr(module, "_looked", lambda *, scans: done.append(scans) or ["rule-1"])
    is_own = account == context.invoked_function_arn.split(":")[4]
    begun = {"swept": [], "begun": ["rule-1"] if is_own else []}
    assert module.lambda_handler(event, context) == begun
    assert done == ([LOOK_SECONDS, False] if is_own else [])
