"""Policy statements: what they allow or deny of one call.

IAM user guide, "IAM JSON policy element reference" and "Policy evaluation logic".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from local import Json
from local.aws.permissions import reference
from local.aws.permissions.conditions import (
    ARN_PARTS,
    Condition,
    Context,
    conditions,
    wildcard,
    without_variables,
)

KNOWN_ELEMENTS = {"Sid", "Effect", "Action", "Resource", "Condition", "Principal"}


@dataclass(frozen=True, slots=True)
class Need:
    """One permission that a call needs. It is allowed where a statement allows it and none denies it."""

    action: str
    resource: str = reference.NO_RESOURCE
    context: Context = field(default_factory=dict, hash=False)

    @property
    def key(self) -> tuple[object, ...]:
        """The same for needs that no policy can tell apart."""
        context = tuple(sorted((key, _hashable(value)) for key, value in self.context.items()))
        return self.action, self.resource, context

    def __str__(self) -> str:
        """For people."""
        return f"{self.action} on {self.resource}"


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement. `source` says where it stands: `AnnounceFunction 2`, `SendMessages 0`."""

    source: str
    effect: str
    actions: tuple[str, ...]
    resources: tuple[str, ...]
    conditions: tuple[Condition, ...] = ()
    services: tuple[str, ...] = ()
    """Who may call, in a policy of a resource or of trust."""

    def applies(self, need: Need) -> bool:
        """Whether it speaks of this call: action, resource and all conditions fit."""
        return (
            any(action_fits(pattern, need.action) for pattern in self.actions)
            and any(resource_fits(pattern, need.resource) for pattern in self.resources)
            and self._conditions_hold(need)
        )

    def _conditions_hold(self, need: Need) -> bool:
        """A key that the action does not support for this resource is never in the request.

        So a denial by Null, by ForAllValues or by a negated operator holds there as for any absent key.
        """
        if not self.conditions:
            return True
        action = reference.action(need.action)
        kind = action.type_of(need.resource) if action is not None else None
        return kind is not None and all(
            condition.holds(need.context if kind.supports(condition.key) else {})
            for condition in self.conditions
        )


def statements(source: str, document: Json) -> tuple[Statement, ...]:
    """The statements of a policy document. Raises ValueError for what is not evaluated here."""
    listed = document["Statement"]
    listed = listed if isinstance(listed, list) else [listed]
    return tuple(statement(f"{source} {number}", one) for number, one in enumerate(listed))


def statement(source: str, element: Mapping[str, Any]) -> Statement:
    """One statement of a policy document."""
    unknown = set(element) - KNOWN_ELEMENTS
    if unknown:
        raise ValueError(f"{source}: {sorted(unknown)} is not evaluated here")
    principal = element.get("Principal", {})
    return Statement(
        source=source,
        effect=element["Effect"],
        actions=_texts(element["Action"]),
        # A trust policy has no resource: the role that it belongs to.
        resources=tuple(map(without_variables, _texts(element.get("Resource", "*")))),
        conditions=conditions(element.get("Condition", {})),
        services=_texts(principal.get("Service", [])) if isinstance(principal, Mapping) else (),
    )


def problems(one: Statement) -> list[str]:
    """What AWS never allows by it: unknown actions, and what an action does not support."""
    found = []
    for name in one.actions:
        matching = [name] if "*" not in name else _expanded(name)
        if not any(reference.action(action) for action in matching):
            found.append(f"{one.source}: AWS knows no action {name}")
        for action in (reference.action(action) for action in matching):
            if action is not None:
                found += _problems_of_action(one, action)
    return found


def _problems_of_action(one: Statement, action: reference.Action) -> list[str]:
    types = [
        kind
        for kind in action.resource_types or (action.anywhere,)
        if any(pattern == "*" or kind.pattern.fullmatch(pattern) for pattern in one.resources)
    ]
    if not types:
        return [f"{one.source}: {action.name} does not support {', '.join(one.resources)}"]
    return [
        f"{one.source}: {action.name} does not support the condition key {condition.key}"
        for condition in one.conditions
        if not any(kind.supports(condition.key) for kind in types)
    ]


@cache
def action_fits(pattern: str, name: str) -> bool:
    """Actions know no capital letters."""
    return wildcard(pattern.lower()).fullmatch(name.lower()) is not None


@cache
def resource_fits(pattern: str, resource: str) -> bool:
    """Whether an element of Resource names the resource.

    A wildcard stays within its segment, between two colons. But "if the * wildcard is the last character of
    a resource ARN segment, it can expand to match beyond the colon boundaries" (IAM user guide, "IAM JSON
    policy elements: Resource"). The part behind the fifth colon may hold colons of its own.
    """
    segments = pattern.split(":", ARN_PARTS - 1)
    texts = [_segment(segment, is_name=number == ARN_PARTS - 1) for number, segment in enumerate(segments)]
    return re.fullmatch(":".join(texts), resource, re.DOTALL) is not None


def _segment(pattern: str, *, is_name: bool) -> str:
    """The regular expression of a part of an ARN."""
    within = "." if is_name else "[^:]"
    wild = {"*": f"{within}*", "?": within}
    text = "".join(wild.get(char, re.escape(char)) for char in pattern)
    return text.removesuffix(wild["*"]) + ".*" if pattern.endswith("*") else text


def _expanded(pattern: str) -> list[str]:
    return [name for name in reference.actions_of(pattern.partition(":")[0]) if action_fits(pattern, name)]


def _texts(value: Any) -> tuple[str, ...]:
    listed: Iterable[Any] = value if isinstance(value, list) else [value]
    return tuple(str(item) for item in listed)


def _hashable(value: Any) -> Any:
    return value if isinstance(value, str) else tuple(value)
