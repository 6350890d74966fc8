"""What template.yaml deploys, read from the file itself: functions, rules, schedules, machines, documents."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from local import ROOT, Json, agents, documents, parts, state_machines, yaml_text
from local.aws.permissions import roles
from local.aws.permissions.authorizer import Policies

ACCOUNT, REGION, STACK = "123456789012", "us-east-1", "rewarm"
PSEUDO = {
    "AWS::StackName": STACK,
    "AWS::StackId": f"arn:aws:cloudformation:{REGION}:{ACCOUNT}:stack/{STACK}/1",
    "AWS::Region": REGION,
    "AWS::AccountId": ACCOUNT,
    "AWS::Partition": "aws",
    "AWS::URLSuffix": "amazonaws.com",
}
SLACK = {
    "SlackWebhookUrl": "https://hooks.slack.com/services/T000/B000/fast-lab",
    "SlackBotToken": "xoxb-fast-lab",
    "SlackSigningSecret": "0123456789abcdef0123456789abcdef",
}
"""A webhook, and an app whose buttons can be pressed; without a channel its bot posts nothing."""
DEFAULT_TIMEOUT_SECONDS = 60
AGENT_BINARY = b"the warm-up agent of the fast lab"
AGENTS = agents.hashes(dict.fromkeys(agents.BINARIES, AGENT_BINARY))
_NAME = re.compile(r"\$\{([^}]+)\}")
_ARNS = {
    "AWS::Serverless::Function": "lambda:{region}:{account}:function:{name}",
    "AWS::Serverless::StateMachine": "states:{region}:{account}:stateMachine:{name}",
    "AWS::SNS::Topic": "sns:{region}:{account}:{name}",
    "AWS::SQS::Queue": "sqs:{region}:{account}:{name}",
    "AWS::DynamoDB::Table": "dynamodb:{region}:{account}:table/{name}",
    "AWS::SecretsManager::Secret": "secretsmanager:{region}:{account}:secret:{name}",
    "AWS::S3::Bucket": "s3:::{name}",
    "AWS::IAM::Role": "iam::{account}:role/{name}",
    "AWS::Events::Rule": "events:{region}:{account}:rule/{name}",
}
_REF_IS_ARN = {"AWS::Serverless::StateMachine", "AWS::SNS::Topic", "AWS::SecretsManager::Secret"}
_NO_VALUE = {"Ref": "AWS::NoValue"}


@dataclass(frozen=True, slots=True)
class FunctionResource:
    """A Lambda function."""

    arn: str
    logical_id: str
    handler: str
    timeout_seconds: int
    environment: Mapping[str, str]

    @property
    def module(self) -> str:
        """The handler's module."""
        return self.handler.rpartition(".")[0]


@dataclass(frozen=True, slots=True)
class Rule:
    """EventBridge: what matches `pattern`, or comes every so often, goes to `target`."""

    name: str
    target: str
    pattern: Json | None = None
    every_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Stack:
    """The deployed template."""

    functions: dict[str, FunctionResource]
    rules: tuple[Rule, ...]
    machines: dict[str, Json]
    """Definitions by ARN, their substitutions made."""
    documents: dict[str, Json]
    tables: dict[str, Json]
    buckets: tuple[str, ...]
    topics: tuple[str, ...]
    secrets: dict[str, str]
    names: dict[str, str] = field(default_factory=dict)
    """What Ref gives, by logical id."""
    policies: Policies = field(default_factory=dict)
    """What roles and AWS's services may do."""
    parameters: Mapping[str, str] = field(default_factory=dict)
    """Those that the caller gave."""


@cache
def stack(root: Path = ROOT, **parameters: str) -> Stack:
    """The stack with Slack and all its parts, and with the template's defaults otherwise."""
    document, values = _with(yaml_text.template(root), parameters)
    resolver = Resolver(document, values, documents.contents(root, AGENTS))
    resources = document["Resources"]
    # A policy is attached to a role that SAM makes, which the file does not have.
    own = [name for name, one in resources.items() if one["Type"] != roles.POLICY]
    found: dict[str, Json] = {name: resolver.properties(name) for name in own}
    machines = {
        resolver.arn(name): _substituted(definition, found[name]["DefinitionSubstitutions"])
        for name, definition in state_machines.definitions(root).items()
        if name in resources
    }
    functions = {}
    for name in _of(resources, "AWS::Serverless::Function"):
        function = _function(name, found[name], resolver)
        functions[function.arn] = function
    deployed = roles.resources(root, **{name: values[name] for name in parts.names(document)})
    known = {**document, "Resources": {**deployed, **resources}}
    grants = Resolver(known, values, documents.contents(root, AGENTS))
    owners = [*_of(resources, "AWS::Serverless::Function"), *_of(resources, "AWS::Serverless::StateMachine")]
    return Stack(
        functions=functions,
        rules=tuple(rule for name in owners for rule in _rules(name, found[name], resolver)),
        machines=machines,
        documents={
            resolver.name(name): found[name]["Content"] for name in _of(resources, "AWS::SSM::Document")
        },
        tables={resolver.name(name): found[name] for name in _of(resources, "AWS::DynamoDB::Table")},
        buckets=tuple(resolver.name(name) for name in _of(resources, "AWS::S3::Bucket")),
        topics=tuple(resolver.name(name) for name in _of(resources, "AWS::SNS::Topic")),
        secrets={
            resolver.name(name): found[name]["SecretString"]
            for name in _of(resources, "AWS::SecretsManager::Secret")
        },
        names={name: resolver.ref(name) for name in resources},
        policies=roles.policies(deployed, grants.value),
        parameters=parameters,
    )


