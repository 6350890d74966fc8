"""What each role may do is what the rules give it, whatever the template's words are."""

from __future__ import annotations

from typing import Any

import pytest

from local.soak.lab.template import stack
from tests.contract.permissions.attempts import SINGLE_ATTRIBUTES, attempts
from tests.contract.permissions.judgement import excesses, expanded, given, lacks, of_the_template, short
from tests.contract.permissions.rules import rules
from tests.contract.repository import template

POLICIES = of_the_template(stack().policies)


@pytest.mark.parametrize("principal", sorted(POLICIES))
def test_a_role_may_do_what_the_rules_give_it_and_nothing_else(principal: str) -> None:
    held = POLICIES[principal]
    actions = expanded(pattern for one in held for pattern in one.actions)
    assert list(excesses(principal, held, actions)) == []
    assert list(lacks(principal, held, given(short(principal)))) == []


def test_every_rule_gives_somebody_something() -> None:
    known = {short(principal) for principal in POLICIES}
    for one in rules():
        assert one.who <= known
        assert [action for action in one.actions if not any(map(one.covers, attempts(action)))] == []


def test_user_data_is_an_attribute_that_nobody_may_change() -> None:
    assert "UserData" in SINGLE_ATTRIBUTES


def principals(value: Any) -> list[Any]:
    """What stands for `Principal` anywhere in the template, but where it is denied something."""
    if isinstance(value, list):
        return [found for item in value for found in principals(item)]
    if not isinstance(value, dict) or value.get("Effect") == "Deny":
        return []
    own = [value["Principal"]] if "Principal" in value else []
    return own + [found for item in value.values() for found in principals(item)]


def test_only_services_of_aws_are_let_in_by_what_is_called() -> None:
    named = [one if isinstance(one, str) else one["Service"] for one in principals(template())]
    assert named
    assert all(one.endswith(".amazonaws.com") for one in named)
