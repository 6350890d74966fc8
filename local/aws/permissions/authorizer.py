"""Whether a principal may do what a call needs, and what was asked for.

A decision depends on nothing but the need, so it is made once for each.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from local.aws.permissions import reference
from local.aws.permissions.policies import Need, Statement
from local.aws.permissions.reference import NO_RESOURCE

ALLOW, DENY = "Allow", "Deny"
Policies = Mapping[str, tuple[Statement, ...]]
"""Principal -> the statements of all its policies."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What became of one need."""

    allowed: bool
    reason: str = ""
    """Why not, in AWS's words."""
    by: tuple[str, ...] = ()
    """The statements that allow it, or deny it explicitly."""


class Authorizer:
    """IAM of one account."""

    def __init__(self, policies: Policies) -> None:
        self.policies = policies
        self.asked: dict[tuple[object, ...], tuple[str, Need, Decision]] = {}
        """Everything that was decided so far."""

    def authorize(
        self, principal: str, action: str, resource: str = NO_RESOURCE, context: Mapping[str, object] = {}
    ) -> Decision:
        """Whether the principal may do this."""
        return self.decide(principal, Need(action, resource, context))  # type: ignore[arg-type]

    def decide(self, principal: str, need: Need) -> Decision:
        """The same, for a need."""
        key = principal, *need.key
        known = self.asked.get(key)
        if known is None:
            known = self.asked[key] = principal, need, decide(self.policies.get(principal, ()), need)
        return known[2]

    def refusal(self, principal: str, needs: Iterable[Need]) -> str | None:
        """Why a call with all these needs is refused; None where it is allowed."""
        for need in needs:
            decision = self.decide(principal, need)
            if not decision.allowed:
                return f"{principal} is not authorized to perform: {need}{decision.reason}"
        return None


def decide(statements: Iterable[Statement], need: Need) -> Decision:
    """IAM user guide, "Policy evaluation logic": denied unless allowed, and a denial overrides all."""
    known = reference.action(need.action)
    if known is None:
        return Decision(False, ", which is no action of AWS")
    if known.type_of(need.resource) is None:
        return Decision(False, ", a resource that the action does not support")
    applying = [one for one in statements if one.applies(need)]
    denying = tuple(one.source for one in applying if one.effect == DENY)
    if denying:
        return Decision(False, " with an explicit deny in an identity-based policy", by=denying)
    allowing = tuple(one.source for one in applying if one.effect == ALLOW)
    if not allowing:
        return Decision(False, " because no identity-based policy allows the action")
    return Decision(True, by=allowing)