def _with(whole: Json, parameters: Mapping[str, str]) -> tuple[Json, dict[str, str]]:
    """The template with the parts that are asked for, and the values of all parameters."""
    given = {name: str(one.get("Default", "")) for name, one in whole["Parameters"].items()}
    values = {**given, **parts.every(whole), **SLACK, **parameters}
    return parts.chosen(whole, values), values


def _of(resources: Json, kind: str) -> list[str]:
    return [name for name, one in resources.items() if one["Type"] == kind]


def _substituted(definition: Json, substitutions: Mapping[str, str]) -> Json:
    text = json.dumps(definition)
    for name, value in substitutions.items():
        text = text.replace(f"${{{name}}}", value)
    substituted: Json = json.loads(text)
    return substituted


def _function(name: str, properties: Json, resolver: Resolver) -> FunctionResource:
    environment = {**resolver.globals, **properties.get("Environment", {}).get("Variables", {})}
    seconds = properties.get("Timeout", DEFAULT_TIMEOUT_SECONDS)
    texts = {key: str(value) for key, value in environment.items()}
    return FunctionResource(resolver.arn(name), name, properties["Handler"], int(seconds), texts)


def _rules(name: str, properties: Json, resolver: Resolver) -> list[Rule]:
    rules = []
    for event, one in properties.get("Events", {}).items():
        target, told = resolver.arn(name), one["Properties"]
        if one["Type"] == "EventBridgeRule":
            rules.append(Rule(f"{name}{event}", target, pattern=told["Pattern"]))
        elif one["Type"] == "Schedule":
            rules.append(Rule(f"{name}{event}", target, every_seconds=_seconds(told["Schedule"])))
    return rules


def _seconds(expression: str) -> float:
    match = re.fullmatch(r"rate\((\d+) (minute|hour|day)s?\)", expression)
    if match is None:
        raise ValueError(f"the schedule {expression} is none that the fast lab knows")
    return int(match[1]) * {"minute": 60.0, "hour": 3_600.0, "day": 86_400.0}[match[2]]


class Resolver:
    """CloudFormation's functions, as far as template.yaml uses them."""

    def __init__(self, document: Json, parameters: Mapping[str, str], included: Mapping[str, Json]) -> None:
        self._document = document
        self._parameters = parameters
        self._included = included
        self.globals: Json = self.value(document["Globals"]["Function"]["Environment"]["Variables"])

    def properties(self, name: str) -> Json:
        """A resource's properties without functions."""
        resolved: Json = self.value(self._document["Resources"][name].get("Properties", {}))
        return resolved

    def name(self, logical_id: str) -> str:
        """The physical name; buckets have small letters only."""
        return f"{STACK}-{logical_id}".lower() if "Bucket" in logical_id else f"{STACK}-{logical_id}"

    def arn(self, logical_id: str) -> str:
        """The ARN, or the name where the kind has none that we use."""
        kind = self._document["Resources"][logical_id]["Type"]
        if kind not in _ARNS:
            return f"arn:aws:none:::{self.name(logical_id)}"
        return "arn:aws:" + _ARNS[kind].format(region=REGION, account=ACCOUNT, name=self.name(logical_id))

    def ref(self, name: str) -> str:
        """What Ref gives."""
        if name in PSEUDO:
            return PSEUDO[name]
        if name in self._parameters:
            return self._parameters[name]
        kind = self._document["Resources"][name]["Type"]
        return self.arn(name) if kind in _REF_IS_ARN else self.name(name)

    def value(self, value: Any) -> Any:
        """The value with every function replaced by what it gives; None for AWS::NoValue."""
        if value == _NO_VALUE:
            return None
        if isinstance(value, list):
            resolved = [self.value(item) for item in value]
            return [item for item in resolved if item is not None]
        if not isinstance(value, dict):
            return value
        if len(value) == 1:
            name, argument = next(iter(value.items()))
            known = getattr(self, f"_{name.removeprefix('Fn::').lower()}", None)
            if known is not None and (name == "Ref" or name.startswith("Fn::")):
                return known(argument)
        return {key: self.value(item) for key, item in value.items()}

    def _ref(self, name: str) -> str:
        return self.ref(name)

    def _getatt(self, argument: Any) -> str:
        name, _, attribute = argument.partition(".") if isinstance(argument, str) else (*argument, "")[:3]
        wanted = attribute or (argument[1] if not isinstance(argument, str) else "")
        return self.arn(name) if wanted == "Arn" else self.name(name)

    def _sub(self, argument: Any) -> str:
        text, more = (argument, {}) if isinstance(argument, str) else argument

        def filled(match: re.Match[str]) -> str:
            name = match[1]
            if name in more:
                return str(self.value(more[name]))
            return self._getatt(name) if "." in name else self.ref(name)

        return _NAME.sub(filled, text)

    def _transform(self, argument: Json) -> Json:
        """A document's content. The API's definition is for API Gateway, which the lab does without."""
        return self._included.get(Path(argument["Parameters"]["Location"]).stem, {})

    def _if(self, argument: list[Any]) -> Any:
        holds = self._condition(self._document["Conditions"][argument[0]])
        return self.value(argument[1] if holds else argument[2])

    def _condition(self, value: Any) -> bool:
        name, argument = next(iter(value.items()))
        if name == "Condition":
            return self._condition(self._document["Conditions"][argument])
        if name == "Fn::And":
            return all(self._condition(one) for one in argument)
        if name == "Fn::Not":
            return not self._condition(argument[0])
        if name == "Fn::Equals":
            return bool(self.value(argument[0]) == self.value(argument[1]))
        raise ValueError(f"the condition {name} is none that the fast lab knows")
