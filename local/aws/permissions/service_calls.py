"""What AWS's services may do in an account: by the role that they take, or by the policy of a function."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from functools import cache

from local.aws.permissions import policies
from local.aws.permissions.authorizer import Authorizer, decide
from local.aws.permissions.conditions import Context, normal
from local.aws.permissions.policies import Need, Statement
from local.aws.permissions.requests import Place
from rewarm.adapters.executions import execution_arn

MANAGED_RULE = "rule/StepFunctionsGetEventsForStepFunctionsExecutionRule"
Documents = Callable[[str], Mapping[str, str]]
"""ARN -> policies as JSON, by name; none where there is no such thing."""


def run_child(place: Place, machine_arn: str, name: str) -> list[Need]:
    """What startExecution.sync:2 needs.

    Step Functions developer guide, "IAM policies for calling integrated services": Step Functions.
    """
    execution = execution_arn(machine_arn, name)
    rule = place.arn("events", MANAGED_RULE)
    return [
        Need("states:StartExecution", machine_arn),
        *(Need(f"states:{action}", execution) for action in ("DescribeExecution", "StopExecution")),
        *(Need(f"events:{action}", rule) for action in ("PutTargets", "PutRule", "DescribeRule")),
    ]


def run_map(place: Place, machine_arn: str, items: str, results: str) -> list[Need]:
    """What a Distributed Map needs that reads items from an object, and writes results below a prefix.

    Step Functions developer guide, "IAM policies for using Distributed Map states". `items` and `results` are
    bucket and key, with a slash between them.
    """
    children = execution_arn(machine_arn, "child")
    read, written = (place.arn("s3", path, region=False, account=False) for path in (items, f"{results}/*"))
    in_parts = ("PutObject", "GetObject", "ListMultipartUploadParts", "AbortMultipartUpload")
    return [
        Need("states:StartExecution", machine_arn),
        *(Need(f"states:{action}", children) for action in ("DescribeExecution", "StopExecution")),
        Need("s3:GetObject", read),
        *(Need(f"s3:{action}", written) for action in in_parts),
    ]


class ServiceCalls:
    """IAM of one account, as services ask it; each answer says why not, or is None."""

    def __init__(self, place: Place, held: Documents, resource: Documents) -> None:
        """`held` has the policies of a principal, `resource` those of a role's trust or of a function."""
        self._place = place
        self._held = held
        self._resource = resource

    def invoked(self, role: str, function_arn: str) -> str | None:
        """A state machine's role may invoke the function."""
        return self.reason(role, [Need("lambda:InvokeFunction", function_arn)])

    def child(self, role: str, machine_arn: str, name: str) -> str | None:
        """A state machine's role may run another one and wait for it."""
        return self.reason(role, run_child(self._place, machine_arn, name))

    def started(self, role: str, machine_arn: str, service: str) -> str | None:
        """The service may take the role, and the role start the machine."""
        account = {"aws:sourceaccount": self._place.account}
        taken = self._by_resource(service, Need("sts:AssumeRole", role, account))
        return taken or self.reason(role, [Need("states:StartExecution", machine_arn)])

    def permitted(self, service: str, function_arn: str, source_arn: str) -> str | None:
        """The function's own policy allows the service, for what happens at the source."""
        source = {"aws:sourcearn": source_arn}
        return self._by_resource(service, Need("lambda:InvokeFunction", function_arn, source))

    def simulated(self, principal: str, action: str, resource: str, context: Context) -> str:
        """The decision of SimulatePrincipalPolicy (botocore, PolicyEvaluationDecisionType)."""
        held = tuple(_statements_of(self._held(principal)))
        decision = decide(
            held, Need(action, resource, {normal(key): value for key, value in context.items()})
        )
        if decision.allowed:
            return "allowed"
        return "explicitDeny" if decision.by else "implicitDeny"

    def reason(self, principal: str, wanted: Iterable[Need]) -> str | None:
        """Why a principal with these policies may not; None where it may."""
        held = tuple(_statements_of(self._held(source_of(principal))))
        return Authorizer({principal: held}).refusal(principal, wanted)

    def _by_resource(self, service: str, need: Need) -> str | None:
        allowing = [one for one in _statements_of(self._resource(need.resource)) if service in one.services]
        return Authorizer({service: tuple(allowing)}).refusal(service, [need])


def source_of(principal: str) -> str:
    """The role whose session a principal is; a user is its own."""
    head, is_session, session = principal.partition(":assumed-role/")
    if not is_session:
        return principal
    return f"{head.replace(':sts:', ':iam:', 1)}:role/{session.partition('/')[0]}"


def _statements_of(documents: Mapping[str, str]) -> list[Statement]:
    return [one for name, document in documents.items() for one in _statements(name, document)]


@cache
def _statements(name: str, document: str) -> tuple[Statement, ...]:
    return policies.statements(name, json.loads(document))
