"""IAM's policy simulator: may a role or a user do what is needed, and if not, what denies it?

The simulator evaluates policies of the identity, its permissions boundary, and service control policies. For
a role it evaluates no policies of resources, such as a key's (botocore, iam SimulatePrincipalPolicy).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rewarm_cli.doctor.account import Account, NoAnswerError
from rewarm_cli.doctor.findings import Finding, ok, problem, unknown

Json = dict[str, Any]

SESSION = re.compile(r"(arn:[^:]+):sts::(\d+):assumed-role/([^/]+)/")


@dataclass(frozen=True, slots=True)
class Need:
    """Actions on one resource, with the condition keys of the request."""

    actions: tuple[str, ...]
    resource: str
    context: Mapping[str, str] = field(default_factory=dict)


def principal_of(account: Account) -> str | None:
    """The user or role of the credentials; None if the simulator does not accept it."""
    caller = account.caller or ""
    match = SESSION.match(caller)
    if match is None:
        return caller if re.search(r":iam::\d+:user/", caller) else None
    try:
        # A session's ARN lacks the path of its role.
        found = account.once("caller's role", lambda: account.ask("iam", "GetRole", RoleName=match[3]))
    except NoAnswerError:
        return f"{match[1]}:iam::{match[2]}:role/{match[3]}"
    return str(found["Role"]["Arn"])


def simulated(account: Account, principal: str, check: str, needs: Sequence[Need], todo: str) -> Finding:
    """One finding for all needs: the first refusal, or that all is allowed. Raises NoAnswerError."""
    for need in needs:
        results = account.pages(
            "iam",
            "SimulatePrincipalPolicy",
            "EvaluationResults",
            PolicySourceArn=principal,
            ActionNames=list(need.actions),
            ResourceArns=[need.resource],
            ContextEntries=[
                {"ContextKeyName": name, "ContextKeyValues": [value], "ContextKeyType": "string"}
                for name, value in need.context.items()
            ],
        )
        for result in results:
            if result["EvalDecision"] != "allowed":
                return _refusal(check, need, result, todo)
    actions = dict.fromkeys(action for need in needs for action in need.actions)
    return ok(check, f"may {', '.join(actions)}")


def _refusal(check: str, need: Need, result: Json, todo: str) -> Finding:
    said = f"{result['EvalActionName']} on {need.resource}"
    if missing := _missing(result):
        return unknown(
            check,
            f"the simulator cannot decide {said}: its policies ask for {', '.join(missing)}",
            "look at the policies by hand, or use --instance, --snapshot and --volume with real ids",
        )
    if (result.get("OrganizationsDecisionDetail") or {}).get("AllowedByOrganizations") is False:
        return problem(
            check,
            f"may not {said}: a service control policy denies it",
            "ask your organization's administrator",
        )
    boundary = result.get("PermissionsBoundaryDecisionDetail") or {}
    if boundary.get("AllowedByPermissionsBoundary") is False:
        return problem(
            check,
            f"may not {said}: the permissions boundary does not allow it",
            f"allow {result['EvalActionName']} in that policy",
        )
    why = "a policy denies it" if result["EvalDecision"] == "explicitDeny" else "no policy allows it"
    return problem(check, f"may not {said}: {why}", todo)


def _missing(result: Json) -> list[str]:
    specific = [
        found.get("MissingContextValues") or [] for found in result.get("ResourceSpecificResults") or []
    ]
    listed = [result.get("MissingContextValues") or [], *specific]
    return sorted({name for names in listed for name in names})
