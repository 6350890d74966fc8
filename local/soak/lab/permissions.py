"""IAM in the fast lab: every call is allowed or refused by the role of the function that makes it.

Also what AWS does in the stack's name: Step Functions and Lambda take roles, rules start functions and state
machines, the API invokes its function, and instances use addresses that a function has signed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

from local import Json
from local.aws.permissions.authorizer import Authorizer
from local.aws.permissions.conditions import Context
from local.aws.permissions.policies import Need
from local.aws.permissions.region_state import RegionState
from local.aws.permissions.requests import Asked, Place, listing, needs
from local.aws.permissions.roles import role_of
from local.aws.permissions.service_calls import run_child, run_map
from local.aws.region import Region
from local.soak.lab.template import ACCOUNT, REGION, STACK, Rule, Stack
from local.soak.lab.transport import KEY_PREFIX, Call, Refusal, denied

API, EVENTS, LAMBDA, STEP_FUNCTIONS = (
    f"{name}.amazonaws.com" for name in ("apigateway", "events", "lambda", "states")
)
SCHEDULER, DRILLS = "scheduler.amazonaws.com", "DrillsRole"
LOG_DELIVERY = (
    "logs:CreateLogDelivery",
    "logs:GetLogDelivery",
    "logs:UpdateLogDelivery",
    "logs:DeleteLogDelivery",
    "logs:ListLogDeliveries",
    "logs:PutResourcePolicy",
    "logs:DescribeResourcePolicies",
    "logs:DescribeLogGroups",
)
"""Step Functions developer guide, "Using CloudWatch Logs to log execution history": needed to log at all."""
TRACING = (
    "xray:PutTraceSegments",
    "xray:PutTelemetryRecords",
    "xray:GetSamplingRules",
    "xray:GetSamplingTargets",
)
"""Step Functions developer guide, "Trace Step Functions request data in AWS X-Ray"."""
SIGNED = {"GET": "GetObject", "PUT": "PutObject"}


class Permissions:
    """IAM of one lab."""

    def __init__(self, stack: Stack, region: Region) -> None:
        self.authorizer = Authorizer(stack.policies)
        self._state = RegionState(region)
        self._place = Place(ACCOUNT, REGION)
        self._roles = {arn: role_of(one.logical_id) for arn, one in stack.functions.items()}
        names = {name: logical_id for logical_id, name in stack.names.items()}
        self._roles |= {arn: role_of(names[arn]) for arn in stack.machines}

    def refusal(self, call: Call, params: Json) -> Refusal | None:
        """AWS's answer where the caller's role does not allow a call."""
        return self._refusal(call.service, role_of(call.function), needs(self._asked(call, params)))

    def unlisted(self, call: Call, params: Json) -> Refusal | None:
        """S3's answer for an object that is not there, to those who may not list the bucket."""
        if call.operation not in ("GetObject", "HeadObject"):
            return None
        return self._refusal("s3", role_of(call.function), [listing(self._asked(call, params))])

    def signed(self, method: str, url: str) -> bool:
        """Whether a presigned address may be used: it may what its signer may (S3 user guide)."""
        address = urlsplit(url)
        credential = parse_qs(address.query)["X-Amz-Credential"][0]
        role = role_of(credential.partition("/")[0].removeprefix(KEY_PREFIX))
        bucket, _, key = address.path.lstrip("/").partition("/")
        if "." in address.netloc and not address.netloc.startswith("s3."):
            bucket, key = address.netloc.partition(".")[0], address.path.lstrip("/")
        params = {"Bucket": bucket, "Key": key}
        asked = Asked("s3", SIGNED[method], params, self._place, self._state)
        return self.authorizer.refusal(role, needs(asked)) is None

    def invoked(self, machine_arn: str, function_arn: str) -> str | None:
        """Why a state machine may not invoke a function."""
        return self._all(self._roles[machine_arn], [Need("lambda:InvokeFunction", function_arn)])

    def child(self, machine_arn: str, child_arn: str, name: str) -> str | None:
        """Why a state machine may not run another one with startExecution.sync:2."""
        return self._all(self._roles[machine_arn], run_child(self._place, child_arn, name))

    def mapped(self, machine_arn: str, items: str, results: str) -> str | None:
        """Why a state machine may not run a Distributed Map over these items."""
        return self._all(self._roles[machine_arn], run_map(self._place, machine_arn, items, results))

    def asked(self, machine_arn: str, call: Call, params: Json) -> Refusal | None:
        """AWS's answer where a state machine's role does not allow a call that one of its states makes."""
        return self._refusal(call.service, self._roles[machine_arn], needs(self._asked(call, params)))

    def triggered(self, rule: Rule) -> str | None:
        """Why a rule may not start its target: machines start by its role, functions by their policy."""
        if ":stateMachine:" in rule.target:
            role = role_of(rule.name)
            return self._taken(EVENTS, role) or self._all(role, [Need("states:StartExecution", rule.target)])
        source = {"aws:sourcearn": self._place.arn("events", f"rule/{STACK}-{rule.name}")}
        return self._all(EVENTS, [Need("lambda:InvokeFunction", rule.target, source)])

    def called(self, function_arn: str, api_id: str, method: str, path: str) -> str | None:
        """Why API Gateway may not invoke the API's function for a request."""
        source = self._place.arn("execute-api", f"{api_id}/v1/{method}{path}")
        need = Need("lambda:InvokeFunction", function_arn, {"aws:sourcearn": source})
        return self._all(API, [need])

    def deployed(self) -> Iterator[str]:
        """What keeps the stack from working before anything is called."""
        for arn, role in self._roles.items():
            is_machine = ":stateMachine:" in arn
            yield from filter(None, [self._taken(STEP_FUNCTIONS if is_machine else LAMBDA, role)])
            if is_machine:
                yield from filter(None, [self._all(role, map(Need, (*LOG_DELIVERY, *TRACING)))])

    def drill(self) -> str | None:
        """Why a schedule may not start a restore (docs/operations.md, drills)."""
        refused = self._taken(SCHEDULER, DRILLS, {"aws:sourceaccount": ACCOUNT})
        arn = next(arn for arn, role in self._roles.items() if role == role_of("RestoreStateMachine"))
        return refused or self._all(DRILLS, [Need("states:StartExecution", arn)])

    def _taken(self, service: str, role: str, context: Context | None = None) -> str | None:
        """Why a service may not take a role."""
        arn = self._place.arn("iam", f"role/{STACK}-{role}", region=False)
        return self._all(service, [Need("sts:AssumeRole", arn, context or {})])

    def _asked(self, call: Call, params: Json) -> Asked:
        return Asked(call.service, call.operation, params, self._place, self._state)

    def _all(self, principal: str, wanted: Any) -> str | None:
        return self.authorizer.refusal(principal, wanted)

    def _refusal(self, service: str, role: str, wanted: list[Need]) -> Refusal | None:
        reason = self._all(role, wanted)
        return None if reason is None else denied(service, f"User: {reason}")
