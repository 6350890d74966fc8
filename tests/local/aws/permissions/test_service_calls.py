"""What services may do by roles and policies of functions (local/aws/permissions/service_calls.py)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from local.aws.permissions.requests import Place
from local.aws.permissions.service_calls import ServiceCalls

PLACE = Place("123456789012", "eu-west-1")
ROLE = "arn:aws:iam::123456789012:role/drills"
MACHINE = PLACE.arn("states", "stateMachine:restore")
FUNCTION = PLACE.arn("lambda", "function:sweep")
RULE = PLACE.arn("events", "rule/every-quarter")
EVENTS, SCHEDULER = "events.amazonaws.com", "scheduler.amazonaws.com"


def allow(action: str, resource: str = "*", **more: Any) -> dict[str, Any]:
    return {"Effect": "Allow", "Action": action, "Resource": resource, **more}


def trust(service: str, **more: Any) -> dict[str, Any]:
    return {"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"Service": service}, **more}


def calls(held: dict[str, Any] | None = None, resource: dict[str, Any] | None = None) -> ServiceCalls:
    """An account in which one principal holds a statement, and one resource has another."""

    def documents(statement: dict[str, Any] | None) -> dict[str, str]:
        return {"policy": json.dumps({"Statement": [statement]})} if statement else {}

    return ServiceCalls(PLACE, lambda _arn: documents(held), lambda _arn: documents(resource))


def test_a_schedule_starts_a_machine_with_a_role_that_it_may_take():
    starts = allow("states:StartExecution", MACHINE)
    assert calls(starts, trust(SCHEDULER)).started(ROLE, MACHINE, SCHEDULER) is None
    assert "sts:AssumeRole" in str(calls(starts, trust(EVENTS)).started(ROLE, MACHINE, SCHEDULER))
    assert "sts:AssumeRole" in str(calls(starts).started(ROLE, MACHINE, SCHEDULER))
    assert "states:StartExecution" in str(calls(None, trust(SCHEDULER)).started(ROLE, MACHINE, SCHEDULER))


@pytest.mark.parametrize(("account", "fits"), [("123456789012", True), ("210987654321", False)])
def test_a_role_is_taken_for_the_account_that_its_trust_names(account: str, *, fits: bool):
    starts = allow("states:StartExecution", MACHINE)
    only = trust(SCHEDULER, Condition={"StringEquals": {"aws:SourceAccount": account}})
    assert (calls(starts, only).started(ROLE, MACHINE, SCHEDULER) is None) is fits


def test_a_rule_invokes_a_function_whose_policy_names_it():
    policy = {**allow("lambda:InvokeFunction", FUNCTION), "Principal": {"Service": EVENTS}}
    policy["Condition"] = {"ArnLike": {"AWS:SourceArn": RULE}}
    assert calls(resource=policy).permitted(EVENTS, FUNCTION, RULE) is None
    assert calls(resource=policy).permitted(EVENTS, FUNCTION, f"{RULE}-other") is not None
    assert calls(resource=policy).permitted("apigateway.amazonaws.com", FUNCTION, RULE) is not None
    assert calls().permitted(EVENTS, FUNCTION, RULE) is not None


def test_a_machine_runs_another_one_only_if_it_may_watch_it():
    assert calls(allow("*")).child(ROLE, MACHINE, "one") is None
    reason = calls(allow("states:StartExecution", MACHINE)).child(ROLE, MACHINE, "one")
    assert "states:DescribeExecution" in str(reason)


def test_an_explicit_denial_counts():
    assert "explicit deny" in str(calls(allow("*") | {"Effect": "Deny"}).invoked(ROLE, FUNCTION))


@pytest.mark.parametrize(
    ("effect", "context", "decision"),
    [
        ("Allow", {"aws:RequestTag/rewarm:stack": "rewarm"}, "allowed"),
        ("Allow", {"aws:RequestTag/rewarm:stack": "another"}, "implicitDeny"),
        ("Allow", {}, "implicitDeny"),
        ("Deny", {"aws:RequestTag/rewarm:stack": "rewarm"}, "explicitDeny"),
    ],
)
def test_the_simulator_decides_by_the_context_that_it_is_given(
    effect: str, context: dict[str, str], decision: str
):
    only = {"StringEquals": {"aws:RequestTag/rewarm:stack": "rewarm"}}
    held = {**allow("ec2:CreateVolume", Condition=only), "Effect": effect}
    volume = PLACE.arn("ec2", "volume/vol-0123456789abcdef0")
    assert calls(held).simulated(ROLE, "ec2:CreateVolume", volume, context) == decision
