"""Which permissions of template.yaml runs use, and which statement each call needs.

`python -m local.soak --statements` takes every statement out once (statements.py).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from local.aws.permissions import roles
from local.aws.permissions.authorizer import ALLOW, Policies, decide
from local.aws.permissions.policies import Need, Statement, action_fits, resource_fits
from local.soak.lab.lab import FastLab
from local.soak.trouble.permissions.permission_scenes import SCENES

SEED = 1


@dataclass(frozen=True, slots=True)
class Use:
    """A permission that somebody used."""

    where: str
    """The path or the scene; or why no run does it."""
    principal: str
    need: Need


@dataclass(frozen=True, slots=True, order=True)
class Grant:
    """The smallest part of a policy: one action on one resource, for one principal."""

    principal: str
    source: str
    action: str
    resource: str


def uses_of(lab: FastLab, where: str) -> list[Use]:
    """What was asked for in a lab and allowed."""
    asked = lab.permissions.authorizer.asked.values()
    return [Use(where, principal, need) for principal, need, decision in asked if decision.allowed]


def uses_of_scene(name: str) -> list[Use]:
    """What a scene uses."""
    with FastLab(SEED) as lab:
        SCENES[name](lab)
        return uses_of(lab, name)


def written(policies: Policies) -> dict[str, list[tuple[str, Statement]]]:
    """Every statement that stands in template.yaml -> (principal, statement) for each who has it."""
    own = roles.own_resources()
    found: dict[str, list[tuple[str, Statement]]] = {}
    for principal, listed in policies.items():
        for statement in listed:
            name = statement.source.partition(" ")[0]
            if {name, roles.role_of(name)} & own:
                found.setdefault(statement.source, []).append((principal, statement))
    return found


def grants(policies: Policies) -> set[Grant]:
    """All that the template grants."""
    return {
        Grant(principal, source, action, resource)
        for source, holders in written(policies).items()
        for principal, statement in holders
        if statement.effect == ALLOW
        for action in statement.actions
        for resource in statement.resources
    }


def exercised(policies: Policies, uses: Iterable[Use]) -> set[Grant]:
    """The grants that the uses rely on."""
    found: set[Grant] = set()
    seen: set[tuple[object, ...]] = set()
    for use in uses:
        key = use.principal, *use.need.key
        if key in seen:
            continue
        seen.add(key)
        for statement in policies.get(use.principal, ()):
            if statement.applies(use.need):
                found |= _parts(use, statement)
    return found


def _parts(use: Use, statement: Statement) -> set[Grant]:
    return {
        Grant(use.principal, statement.source, action, resource)
        for action in statement.actions
        if action_fits(action, use.need.action)
        for resource in statement.resources
        if resource_fits(resource, use.need.resource)
    }


def witnesses(policies: Policies, uses: Iterable[Use]) -> dict[str, Use | None]:
    """Statement -> a use that it alone allows or denies; None where there is none."""
    found: dict[str, Use | None] = dict.fromkeys(written(policies))
    for use in uses:
        listed = policies.get(use.principal, ())
        by = decide(listed, use.need).by
        # Whoever has two statements for the same loses nothing with one of them.
        if len(by) == 1 and by[0] in found and found[by[0]] is None:
            found[by[0]] = use
    return found


def without(policies: Policies, source: str) -> dict[str, tuple[Statement, ...]]:
    """The policies without one statement."""
    return {name: tuple(one for one in listed if one.source != source) for name, listed in policies.items()}
