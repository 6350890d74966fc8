"""Policies judged by the rules: what somebody may and no rule gives, and what a rule gives and nobody may."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache

from local.aws.permissions import reference
from local.aws.permissions.authorizer import Policies, decide
from local.aws.permissions.policies import Statement, action_fits
from local.soak.trouble.permissions.permission_use import written
from tests.contract.permissions.attempts import Attempt, attempts
from tests.contract.permissions.rules import rules


def of_the_template(policies: Policies) -> dict[str, tuple[Statement, ...]]:
    """The policies without what SAM and AWS write themselves."""
    own = written(policies)
    return {name: tuple(one for one in listed if one.source in own) for name, listed in policies.items()}


def short(principal: str) -> str:
    """The name that rules use."""
    return principal.removesuffix("Role").removesuffix("Function")


def expanded(patterns: Iterable[str]) -> set[str]:
    """Each pattern, and the actions of AWS that it stands for."""
    found = set(patterns)
    for pattern in [one for one in found if "*" in one]:
        names = reference.actions_of(pattern.partition(":")[0])
        found |= {name for name in names if action_fits(pattern, name)}
    return found


@cache
def permitted(who: str, action: str) -> tuple[bool, ...] | None:
    """Which attempts the rules permit, in their order; None where no rule gives the action at all."""
    giving = [one for one in rules() if who in one.who and action in one.actions]
    if not giving:
        return None
    return tuple(any(one.covers(attempt) for one in giving) for attempt in attempts(action))


def excesses(principal: str, held: Iterable[Statement], actions: Iterable[str]) -> Iterator[str]:
    """What the principal may do by these actions and should not."""
    held, who, actions = tuple(held), short(principal), sorted(actions)
    strange = [action for action in actions if permitted(who, action) is None]
    yield from (f"{who} has {action}, which no rule gives it" for action in strange)
    for action in (action for action in actions if action not in strange):
        yield from (
            f"{who} may {one}" for one, may, should in _asked(who, held, action) if may and not should
        )


def lacks(principal: str, held: Iterable[Statement], actions: Iterable[str]) -> Iterator[str]:
    """What the rules give the principal, and it may not."""
    held, who = tuple(held), short(principal)
    for action in sorted(actions):
        yield from (
            f"{who} may not {one}" for one, may, should in _asked(who, held, action) if should and not may
        )


def given(who: str) -> set[str]:
    """All actions that rules give."""
    return {action for one in rules() if who in one.who for action in one.actions}


def _asked(who: str, held: tuple[Statement, ...], action: str) -> Iterator[tuple[Attempt, bool, bool]]:
    speaking = [one for one in held if any(action_fits(pattern, action) for pattern in one.actions)]
    expected = permitted(who, action) or ()
    for attempt, should in zip(attempts(action), expected, strict=True):
        yield attempt, decide(speaking, attempt.need).allowed, should
