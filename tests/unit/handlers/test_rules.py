"""The function of rules: soon after an event what it names, by the schedule everything that is new."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import pytest

from rewarm.steps.adopt.hear import LOOK_SECONDS
from rewarm.steps.adopt.rules import put_rule
from tests.support.builders import ALICE
from tests.support.worlds.adoptions import RuleWorld
from tests.unit.handlers.conftest import Context
from tests.unit.steps.adopt.test_hear import MADE, VOLUME


@pytest.mark.parametrize("account", ["123456789012", "999999999999"])
def test_an_event_of_a_volume_has_rules_look_some_seconds_later(
    account: str, fresh: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch, context: Context
) -> None:
    module, world, done = fresh("rules"), RuleWorld(), []
    put_rule("all", {"match": {"volumeTags": {"app": "*"}}}, by=ALICE, table=world.table)
    region = module.wiring.settings.region
    event = {**MADE, "account": account, "region": region}
    event["resources"] = [f"arn:aws:ec2:{region}:{account}:volume/{VOLUME}"]
    monkeypatch.setattr(module, "_HEARING", world)
    monkeypatch.setattr(module, "pause", done.append)
    monkeypatch.setattr(module, "_looked", lambda *, scans: done.append(scans) or ["rule-1"])
    is_own = account == context.invoked_function_arn.split(":")[4]
    assert module.lambda_handler(event, context) == {"begun": ["rule-1"] if is_own else []}
    assert done == ([LOOK_SECONDS, False] if is_own else [])


def test_the_schedule_has_rules_look_at_everything_at_once(
    fresh: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch, context: Context
) -> None:
    module, world = fresh("rules"), RuleWorld()
    monkeypatch.setattr(module, "_look_ports", world.look_ports)
    monkeypatch.setattr(module, "pause", lambda seconds: pytest.fail(f"waited {seconds} s"))
    assert module.lambda_handler({"source": "aws.events"}, context) == {"begun": []}
    assert world.adoptions.looked_at() is not None
