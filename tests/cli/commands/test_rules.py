"""`rewarm rule` on an API that answers by the contract."""

from __future__ import annotations

import json

import pytest
import yaml

from rewarm_cli.problems import DONE, NOT_FOUND, USAGE
from tests.support.commands.stack_api import RefusedError

RULE = {"match": {"volumeTags": {"app": "orders"}}, "mode": "act"}
VOLUME, OTHER, INSTANCE = "vol-0123456789abcdef0", "vol-0fedcba9876543210", "i-0123456789abcdef0"
FOUND = {"instanceId": INSTANCE, "volumeIds": [VOLUME], "request": {"source": {"existing": {}}}}
PASSED = {"volumeId": OTHER, "reason": f"{OTHER} is attached to no instance"}
PLAN = {"plans": [], "summary": {"totalCostUsd": "0.0012", "readyP90At": "2026-11-22T10:15:00Z"}}


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "rule.yaml"
    path.write_text(yaml.safe_dump(RULE), encoding="utf-8")
    return str(path)


def test_put_get_list_delete(rewarm, stack, file):
    said = rewarm("rule", "put", "orders", "-f", file)
    assert said.status == DONE
    assert "adopts new volumes" in said.out
    assert stack.rules == {"orders": RULE}
    assert yaml.safe_load(rewarm("rule", "get", "orders").out) == RULE
    assert json.loads(rewarm("rule", "list", "-o", "json").out)["rules"][0]["name"] == "orders"
    assert "volumes with app=orders" in rewarm("rule", "list").out
    assert rewarm("rule", "delete", "orders", "--yes").status == DONE
    assert rewarm("rule", "get", "orders").status == NOT_FOUND
    assert "There is no rule yet" in rewarm("rule", "list").out


def test_a_rule_that_observes_says_so(rewarm, stack, tmp_path):
    path = tmp_path / "rule.yaml"
    path.write_text(yaml.safe_dump({"match": RULE["match"]}), encoding="utf-8")
    assert "adopts nothing" in rewarm("rule", "put", "orders", "-f", str(path)).out


def test_a_name_that_no_rule_has_is_refused_before_any_call(rewarm, stack):
    said = rewarm("rule", "get", "a b")
    assert said.status == USAGE
    assert "up to 64 letters" in said.err
    assert stack.calls == []


def checked(rewarm, stack, *options):
    answer = {"name": "orders", "adoptions": [dict(FOUND)], "passedOver": [PASSED]}
    stack.answers["GET", "/rules/orders/check"] = 200, answer
    return rewarm("rule", "check", "orders", *options)


def test_a_check_lists_time_and_price_of_each_and_what_is_passed_over(rewarm, stack):
    stack.answers["POST", "/plans"] = 200, PLAN
    said = checked(rewarm, stack)
    assert said.status == DONE
    assert "1 volume that can be adopted now, for $0.0012" in said.out
    assert "10:15" in said.out
    assert f"Not {OTHER}: {PASSED['reason']}." in said.out
    assert [call.body for call in stack.calls if call.path == "/plans"] == [FOUND["request"]]


def test_a_check_says_why_there_is_no_plan(rewarm, stack):
    def refuse(call):
        if call.path == "/plans":
            raise RefusedError(422, "TargetNotUsableError", "source.existing: the volume has gone")

    stack.before = refuse
    found = json.loads(checked(rewarm, stack, "-o", "json").out)
    assert found["adoptions"][0]["plan"] is None
    assert "the volume has gone" in found["adoptions"][0]["reason"]
