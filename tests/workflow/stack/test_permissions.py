"""Roles and policies on the embedded AWS: what is missing there is refused, as on AWS."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
import requests

from rewarm_cli.api import Api
from tests.support.stack.restores import RestoreUser, request_for
from tests.support.stack.signing import key_with_policy, new_key

Json = dict[str, Any]
NOTHING = {"Effect": "Deny", "Action": "iam:GetUser", "Resource": "*"}
"""A policy has at least one statement."""


@contextmanager
def without(user: RestoreUser, logical_id: str, action: str) -> Iterator[None]:
    """The role of a function, without the statements that allow an action."""
    iam = user.lab.client("iam")
    resources = user.lab.client("cloudformation").describe_stack_resources(StackName="rewarm")
    name = next(
        one["PhysicalResourceId"]
        for one in resources["StackResources"]
        if one["LogicalResourceId"] == f"{logical_id}Role"
    )
    before = {
        policy: iam.get_role_policy(RoleName=name, PolicyName=policy)["PolicyDocument"]
        for policy in iam.list_role_policies(RoleName=name)["PolicyNames"]
    }
    try:
        for policy, document in before.items():
            kept = [one for one in document["Statement"] if action not in one["Action"]]
            put(iam, name, policy, {**document, "Statement": kept or [NOTHING]})
        yield
    finally:
        for policy, document in before.items():
            put(iam, name, policy, document)


def put(iam: Any, role: str, policy: str, document: Json) -> None:
    iam.put_role_policy(RoleName=role, PolicyName=policy, PolicyDocument=json.dumps(document))


def test_a_restore_fails_where_a_function_s_role_lacks_a_statement(user: RestoreUser) -> None:
    request = request_for(user, "provisioned-rate")
    with without(user, "CreateVolumeFunction", "ec2:CreateVolume"):
        done = user.restore(request)
    volume = done.volumes[0]
    assert (volume.status, volume.error) == ("FAILED", "AccessDeniedError"), done.why
    assert "ec2:CreateVolume" in volume.cause
    assert "UnauthorizedOperation" in volume.cause


def test_the_viewer_s_policy_lets_somebody_look_and_plan_only(user: RestoreUser) -> None:
    viewer = calling_with(user, key_with_policy(user, "viewer"))
    request = request_for(user, "provisioned-rate")
    assert viewer.call("GET", "/restores/unknown").status == 404
    assert viewer.call("POST", "/plans", request).status == 200
    refused = viewer.call("POST", "/restores", request)
    assert (refused.status, refused.body["error"], refused.body["field"]) == (403, "ACCESS_DENIED", None)
    assert "its IAM policy must allow execute-api:Invoke" in refused.body["message"]


def calling_with(user: RestoreUser, key: Json) -> Api:
    """The API, called with this access key."""
    return replace(user._api, access_key_id=key["AccessKeyId"], secret_access_key=key["SecretAccessKey"])


def test_who_signs_is_who_is_recorded_and_shown(user: RestoreUser) -> None:
    iam, allowed = (
        user.lab.client("iam"),
        {"Effect": "Allow", "Action": "execute-api:Invoke", "Resource": "*"},
    )
    arns = []
    for name in ("alice", "bob"):
        arns.append(iam.create_user(UserName=name)["User"]["Arn"])
        iam.put_user_policy(
            UserName=name, PolicyName="all", PolicyDocument=json.dumps({"Statement": [allowed]})
        )
    alice, bob = (calling_with(user, new_key(user, name)) for name in ("alice", "bob"))
    waits = request_for(user, "provisioned-rate", approveAboveUsd=0) | user.to_zone
    started = alice.call("POST", "/restores", waits)
    restore_id = started.body["restoreId"]
    assert bob.call("DELETE", f"/restores/{restore_id}").status == 202
    done = user.finished(restore_id)
    by = [{"kind": "iam", "name": arn} for arn in arns]
    assert done.record["trigger"]["askedBy"] == by[0]
    assert done.record["cancelledBy"] == by[1]
    listed = alice.call("GET", "/restores?limit=100").body["restores"]
    assert [one["trigger"]["askedBy"] for one in listed if one["restoreId"] == restore_id] == by[:1]
    told = [news["text"] for news in done.record["events"]]
    assert any(f"The restore was cancelled by {arns[1]}." in text for text in told), told
    page = requests.get(
        done.record["reportUrl"], verify=user.lab.environment["AWS_CA_BUNDLE"], timeout=60
    ).text.replace("<wbr>", "")
    assert all(arn in page for arn in arns)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"secret_access_key": "wrong"}, "INVALID_SIGNATURE"),
        ({"access_key_id": "AKIANOBODY"}, "DEFAULT_4XX"),
        ({"session_token": "unknown"}, "DEFAULT_4XX"),
    ],
)
def test_the_api_refuses_a_wrong_signature_in_its_own_form(
    user: RestoreUser, change: dict[str, str], error: str
) -> None:
    refused = replace(user._api, **change).call("GET", "/restores/unknown")
    assert (refused.status, refused.body["error"], refused.body["field"]) == (403, error, None)


def test_the_api_says_how_a_request_without_a_signature_is_signed(user: RestoreUser) -> None:
    with pytest.raises(urllib.error.HTTPError) as ended:
        urllib.request.urlopen(f"{user._api.url}/restores/unknown")
    with ended.value as refused:
        body = json.load(refused)
    assert (refused.code, body["error"]) == (401, "MISSING_AUTHENTICATION_TOKEN")
    assert "Signature Version 4, service execute-api" in body["message"]
