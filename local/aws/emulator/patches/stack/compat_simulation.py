"""SimulatePrincipalPolicy decides as the embedded AWS itself does.

Why: the emulator's own answer knows no condition keys and looks at the first resource only, so it refuses
what every policy with a condition allows. On AWS each action is evaluated for each resource, with the context
that is given (IAM API reference, SimulatePrincipalPolicy). Boundaries and service control policies are not
modelled.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol
from xml.sax.saxutils import escape

from local.aws.emulator import seam

_NAME = "SimulatePrincipalPolicy"


class Simulator(Protocol):
    """IAM's decisions."""

    def simulated(
        self, principal: str, action: str, resource: str, context: Mapping[str, str | Sequence[str]]
    ) -> str:
        """`allowed`, `explicitDeny` or `implicitDeny`."""


def apply(simulator: Simulator) -> None:
    """Mend the emulator's IAM."""
    iam = seam.module("services.iam")
    known = seam.known(iam, "_simulate_principal_policy", '_p(p, "PolicySourceArn")', "IsTruncated")

    def simulate(params: Mapping[str, Any]) -> Any:
        def members(name: str) -> list[str]:
            return list(_members(iam._p, params, name))

        principal = iam._p(params, "PolicySourceArn")
        if not _is_known(iam, principal):
            return iam._error(404, "NoSuchEntity", f"{principal} cannot be found.", ns="iam")
        context = _context(iam._p, params)
        results = "".join(
            f"<member><EvalActionName>{escape(action)}</EvalActionName>"
            f"<EvalResourceName>{escape(resource)}</EvalResourceName>"
            f"<EvalDecision>{simulator.simulated(principal, action, resource, context)}</EvalDecision>"
            "<MatchedStatements/><MissingContextValues/></member>"
            for action in members("ActionNames")
            for resource in members("ResourceArns") or ["*"]
        )
        body = f"<EvaluationResults>{results}</EvaluationResults><IsTruncated>false</IsTruncated>"
        return iam._xml(200, f"{_NAME}Response", f"<{_NAME}Result>{body}</{_NAME}Result>", ns="iam")

    simulate.__wrapped__ = known  # type: ignore[attr-defined]
    seam.add_entry(iam._IAM_HANDLERS, _NAME, simulate)


def _is_known(iam: Any, principal: str) -> bool:
    kind, _, name = principal.rpartition(":")[2].partition("/")
    return name.rpartition("/")[2] in {"role": iam._roles, "user": iam._users}.get(kind, {})


def _members(value: Any, params: Mapping[str, Any], name: str) -> Iterator[str]:
    """A list in the query protocol: `ActionNames.member.1` and so on."""
    number = 1
    while found := value(params, f"{name}.member.{number}"):
        yield found
        number += 1


def _context(value: Any, params: Mapping[str, Any]) -> dict[str, str | Sequence[str]]:
    context: dict[str, str | Sequence[str]] = {}
    number = 1
    while name := value(params, f"ContextEntries.member.{number}.ContextKeyName"):
        entry = f"ContextEntries.member.{number}"
        values = list(_members(value, params, f"{entry}.ContextKeyValues"))
        is_list = str(value(params, f"{entry}.ContextKeyType")).endswith("List")
        context[name] = values if is_list or not values else values[0]
        number += 1
    return context
