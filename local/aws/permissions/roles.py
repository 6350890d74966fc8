"""Who may do what in the deployed stack: the roles that CloudFormation makes, and AWS's services.

SAM's own transform gives each function and state machine its role, and each rule its permission. A service
(`events.amazonaws.com`) may what the policies of functions, queues and roles say of it.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

from moto.iam.aws_managed_policies import aws_managed_policies_data
from samtranslator.translator.arn_generator import ArnGenerator
from samtranslator.translator.managed_policy_translator import ManagedPolicyLoader
from samtranslator.translator.transform import transform

from local import ROOT, Json, parts, yaml_text
from local.aws.permissions.policies import Statement, statement, statements

Value = Callable[[Any], Any]
"""What CloudFormation makes of a value: Ref, Fn::GetAtt, Fn::Sub and Fn::If are gone from it."""
ROLE, POLICY = "AWS::IAM::Role", "AWS::IAM::Policy"


@cache
def resources(root: Path = ROOT, region: str = "us-east-1", **chosen: str) -> Json:
    """The resources that CloudFormation deploys, by logical id, their functions unresolved.

    Of all parts of the stack, or of those that are chosen.
    """
    found: Json = whole(root, region, **{**parts.every(yaml_text.template(root)), **chosen})["Resources"]
    return found


@cache
def whole(root: Path = ROOT, region: str = "us-east-1", **chosen: str) -> Json:
    """The template that CloudFormation deploys, of the chosen parts, or of the usual ones."""
    template = parts.chosen(yaml_text.template(root), chosen)
    for resource in template["Resources"].values():
        properties = resource.get("Properties", {})
        packaged = {"CodeUri", "ContentUri", "DefinitionUri"} & set(properties)
        properties |= dict.fromkeys(packaged, "s3://bucket/key")
    return transformed(template, region)


def transformed(template: Json, region: str) -> Json:
    """What SAM makes of a template in a Region, and CloudFormation deploys."""
    # SAM writes the partition of the Region into the names of AWS's own policies.
    own_region = mock.patch.object(ArnGenerator, "BOTO_SESSION_REGION_NAME", region)
    with own_region, mock.patch.dict(os.environ, AWS_DEFAULT_REGION=region):
        made: Json = transform(template, {}, ManagedPolicyLoader(None))
    return made


@cache
def own_resources(root: Path = ROOT) -> frozenset[str]:
    """The resources that stand in the template itself; the others SAM makes."""
    template = yaml_text.template(root)
    return frozenset(template["Resources"])


def role_of(logical_id: str) -> str:
    """The role of a function or a state machine."""
    return f"{logical_id}Role"


def policies(deployed: Json, value: Value) -> dict[str, tuple[Statement, ...]]:
    """Principal -> its statements. Principals are logical ids of roles, and AWS's services."""
    found: dict[str, tuple[Statement, ...]] = {
        name: tuple(_of_role(name, resource["Properties"], deployed, value))
        for name, resource in deployed.items()
        if resource["Type"] == ROLE
    }
    services: dict[str, list[Statement]] = defaultdict(list)
    for one in _of_services(deployed, value):
        for service in one.services:
            services[service].append(one)
    return found | {service: tuple(listed) for service, listed in services.items()}


def _of_role(name: str, properties: Json, deployed: Json, value: Value) -> Iterator[Statement]:
    number = 0
    for policy in properties.get("Policies", []):
        for one in statements("", value(policy["PolicyDocument"])):
            yield statement_at(one, f"{name.removesuffix('Role')} {number}")
            number += 1
    for attached, resource in deployed.items():
        if resource["Type"] == POLICY and {"Ref": name} in resource["Properties"]["Roles"]:
            yield from statements(attached, value(resource["Properties"]["PolicyDocument"]))
    for arn in properties.get("ManagedPolicyArns", []):
        if isinstance(arn, dict) and "Ref" in arn:
            document = deployed[arn["Ref"]]["Properties"]["PolicyDocument"]
            yield from statements(arn["Ref"], value(document))
        else:
            policy_name = str(value(arn)).rpartition("/")[2]
            yield from statements(policy_name, _aws_policies()[policy_name]["Document"])


def statement_at(one: Statement, source: str) -> Statement:
    """The same statement with the place where it stands."""
    return Statement(source, one.effect, one.actions, one.resources, one.conditions, one.services)


def _of_services(deployed: Json, value: Value) -> Iterator[Statement]:
    for name, resource in deployed.items():
        properties = resource.get("Properties", {})
        if resource["Type"] == "AWS::Lambda::Permission":
            yield _permission(name, properties, value)
        elif resource["Type"] == "AWS::SQS::QueuePolicy":
            yield from statements(name, value(properties["PolicyDocument"]))
        elif resource["Type"] == ROLE:
            arn = value({"Fn::GetAtt": [name, "Arn"]})
            for number, element in enumerate(value(properties["AssumeRolePolicyDocument"])["Statement"]):
                yield statement(f"{name} trust {number}", {**element, "Resource": arn})


def _permission(name: str, properties: Json, value: Value) -> Statement:
    """A statement in the policy of a function (botocore AddPermission)."""
    function = properties["FunctionName"]
    named = function["Ref"] if "Ref" in function else function["Fn::GetAtt"][0]
    return statement(
        name,
        {
            "Effect": "Allow",
            "Principal": {"Service": properties["Principal"]},
            "Action": properties["Action"],
            "Resource": value({"Fn::GetAtt": [named, "Arn"]}),
            "Condition": {"ArnLike": {"aws:SourceArn": value(properties["SourceArn"])}},
        },
    )


@cache
def _aws_policies() -> Json:
    """AWS's own policies, as moto carries them."""
    found: Json = json.loads(aws_managed_policies_data)
    return found
