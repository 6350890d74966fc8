"""IAM's condition operators, as far as our policies use them.

Any other is refused when a policy is read.

IAM user guide, "Condition operators" and "Single-valued vs. multivalued context keys".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

Context = Mapping[str, str | Sequence[str]]
"""Condition key in small letters -> the request's value, or values. Keys of tags keep their own spelling."""
FOR_ALL, NULL = "ForAllValues:", "Null"


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
    "Bool": lambda value, wanted: value.lower() == wanted.lower(),
}


@dataclass(frozen=True, slots=True)
class Condition:
    """One operator on one key."""

    operator: str
    key: str
    values: tuple[str, ...]

    def holds(self, context: Context) -> bool:
        """A key that the request does not have fails the test, except one for all values.

        Null says whether the key must be absent. A key without values is.
        """
        found = context.get(normal(self.key))
        if self.operator == NULL:
            return (not found) == (self.values == ("true",))
        fits = OPERATORS[self.operator.removeprefix(FOR_ALL)]
        if self.operator.startswith(FOR_ALL):
            given = [found] if isinstance(found, str) else found or []
            return all(any(fits(value, wanted) for wanted in self.values) for value in given)
        if not isinstance(found, str):
            return False
        return any(fits(found, wanted) for wanted in self.values)


def normal(key: str) -> str:
    """Names of keys know no capital letters; what follows the slash, a tag's key, does."""
    name, slash, rest = key.partition("/")
    return name.lower() + slash + rest


def conditions(block: Mapping[str, Mapping[str, Any]]) -> tuple[Condition, ...]:
    """A Condition element. Raises ValueError for an operator that is not known here."""
    found = []
    for operator, tests in block.items():
        if operator != NULL and operator.removeprefix(FOR_ALL) not in OPERATORS:
            raise ValueError(f"the condition operator {operator} is none that is evaluated here")
        for key, values in tests.items():
            listed = values if isinstance(values, list) else [values]
            found.append(Condition(operator, key, tuple(_text(value) for value in listed)))
    return tuple(found)


def _text(value: Any) -> str:
    """JSON's true is IAM's text."""
    return str(value).lower() if isinstance(value, bool) else str(value)
