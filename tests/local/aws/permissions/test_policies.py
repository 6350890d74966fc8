"""Policies are evaluated as IAM does: allow, explicit deny, wildcards, conditions, unknown actions."""

from __future__ import annotations

import pytest

from local.aws.permissions.authorizer import Authorizer
from local.aws.permissions.conditions import of_tags
from local.aws.permissions.policies import problems, statements

VOLUME = "arn:aws:ec2:us-east-1:123456789012:volume/vol-1"
INSTANCE = "arn:aws:ec2:us-east-1:123456789012:instance/i-1"
TABLE = "arn:aws:dynamodb:us-east-1:123456789012:table/restores"
KEY = "arn:aws:kms:us-east-1:123456789012:key/k"
MACHINE = "arn:aws:states:us-east-1:123456789012:stateMachine:m"
ROLE = {"aws:principalarn": "arn:aws:iam::123456789012:role/rewarm-x"}
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


def tags(**named):
    """Tags `<name>:stack` of a resource."""
    return of_tags("aws:resourcetag", {f"{name}:stack": value for name, value in named.items()})


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
        # A last * of a segment "can expand to match beyond the colon boundaries"; another one stays within.
        ([allow("ec2:AttachVolume", "arn:aws:ec2:*:volume/*")], ("ec2:AttachVolume", VOLUME), True),
        ([allow("ec2:AttachVolume", "arn:aws:ec2:*")], ("ec2:AttachVolume", VOLUME), True),
        ([allow("ec2:AttachVolume", "arn:aws:ec2:us-*-1:volume/*")], ("ec2:AttachVolume", VOLUME), False),
        ([allow("ec2:AttachVolume", "arn:aws:ec2:us-?ast-1:*:volume/*")], ("ec2:AttachVolume", VOLUME), True),
        ([allow("ec2:AttachVolume", "arn:aws:ec2:us-east-1?123456789012:volume/*")],
         ("ec2:AttachVolume", VOLUME), False),
        ([allow("ec2:*"), deny("ec2:AttachVolume", "arn:aws:ec2:us-east-1:*")],
         ("ec2:AttachVolume", VOLUME), False),
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
        # No request for CreateTags has this key. It is absent, as any key that a request lacks: all values of
        # none fit, and Null finds none ("ForAllValues", "Condition operator to check existence of keys").
        *(
            (elements, ("ec2:CreateTags", VOLUME, {KEYS.lower(): ("x",)}), expected)
            for operator, value, fits in (
                ("ForAllValues:StringLike", "y", True), ("ForAnyValue:StringLike", "x", False),
                ("StringLike", "x", False), ("StringNotLike", "x", True),
                ("Null", "true", True), ("Null", "false", False),
            )
            for elements, expected in (
                ([allow("ec2:CreateTags", VOLUME, **on(operator, KEYS, value))], fits),
                ([allow("ec2:CreateTags"), deny("ec2:CreateTags", **on(operator, KEYS, value))], not fits),
            )
        ),
        # Keys of tags know no capital letters, values do ("aws:ResourceTag/tag-key"). Which of two tags is
        # compared whose keys differ by case alone, AWS does not say: either may be.
        ([allow("ec2:AttachVolume", VOLUME, **TAGGED)],
         ("ec2:AttachVolume", VOLUME, tags(Rewarm="rewarm")), True),
        ([allow("ec2:AttachVolume", VOLUME, **TAGGED)],
         ("ec2:AttachVolume", VOLUME, tags(Rewarm="Rewarm")), False),
        ([allow("ec2:AttachVolume", VOLUME, **TAGGED)],
         ("ec2:AttachVolume", VOLUME, tags(rewarm="x", REWARM="rewarm")), True),
        ([allow("ec2:*"), deny("ec2:AttachVolume", **TAGGED)],
         ("ec2:AttachVolume", VOLUME, tags(rewarm="rewarm", REWARM="x")), False),
        ([allow("ec2:CreateTags", **on("StringEquals", "aws:RequestTag/A", "1"))],
         ("ec2:CreateTags", VOLUME, of_tags("aws:requesttag", {"a": "1"})), True),
        # aws:TagKeys has keys as its values, which know capital letters, but by StringEqualsIgnoreCase.
        *(
            ([allow("ec2:CreateTags"), deny("ec2:CreateTags", **on(operator, "aws:TagKeys", "rewarm:stack"))],
             ("ec2:CreateTags", VOLUME, {"aws:tagkeys": (key, "Name")}), expected)
            for operator, key, expected in (
                ("ForAnyValue:StringEquals", "rewarm:stack", False),
                ("ForAnyValue:StringEquals", "Rewarm:Stack", True),
                ("ForAnyValue:StringLike", "Rewarm:Stack", True),
                ("ForAnyValue:StringEqualsIgnoreCase", "Rewarm:Stack", False),
                ("ForAnyValue:StringNotEquals", "rewarm:stack", False),
                ("ForAllValues:StringNotEquals", "rewarm:stack", True),
            )
        ),
        *(
            ([allow("ec2:CreateTags", **on(operator, "aws:PrincipalArn", "arn:aws:iam::*:role/rewarm-*"))],
             ("ec2:CreateTags", VOLUME, ROLE), expected)
            for operator, expected in (("ArnLike", True), ("ArnEquals", True), ("ArnNotLike", False))
        ),
        ([allow("ec2:CreateTags", **on("ArnNotLike", "aws:PrincipalArn", "arn:aws:iam::*:role/x"))],
         ("ec2:CreateTags", VOLUME), True),
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
        # IAM puts values of the request in the place of policy variables.
        allow("s3:GetObject", "arn:aws:s3:::bucket/${aws:username}/*"),
        allow("s3:ListBucket", **on("StringLike", "s3:prefix", "${aws:username}/*")),
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
