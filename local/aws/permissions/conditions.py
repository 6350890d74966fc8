"""IAM's condition operators, as far as our policies use them.

Any other is refused when a policy is read, and so is a policy variable.

IAM user guide, "Condition operators", "Set operators for multivalued context keys" and "AWS global condition
context keys".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

Context = Mapping[str, str | Sequence[str]]
"""Condition key as `normal` writes it -> the request's value, or values."""
FOR_ALL, FOR_ANY, NULL = "ForAllValues:", "ForAnyValue:", "Null"
ARN_PARTS = 6


class Either(tuple[str, ...]):
    """The values of tags whose keys differ by case alone: IAM compares one, and nobody knows which."""

    __slots__ = ()


@cache
def wildcard(pattern: str) -> re.Pattern[str]:
    """`*` stands for any text, `?` for one character."""
    text = "".join(".*" if char == "*" else "." if char == "?" else re.escape(char) for char in pattern)
    return re.compile(text, re.DOTALL)


def _like(value: str, pattern: str) -> bool:
    return wildcard(pattern).fullmatch(value) is not None


OPERATORS: dict[str, Callable[[str, str], bool]] = {
    "StringEquals": lambda value, wanted: value == wanted,
    "StringEqualsIgnoreCase": lambda value, wanted: value.casefold() == wanted.casefold(),
    "StringLike": _like,
    "ArnLike": _like,
    "ArnEquals": _like,
    "Bool": lambda value, wanted: value.lower() == wanted.lower(),
}
NEGATED = {
    "StringNotEquals": "StringEquals",
    "StringNotEqualsIgnoreCase": "StringEqualsIgnoreCase",
    "StringNotLike": "StringLike",
    "ArnNotLike": "ArnLike",
    "ArnNotEquals": "ArnEquals",
}
"""What holds where the other does not, also without the key."""


@dataclass(frozen=True, slots=True)
class Condition:
    """One operator on one key."""

    operator: str
    key: str
    values: tuple[str, ...]

    def holds(self, context: Context) -> bool:
        """A key that the request does not have fails the test, but for all values, negated, or asked by Null.

        Null says whether the key must be absent. A key without values is.
        """
        found = context.get(normal(self.key))
        if self.operator == NULL:
            return (not found) == (self.values == ("true",))
        given = [found] if isinstance(found, str) else found or []
        if self.operator.startswith(FOR_ALL):
            return all(self._fits(value) for value in given)
        if self.operator.startswith(FOR_ANY) or isinstance(found, Either):
            return any(self._fits(value) for value in given)
        if not given:
            return self.operator in NEGATED
        return isinstance(found, str) and self._fits(found)

    def _fits(self, value: str) -> bool:
        operator = self.operator.removeprefix(FOR_ALL).removeprefix(FOR_ANY)
        test = OPERATORS[NEGATED.get(operator, operator)]
        return any(test(value, wanted) for wanted in self.values) != (operator in NEGATED)


def normal(key: str) -> str:
    """Names of keys know no capital letters, and neither do keys of tags after the slash.

    AWS says of `aws:ResourceTag/tag-key`, `aws:RequestTag/tag-key` and `aws:PrincipalTag/tag-key`: "Tag keys
    are not case-sensitive". A condition on `TagKey1` matches a tag named TagKey1 or tagkey1, but not both
    (IAM user guide, "AWS global condition context keys"). Values know capital letters; so does `aws:TagKeys`.
    """
    return key.lower()


def of_tags(kind: str, tags: Mapping[str, str]) -> dict[str, str | Sequence[str]]:
    """The context of tags. `kind` is `aws:resourcetag` or `aws:requesttag`."""
    found: dict[str, list[str]] = {}
    for key, value in tags.items():
        found.setdefault(normal(f"{kind}/{key}"), []).append(value)
    return {key: values[0] if len(values) == 1 else Either(values) for key, values in found.items()}


def conditions(block: Mapping[str, Mapping[str, Any]]) -> tuple[Condition, ...]:
    """A Condition element. Raises ValueError for an operator that is not known here."""
    found = []
    for operator, tests in block.items():
        plain = operator.removeprefix(FOR_ALL).removeprefix(FOR_ANY)
        if operator != NULL and plain not in OPERATORS and plain not in NEGATED:
            raise ValueError(f"the condition operator {operator} is none that is evaluated here")
        for key, values in tests.items():
            listed = values if isinstance(values, list) else [values]
            found.append(Condition(operator, key, tuple(_text(value) for value in listed)))
    return tuple(found)


def _text(value: Any) -> str:
    """JSON's true is IAM's text."""
    return without_variables(str(value).lower() if isinstance(value, bool) else str(value))


def without_variables(text: str) -> str:
    """The text. Raises ValueError for `${…}`: IAM puts the request's value there ("Policy variables")."""
    if "${" in text:
        raise ValueError(f"the policy variable in {text} is none that is evaluated here")
    return text
