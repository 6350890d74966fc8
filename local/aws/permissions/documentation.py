"""docs/permissions.md, made from the template: `python -m local.aws.permissions.documentation`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from local import ROOT, Json
from local.aws.permissions import roles

PAGE = ROOT / "docs" / "permissions.md"
_HEAD = """# Permissions

What each role of a stack with every [part](../README.md#parts-of-the-stack) may do: `make
permissions-docs` writes this table from `template.yaml`, which has the reason beside each statement. The
names of resources are those of the template. AWS's own policies for logs and X-Ray come on top.

Policies for people are in [policies/](policies): [operator](policies/operator.json) may call the whole API
and stop executions, [viewer](policies/viewer.json) may look and plan, [approver](policies/approver.json) may
look at restores and approve them. [waiter](policies/waiter.json) may do what `rewarm wait` does, and nothing
else. [doctor](policies/doctor.json) has what `rewarm doctor` reads, and
[calibrator](policies/calibrator.json) what `rewarm calibrate` needs. [launcher](policies/launcher.json) is
for `rewarm launch`, with the name of the instances' role for `INSTANCE_ROLE`. Who deploys needs two:
[deployer](policies/deployer.json) and [deployer-services](policies/deployer-services.json). One policy could
not hold them, because IAM allows it 6,144 characters.

The policies are for a stack called `rewarm` in the partition `aws`. Put your account, Region and API id
(output `RestApiId`) for `ACCOUNT`, `REGION` and `API_ID`. CloudFormation names state machines and the secret
without the stack's name, so these lines hold for each Rewarm stack of the account.

The deployer makes roles only with a permissions boundary: a policy of yours that limits what they may do. Put
its name for `BOUNDARY`, and deploy with the parameter `PermissionsBoundaryArn`. The deployer can neither
change that policy nor take it from a role. Whoever may make roles without a boundary can give them any
permission, so deploying without it is a task for an administrator.
"""
_ARN = re.compile(
    r"arn:\$\{AWS::Partition\}:([a-z0-9-]+):(?:\$\{AWS::Region\})?:(?:\$\{AWS::AccountId\}|\*)?:(.*)"
)
_VARIABLE = re.compile(r"\$\{([^}]+)\}")


def page() -> str:
    """The whole page."""
    deployed = roles.resources()
    own = roles.own_resources()
    parts = [_HEAD]
    for role in sorted(name for name, resource in deployed.items() if resource["Type"] == roles.ROLE):
        owner = role.removesuffix("Role")
        if {owner, role} & own:
            rows = "\n".join(_rows(role, deployed))
            parts.append(f"## {owner}\n\n| actions | resources | conditions |\n|---|---|---|\n{rows}\n")
    return "\n".join(parts)


def _rows(role: str, deployed: Json) -> Iterator[str]:
    for aws in (
        str(arn["Fn::Sub"]).rpartition("/")[2] for arn in _managed(role, deployed) if "Fn::Sub" in arn
    ):
        yield f"| AWS's own policy `{aws}` | | |"
    for statement in statements_of(role, deployed):
        cells = (
            ", ".join(f"`{action}`" for action in listed(statement["Action"])),
            ", ".join(f"`{text(resource)}`" for resource in listed(statement["Resource"])),
            "; ".join(conditions_of(statement.get("Condition", {}))),
        )
        yield f"| {' | '.join(cells)} |"


def statements_of(role: str, deployed: Json) -> Iterator[Json]:
    """Statements of the role and of the policies that it has, those too that a parameter leaves out."""
    properties = deployed[role]["Properties"]
    attached = [
        name
        for name, resource in deployed.items()
        if resource["Type"] == roles.POLICY and {"Ref": role} in resource["Properties"]["Roles"]
    ]
    documents = [policy["PolicyDocument"] for policy in properties.get("Policies", [])]
    named = [*(arn["Ref"] for arn in _managed(role, deployed) if "Ref" in arn), *attached]
    for document in [*documents, *(deployed[name]["Properties"]["PolicyDocument"] for name in named)]:
        for element in listed(document["Statement"]):
            yield element["Fn::If"][1] if "Fn::If" in element else element


def _managed(role: str, deployed: Json) -> list[Json]:
    return [arn for arn in deployed[role]["Properties"].get("ManagedPolicyArns", []) if isinstance(arn, dict)]


def conditions_of(block: Json) -> Iterator[str]:
    """Each condition for people."""
    for operator, tests in block.items():
        for key, values in tests.items():
            found = ", ".join(f"`{text(value)}`" for value in listed(values))
            yield f"{operator} `{key}` {found}"


def text(value: Any) -> str:
    """A value of the template for people: `ec2 volume/*`, or the name of a resource."""
    if not isinstance(value, dict):
        return str(value)
    name, argument = next(iter(value.items()))
    if name == "Fn::GetAtt":
        return str(argument[0])
    if name == "Ref":
        return str(argument).removeprefix("AWS::")
    match = _ARN.fullmatch(argument)
    shown = f"{match[1]} {match[2]}" if match else str(argument)
    shown = shown.replace(".Arn}/", "}: ")
    return _VARIABLE.sub(lambda found: found[1].removeprefix("AWS::").partition(".")[0], shown)


def listed(value: Any) -> list[Any]:
    """The elements of a policy's value, which may be alone."""
    return value if isinstance(value, list) else [value]


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
