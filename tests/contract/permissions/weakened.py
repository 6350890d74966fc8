"""Statements made weaker, one thing at a time: a further action, a wider resource, a looser condition."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random

from local.aws.permissions import reference
from local.aws.permissions.authorizer import ALLOW
from local.aws.permissions.conditions import FOR_ALL, NULL, Condition
from local.aws.permissions.policies import Statement
from local.soak.lab.template import REGION
from tests.contract.permissions.attempts import HERE, OTHER, OTHERS

LIKE = {"StringEquals": "StringLike", f"{FOR_ALL}StringEquals": f"{FOR_ALL}StringLike"}
"""Operators that take no wildcard -> those that do."""
MORE = {
    "aws:TagKeys": "Name", "dynamodb:LeadingKeys": "page-key#*", "ec2:CreateAction": "RunInstances",
    "kms:ViaService": f"s3.{REGION}.amazonaws.com", "aws:SourceAccount": OTHER.account,
    "aws:SourceArn": HERE.arn("execute-api", f"{OTHERS}/*"),
}  # fmt: skip
"""Keys of conditions -> a value that a looser one takes beside its own; for others another stack's name."""
ANYTHING = "?*"
_ARN_PARTS = 6
_REGION, _ACCOUNT, _NAME = 3, 4, 5

Weakened = tuple[str, Statement]
"""What was done, and the statement that came of it."""


def weakenings(one: Statement, random: Random) -> Iterator[Weakened]:
    """Every way to weaken it; which action is added is drawn. A denial is weaker where it denies less."""
    if one.effect == ALLOW:
        yield from _of_actions(one, random)
        yield from _of_resources(one)
    for at, condition in enumerate(one.conditions):
        rest = one.conditions[:at] + one.conditions[at + 1 :]
        if one.effect != ALLOW:
            for value in condition.values:
                kept = tuple(other for other in condition.values if other != value)
                changed = (*rest, replace(condition, values=kept))
                yield f"{value} is denied no longer", replace(one, conditions=changed)
            continue
        yield f"without {condition.key}", replace(one, conditions=rest)
        for said, looser in _of_condition(condition):
            yield said, replace(one, conditions=(*rest, looser))


def _of_actions(one: Statement, random: Random) -> Iterator[Weakened]:
    service, _, name = one.actions[0].partition(":")
    others = [action for action in reference.actions_of(service) if action not in one.actions]
    verb = next((name[:at] for at in range(1, len(name)) if name[at].isupper()), name)
    for added in (random.choice(others) if others else "", f"{service}:{verb}*", f"{service}:*", "*:*"):
        if added:
            yield f"with {added}", replace(one, actions=(*one.actions, added))


def _of_resources(one: Statement) -> Iterator[Weakened]:
    for at, resource in enumerate(one.resources):
        for wider in dict.fromkeys(_wider(resource)):
            changed = (*one.resources[:at], wider, *one.resources[at + 1 :])
            yield f"on {wider}", replace(one, resources=changed)


def _wider(resource: str) -> Iterator[str]:
    """Everything, every Region, every account, and what lies above the name."""
    parts = resource.split(":", _ARN_PARTS - 1)
    if len(parts) < _ARN_PARTS:
        return
    yield "*"
    for at in (_REGION, _ACCOUNT):
        if parts[at] not in ("", "*"):
            yield ":".join((*parts[:at], "*", *parts[at + 1 :]))
    segments = parts[_NAME].split("/")
    for count in range(len(segments)):
        name = "/".join((*segments[:count], "*"))
        if name != parts[_NAME]:
            yield ":".join((*parts[:_NAME], name))


def _of_condition(condition: Condition) -> Iterator[tuple[str, Condition]]:
    if condition.operator == NULL:
        return
    first, operator = condition.values[0], LIKE.get(condition.operator, condition.operator)
    if first == ANYTHING:
        yield f"even an empty {condition.key}", replace(condition, values=("*",))
        return
    more = "false" if first == "true" else MORE.get(condition.key, OTHERS)
    if more not in condition.values:
        yield f"{condition.key} or {more}", replace(condition, values=(*condition.values, more))
    if operator.endswith("Like"):
        for said, value in (("any", "*"), ("much of", f"{first[: len(first) // 2]}*")):
            yield f"{said} {condition.key}", replace(condition, operator=operator, values=(value,))
