"""Every permission of template.yaml is used by a run or has a line that says why it stays."""

from __future__ import annotations

import json

import pytest

from local.aws.permissions.authorizer import decide
from local.soak.lab.template import stack
from local.soak.trouble.permissions.permission_use import Use, exercised, grants
from local.soak.trouble.permissions.statements import UNNEEDED, report
from local.soak.trouble.permissions.unplayed_uses import forbidden, unplayed
from tests.contract.repository import template

POLICIES = stack().policies


@pytest.fixture(scope="module")
def played(fault_rows) -> list[Use]:
    """What the paths and the scenes use."""
    return [*(use for path in fault_rows.recorded.values() for use in path.uses), *fault_rows.uses_of_scenes]


def test_every_permission_is_used_or_has_a_reason(played):
    assert grants(POLICIES) - exercised(POLICIES, [*played, *unplayed()]) == set()


def test_a_permission_that_nobody_uses_is_seen(played):
    fewer = [use for use in played if use.need.action != "ec2:DeleteVolume"]
    unused = grants(POLICIES) - exercised(POLICIES, [*fewer, *unplayed()])
    assert {(grant.source, grant.action) for grant in unused} == {
        ("DrillCleanUpFunction 0", "ec2:DeleteVolume"), ("UndoRestores 0", "ec2:DeleteVolume"),
    }  # fmt: skip


def test_a_reason_is_allowed_and_no_run_uses_it(played):
    known = exercised(POLICIES, played)
    for use in unplayed():
        assert decide(POLICIES[use.principal], use.need).allowed, use
        assert exercised(POLICIES, [use]) - known, f"a run uses it: {use}"


def test_what_is_denied_is_refused_whatever_else_allows_it():
    for use in forbidden():
        assert not decide(POLICIES[use.principal], use.need).allowed, use


def test_each_statement_is_needed(played):
    lines = report(POLICIES, [*played, *unplayed(), *forbidden()])
    assert [line for line in lines if line.startswith(UNNEEDED)] == []
    # The bucket's policy is no role's (tests/contract/stack/test_template.py has its tests).
    of_roles = {
        name: one for name, one in template()["Resources"].items() if one["Type"] != "AWS::S3::BucketPolicy"
    }
    deployed = json.dumps({**template(), "Resources": of_roles})
    # AWS::Lambda::Permission is a statement of a function's policy.
    written = deployed.count('"Effect": ') + deployed.count('"Type": "AWS::Lambda::Permission"')
    assert lines[-1] == f"{written} of {written} statements"
