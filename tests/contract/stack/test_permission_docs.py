"""docs/permissions.md is what the template says, and the policies for people allow what they promise."""

from __future__ import annotations

import json

import pytest

from local.aws.permissions import deployed, documentation
from local.aws.permissions.authorizer import Authorizer
from local.aws.permissions.policies import problems, statements
from tests.contract.repository import ROOT, functions

API = "arn:aws:execute-api:eu-west-1:123456789012:abc/v1"
EXECUTION = "arn:aws:states:eu-west-1:123456789012:execution:RestoreStateMachine-O2WHhrwtOckF:restore-1"
"""CloudFormation names a state machine by its logical id, without the stack's name."""
STOP = "states:StopExecution", EXECUTION
LOOK = "states:DescribeExecution", EXECUTION
STACK = "arn:aws:cloudformation:eu-west-1:123456789012:stack/rewarm/5f8b"
FIND = "cloudformation:DescribeStacks", STACK
VOLUME = "arn:aws:ec2:eu-west-1:123456789012:volume/vol-0123456789abcdef0"
SNAPSHOT = "arn:aws:ec2:eu-west-1::snapshot/snap-0123456789abcdef0"
DOCUMENT = "arn:aws:ssm:eu-west-1:123456789012:document/rewarm-CalibrationDocument-1234"
MARKED = {"aws:resourcetag/rewarm:calibration": "calibration-1"}
ASKED = {"aws:requesttag/rewarm:calibration": "calibration-1"}
INSTANCE = "arn:aws:ec2:eu-west-1:123456789012:instance/i-0123456789abcdef0"
ROLE = "arn:aws:iam::123456789012:role/INSTANCE_ROLE"
TO_EC2 = {"iam:passedtoservice": "ec2.amazonaws.com"}
TO_LAMBDA = {"iam:passedtoservice": "lambda.amazonaws.com"}
NEW = {"aws:requesttag/rewarm:launched-from": "lt-1"}
LAUNCHED = {"aws:resourcetag/rewarm:launched-from": "lt-1"}


@pytest.mark.parametrize("module", [documentation, deployed], ids=lambda module: module.PAGE.name)
def test_the_page_is_what_the_template_says(module):
    assert module.PAGE.read_text(encoding="utf-8") == module.page(), "run `make permissions-docs`"


def test_each_of_the_strongest_permissions_has_somebody_and_a_limit():
    rows = [line.split("|") for line in deployed.page().splitlines() if line.startswith("| `")]
    assert [row[1].strip(" `") for row in rows] == list(deployed.STRONGEST)
    assert all("`" in row[2] and "`" in row[4] for row in rows)


def test_every_function_has_a_part():
    assert all(f"\n## {name}\n" in documentation.page() for name in functions())


def policy(name):
    text = (ROOT / "docs" / "policies" / f"{name}.json").read_text(encoding="utf-8")
    for placeholder, value in (("REGION", "eu-west-1"), ("ACCOUNT", "123456789012"), ("API_ID", "abc")):
        text = text.replace(placeholder, value)
    return statements(name, json.loads(text))


def call(method, path):
    return "execute-api:Invoke", f"{API}/{method}{path}"


@pytest.mark.parametrize(
    "name",
    ["operator", "viewer", "approver", "waiter", "doctor", "doctor-on-instance", "calibrator", "launcher"],
)
def test_aws_supports_every_statement_for_people(name):
    assert [said for one in policy(name) for said in problems(one)] == []


@pytest.mark.parametrize(
    ("name", "asked", "expected"),
    [
        ("doctor", call("GET", "/restores"), True),
        ("doctor", call("POST", "/restores"), False),
        ("doctor", FIND, True),
        ("operator", call("POST", "/restores"), True),
        ("operator", call("DELETE", "/restores/1"), True),
        ("operator", call("PUT", "/runbooks/rewarm-orders"), True),
        ("operator", STOP, True),
        ("operator", FIND, True),
        ("operator", ("cloudformation:DeleteStack", STACK), False),
        ("operator", ("cloudformation:DescribeStacks", STACK.replace("rewarm", "payroll")), False),
        ("operator", ("execute-api:Invoke", f"{API.replace('/v1', '/v2')}/POST/restores"), False),
        ("operator", ("states:StopExecution", EXECUTION.replace("Restore", "Other")), False),
        ("operator", ("ec2:DescribeVolumes", "*"), False),
        ("operator", call("POST", "/restores/1/approve"), True),
        ("approver", call("POST", "/restores/1/approve"), True),
        ("approver", call("GET", "/restores/1"), True),
        ("approver", call("GET", "/restores"), True),
        ("approver", FIND, True),
        ("approver", call("POST", "/restores"), False),
        ("approver", call("DELETE", "/restores/1"), False),
        ("approver", STOP, False),
        ("waiter", call("GET", "/restores"), True),
        ("waiter", call("GET", "/restores/1"), True),
        ("waiter", call("GET", "/runbooks"), False),
        ("waiter", call("POST", "/restores"), False),
        ("waiter", call("DELETE", "/restores/1"), False),
        ("waiter", ("ec2:DescribeVolumes", "*"), True),
        ("viewer", call("POST", "/restores/1/approve"), False),
        ("viewer", call("GET", "/restores/1"), True),
        ("viewer", call("POST", "/plans"), True),
        ("viewer", LOOK, True),
        ("viewer", FIND, True),
        ("viewer", call("POST", "/restores"), False),
        ("viewer", call("DELETE", "/restores/1"), False),
        ("viewer", call("PUT", "/runbooks/rewarm-orders"), False),
        ("viewer", STOP, False),
        ("calibrator", call("PUT", "/calibration"), True),
        ("calibrator", call("POST", "/restores"), False),
        ("calibrator", FIND, True),
        ("calibrator", ("ec2:DeleteVolume", VOLUME), False),
        ("calibrator", ("ec2:DeleteVolume", VOLUME, MARKED), True),
        ("calibrator", ("ec2:CreateVolume", VOLUME), False),
        ("calibrator", ("ec2:CreateVolume", VOLUME, ASKED), True),
        ("calibrator", ("ec2:CreateSnapshot", VOLUME), False),
        ("calibrator", ("ec2:CreateTags", VOLUME, ASKED), False),
        ("calibrator", ("ec2:EnableFastSnapshotRestores", SNAPSHOT), False),
        ("calibrator", ("ec2:EnableFastSnapshotRestores", SNAPSHOT, MARKED), True),
        ("launcher", ("ec2:RunInstances", INSTANCE), False),
        ("launcher", ("ec2:RunInstances", INSTANCE, NEW), True),
        ("launcher", ("ec2:CreateTags", INSTANCE, NEW), False),
        ("launcher", ("ec2:TerminateInstances", INSTANCE), False),
        ("launcher", ("ec2:TerminateInstances", INSTANCE, LAUNCHED), True),
        ("launcher", ("iam:PassRole", ROLE, TO_EC2), True),
        ("launcher", ("iam:PassRole", ROLE, TO_LAMBDA), False),
        ("launcher", ("iam:PassRole", ROLE.replace("INSTANCE_ROLE", "admin"), TO_EC2), False),
        ("calibrator", ("ssm:SendCommand", DOCUMENT), True),
        ("calibrator", ("ssm:SendCommand", DOCUMENT.replace("rewarm-Calibration", "AWS-RunShell")), False),
    ],
)
def test_a_policy_for_people_allows_what_it_promises(name, asked, expected):
    assert Authorizer({name: policy(name)}).authorize(name, *asked).allowed is expected
