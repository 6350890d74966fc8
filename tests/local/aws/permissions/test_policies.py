"""Policies are evaluated as IAM does: allow, explicit deny, wildcards, conditions, unknown actions."""

from __future__ import annotations

import pytest

from local.aws.permissions.authorizer import Authorizer
from local.aws.permissions.policies import problems, statements

VOLUME = "arn:aws:ec2:us-east-1:123456789012:volume/vol-1"
INSTANCE = "arn:aws:ec2:us-east-1:123456789012:instance/i-1"
TABLE = "arn:aws:dynamodb:us-east-1:123456789012:table/restores"
KEY = "arn:aws:kms:us-east-1:123456789012:key/k"
MACHINE = "arn:aws:states:us-east-1:123456789012:stateMachine:m"
OURS = {"aws:resourcetag/rewarm:stack": "rewarm"}


def allow(action, resource="*", **more):
    return {"Effect": "Allow", "Action": action, "Resource": resource, **more}


def deny(action, resource="*", **more):
    return {**allow(action, resource, **more), "Effect": "Deny"}


def account(*elements):
    return Authorizer({"role": statements("role", {"Statement": list(elements)})})


def allowed(elements, action, resource="*", context=None):
    return account(*elements).authorize("role", action, resource, context or {}).allowed


def on(operator, key, value):
    return {"Condition": {operator: {key: value}}}


TAGGED = on("StringEquals", "aws:ResourceTag/rewarm:stack", "rewarm")
KEYS = "dynamodb:LeadingKeys"
NAMED = allow("ec2:DeleteTags", VOLUME, Condition={
    "ForAllValues:StringEquals": {"aws:TagKeys": ["rewarm:boost"]}, "Null": {"aws:TagKeys": "false"},
})  # fmt: skip


@pytest.mark.parametrize(
    ("elements", "asked", "expected"),
    [
        ([allow("ec2:AttachVolume", VOLUME)], ("ec2:AttachVolume", VOLUME), True),
        ([allow("ec2:AttachVolume", VOLUME)], ("ec2:DetachVolume", VOLUME), False),
        ([allow("ec2:attachvolume", VOLUME)], ("ec2:AttachVolume", VOLUME), True),
        ([allow("ec2:Attach*", "*")], ("ec2:AttachVolume", VOLUME), True),
        ([allow("ec2:AttachVolume", "arn:aws:ec2:*:*:volume/*")], ("ec2:AttachVolume", VOLUME), True),
        ([allow("ec2:AttachVolume", "arn:aws:ec2:*:volume/*")], ("ec2:AttachVolume", VOLUME), False),
        ([allow("ec2:AttachVolume", "arn:aws:ec2:us-east-1::volume/*")], ("ec2:AttachVolume", VOLUME), False),
        ([allow("ec2:AttachVolume"), deny("ec2:*", VOLUME)], ("ec2:AttachVolume", VOLUME), False),
        ([allow("ec2:AttachVolume"), deny("ec2:*", VOLUME)], ("ec2:AttachVolume", INSTANCE), True),
        ([allow("ec2:AttachVolume", VOLUME, **TAGGED)], ("ec2:AttachVolume", VOLUME, OURS), True),
        ([allow("ec2:AttachVolume", VOLUME, **TAGGED)], ("ec2:AttachVolume", VOLUME), False),
        ([], ("ec2:AttachVolume", VOLUME), False),
        # A call that knows no resource needs "*".
        ([allow("ec2:ListSnapshotsInRecycleBin")], ("ec2:ListSnapshotsInRecycleBin",), True),
        ([allow("ec2:ListSnapshotsInRecycleBin", "arn:aws:ec2:us-east-1:*:snapshot/*")],
         ("ec2:ListSnapshotsInRecycleBin",), False),
        # Neither is known to AWS.
        ([allow("*")], ("ec2:WarmVolume", VOLUME), False),
        ([allow("*")], ("ec2:AttachVolume", TABLE), False),
        # No request for CreateTags has this key, so no statement with it allows one; not even for all values.
        ([allow("ec2:CreateTags", VOLUME, **on("ForAllValues:StringLike", KEYS, "x"))],
         ("ec2:CreateTags", VOLUME), False),
        ([allow("dynamodb:GetItem", TABLE, **on("ForAllValues:StringLike", KEYS, ["a#*", "b#*"]))],
         ("dynamodb:GetItem", TABLE, {"dynamodb:leadingkeys": ("a#1", "b#2")}), True),
        ([allow("dynamodb:GetItem", TABLE, **on("ForAllValues:StringLike", KEYS, "a#*"))],
         ("dynamodb:GetItem", TABLE, {"dynamodb:leadingkeys": ("a#1", "b#2")}), False),
        # All values of none are in any list; Null asks for one (IAM user guide, "Multivalued context keys").
        ([allow("ec2:DeleteTags", VOLUME, **on("ForAllValues:StringEquals", "aws:TagKeys", "a"))],
         ("ec2:DeleteTags", VOLUME, {"aws:tagkeys": ()}), True),
        ([NAMED], ("ec2:DeleteTags", VOLUME, {"aws:tagkeys": ()}), False),
        ([NAMED], ("ec2:DeleteTags", VOLUME), False),
        ([NAMED], ("ec2:DeleteTags", VOLUME, {"aws:tagkeys": ("rewarm:boost",)}), True),
        ([NAMED], ("ec2:DeleteTags", VOLUME, {"aws:tagkeys": ("rewarm:boost", "Name")}), False),
        ([allow("ec2:DeleteTags", VOLUME, **on("Null", "aws:TagKeys", True))],
         ("ec2:DeleteTags", VOLUME, {"aws:tagkeys": ()}), True),
        ([allow("kms:CreateGrant", KEY, **on("Bool", "kms:GrantIsForAWSResource", True))],
         ("kms:CreateGrant", KEY, {"kms:grantisforawsresource": "true"}), True),
    ],
)  # fmt: skip
def test_a_call_is_allowed_or_not(elements, asked, expected):
    assert allowed(elements, *asked) is expected


def test_who_has_no_policy_may_nothing():
    assert not account(allow("*")).authorize("somebody", "ec2:DescribeVolumes").allowed


def test_a_refusal_says_what_is_missing():
    decision = account(deny("ec2:*")).authorize("role", "ec2:AttachVolume", VOLUME)
    assert decision.reason == " with an explicit deny in an identity-based policy"


@pytest.mark.parametrize(
    "element",
    [
        allow("ec2:AttachVolume", **on("DateLessThan", "aws:CurrentTime", "2026-01-01")),
        allow("ec2:AttachVolume", **on("StringEqualsIfExists", "aws:ResourceTag/a", "b")),
        {"Effect": "Allow", "NotAction": "ec2:*", "Resource": "*", "Action": "s3:*"},
    ],
)
def test_what_is_not_evaluated_is_an_error(element):
    with pytest.raises(ValueError, match="evaluated here"):
        account(element)


@pytest.mark.parametrize(
    ("element", "said"),
    [
        (allow("ec2:WarmVolume"), "knows no action ec2:WarmVolume"),
        (allow("states:SendTaskSuccess", MACHINE), "does not support arn:aws"),
        (allow("sns:Publish", "*", **TAGGED), "the condition key aws:ResourceTag/rewarm:stack"),
    ],
)  # fmt: skip
def test_what_aws_would_never_allow_is_found_beforehand(element, said):
    (one,) = statements("role", {"Statement": element})
    assert said in problems(one)[0]
