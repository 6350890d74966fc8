"""DynamoDB's expressions: conditions, updates and projections, each read once and kept.

DynamoDB developer guide, "Using expressions", "Condition and filter expressions, operators, and functions",
"Using update expressions". Only what the functions use is known; anything else is refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache, partial
from typing import Any

from moto.dynamodb.parsing.reserved_keywords import ReservedKeywords

Row = dict[str, str]
"""Attributes by name, each as the JSON that it has on the wire."""
Value = dict[str, Any]
"""As the wire has it: {"S": "text"}."""
_TOKEN = re.compile(r"\s*([#:]?\w+|<>|<=|>=|[-+=<>(),.\[\]])")
_COMPARED: dict[str, Callable[[Any, Any], bool]] = {
    "<": lambda one, other: one < other,
    "<=": lambda one, other: one <= other,
    ">": lambda one, other: one > other,
    ">=": lambda one, other: one >= other,
}
ORDERED = ("S", "N", "B")
SETS = ("SS", "NS", "BS")


class InvalidExpressionError(ValueError):
    """ValidationException."""


@dataclass(frozen=True, slots=True)
class Given:
    """The item as it is, and what the call names."""

    row: Row | None
    names: Mapping[str, str]
    values: Mapping[str, Value]

    def name(self, written: str) -> str:
        """Of an attribute."""
        if not written.startswith("#"):
            return written
        if written not in self.names:
            raise InvalidExpressionError(f"An expression attribute name is not defined: {written}")
        return self.names[written]

    def value(self, written: str) -> Value:
        """Of the call."""
        if written not in self.values:
            raise InvalidExpressionError(f"An expression attribute value is not defined: {written}")
        return self.values[written]


Read = Callable[[Given], Value | None]
Test = Callable[[Given], bool]


@dataclass(frozen=True, slots=True)
class Update:
    """What an update expression does, in its order: (word, path, what it takes)."""

    actions: tuple[tuple[str, str, int | None, Read | None], ...]
    used: frozenset[str]


@dataclass(frozen=True, slots=True)
class Condition:
    """Holds or not."""

    holds: Test
    used: frozenset[str]


@dataclass(slots=True)
class _Reader:
    """Reads one expression from left to right."""

    text: str
    tokens: list[str] = field(default_factory=list)
    at: int = 0

    def __post_init__(self) -> None:
        end = 0
        for found in _TOKEN.finditer(self.text):
            if found.start() != end:
                break
            self.tokens.append(found[1])
            end = found.end()
        if self.text[end:].strip():
            raise InvalidExpressionError(f"Syntax error in the expression, near: {self.text[end:]}")

    @property
    def used(self) -> frozenset[str]:
        return frozenset(token for token in self.tokens if token[0] in "#:")

    def ahead(self, further: int = 0) -> str:
        place = self.at + further
        return self.tokens[place] if place < len(self.tokens) else ""

    def take(self, wanted: str = "") -> str:
        token = self.ahead()
        if not token or (wanted and token != wanted):
            raise InvalidExpressionError(f"Syntax error in the expression; token: {token!r} in {self.text}")
        self.at += 1
        return token

    def has(self, word: str) -> bool:
        """Takes the word where it comes next."""
        if self.ahead().upper() != word:
            return False
        self.at += 1
        return True

    def attribute(self) -> str:
        name = self.take()
        if not re.fullmatch(r"#\w+|[A-Za-z]\w*", name):
            raise InvalidExpressionError(f"Syntax error in the expression; token: {name!r} in {self.text}")
        if name.upper() in _reserved():
            raise InvalidExpressionError(f"Attribute name is a reserved keyword; reserved keyword: {name}")
        return name

    def listed(self, read: Callable[[], Any]) -> list[Any]:
        found = [read()]
        while self.has(","):
            found.append(read())
        return found

    # --------------------------------------------------------------------------------------------- operands
    def operand(self) -> Read:
        """A value of the call, an attribute, or a function of them."""
        word = self.ahead()
        if self.ahead(1) == "(":
            self.at += 2
            made = _FUNCTIONS.get(word)
            if made is None:
                raise InvalidExpressionError(f"Invalid function name; function: {word}")
            read = made(*self.listed(self.operand))
            self.take(")")
            return read
        if word.startswith(":"):
            self.at += 1
            return lambda given: given.value(word)
        name = self.attribute()
        return lambda given: _attribute(given, name)

    def sum(self) -> Read:
        first = self.operand()
        if self.ahead() not in ("+", "-"):
            return first
        sign, second = self.take(), self.operand()

        def total(given: Given) -> Value:
            one, other = (_number(part(given)) for part in (first, second))
            return {"N": str(one + other if sign == "+" else one - other)}

        return total

    # ------------------------------------------------------------------------------------------- conditions
    def either(self) -> Test:
        tests = [self.both()]
        while self.has("OR"):
            tests.append(self.both())
        return tests[0] if len(tests) == 1 else lambda given: any(test(given) for test in tests)

    def both(self) -> Test:
        tests = [self.single()]
        while self.has("AND"):
            tests.append(self.single())
        return tests[0] if len(tests) == 1 else lambda given: all(test(given) for test in tests)

    def single(self) -> Test:
        if self.has("NOT"):
            test = self.single()
            return lambda given: not test(given)
        if self.has("("):
            test = self.either()
            self.take(")")
            return test
        word = self.ahead()
        if word in ("attribute_exists", "attribute_not_exists", "contains"):
            self.at += 1
            self.take("(")
            return self._function(word)
        return self._comparison()

    def _function(self, word: str) -> Test:
        if word == "contains":
            whole, part = self.listed(self.operand)
            self.take(")")
            return lambda given: _contains(whole(given), part(given))
        name, wanted = self.attribute(), word == "attribute_exists"
        self.take(")")
        return lambda given: (given.name(name) in (given.row or {})) is wanted

    def _comparison(self) -> Test:
        first = self.operand()
        if self.has("BETWEEN"):
            low = self.operand()
            self.take("AND")
            high = self.operand()
            return lambda given: (
                _compare(">=", first(given), low(given)) and _compare("<=", first(given), high(given))
            )
        sign = self.take()
        second = self.operand()
        if sign not in (*_COMPARED, "=", "<>"):
            raise InvalidExpressionError(f"Syntax error in the expression; token: {sign!r} in {self.text}")
        return lambda given: _compare(sign, first(given), second(given))


@cache
def condition(text: str) -> Condition:
    """A condition, also of a key. Raises InvalidExpressionError."""
    reader = _Reader(text)
    holds = reader.either()
    _ended(reader)
    return Condition(holds, reader.used)


@cache
def projection(text: str) -> tuple[str, ...]:
    """The attributes that are wanted."""
    reader = _Reader(text)
    found = tuple(reader.listed(reader.attribute))
    _ended(reader)
    return found


@cache
def update(text: str) -> Update:
    """An update. Raises InvalidExpressionError."""
    reader = _Reader(text)
    actions: list[tuple[str, str, int | None, Read | None]] = []
    words: list[str] = []
    while reader.ahead():
        word = reader.take().upper()
        if word not in ("SET", "REMOVE", "ADD", "DELETE") or word in words:
            raise InvalidExpressionError(f"Syntax error in the expression; token: {word!r} in {text}")
        words.append(word)
        actions += reader.listed(partial(_action, reader, word))
    if not actions:
        raise InvalidExpressionError("Invalid UpdateExpression: The expression can not be empty;")
    return Update(tuple(actions), reader.used)


def _action(reader: _Reader, word: str) -> tuple[str, str, int | None, Read | None]:
    name = reader.attribute()
    if word == "REMOVE":
        index = None
        if reader.has("["):
            index = int(reader.take())
            reader.take("]")
        return word, name, index, None
    if word == "SET":
        reader.take("=")
        return word, name, None, reader.sum()
    return word, name, None, reader.operand()


def _ended(reader: _Reader) -> None:
    if reader.ahead():
        raise InvalidExpressionError(
            f"Syntax error in the expression; token: {reader.ahead()!r} in {reader.text}"
        )


@cache
def _reserved() -> frozenset[str]:
    return frozenset(ReservedKeywords.get_reserved_keywords())


def _attribute(given: Given, name: str) -> Value | None:
    text = (given.row or {}).get(given.name(name))
    return None if text is None else json.loads(text)


def _number(value: Value | None) -> Decimal:
    if value is None:
        raise InvalidExpressionError(
            "The provided expression refers to an attribute that does not exist in the item"
        )
    if "N" not in value:
        raise InvalidExpressionError("An operand in the update expression has an incorrect data type")
    return Decimal(value["N"])


def _plain(value: Value) -> tuple[str, Any]:
    """(type, what can be compared): numbers by their value, sets without order."""
    ((kind, inner),) = value.items()
    if kind == "N":
        return kind, Decimal(inner)
    if kind in SETS:
        return kind, frozenset(map(Decimal, inner)) if kind == "NS" else frozenset(inner)
    if kind == "L":
        return kind, [_plain(one) for one in inner]
    if kind == "M":
        return kind, {name: _plain(one) for name, one in inner.items()}
    return kind, inner


def _compare(sign: str, one: Value | None, other: Value | None) -> bool:
    """What is missing is unlike everything, and neither smaller nor larger."""
    if one is None or other is None:
        return sign == "<>"
    (kind, mine), (their_kind, theirs) = _plain(one), _plain(other)
    if sign in ("=", "<>"):
        return ((kind, mine) == (their_kind, theirs)) is (sign == "=")
    return kind == their_kind and kind in ORDERED and _COMPARED[sign](mine, theirs)


def _contains(whole: Value | None, part: Value | None) -> bool:
    if whole is None or part is None:
        return False
    (kind, inner), (part_kind, member) = _plain(whole), _plain(part)
    if kind in SETS:
        return kind[0] == part_kind and member in inner
    return kind == part_kind == "S" and member in inner


def _size(of: Read) -> Read:
    def size(given: Given) -> Value | None:
        value = of(given)
        return None if value is None else {"N": str(len(next(iter(value.values()))))}

    return size


def _if_not_exists(of: Read, otherwise: Read) -> Read:
    return lambda given: found if (found := of(given)) is not None else otherwise(given)


def _list_append(one: Read, other: Read) -> Read:
    def appended(given: Given) -> Value:
        lists = [one(given), other(given)]
        if any(part is None or "L" not in part for part in lists):
            raise InvalidExpressionError("An operand in the update expression has an incorrect data type")
        return {"L": [member for part in lists if part for member in part["L"]]}

    return appended


_FUNCTIONS: dict[str, Callable[..., Read]] = {
    "size": _size,
    "if_not_exists": _if_not_exists,
    "list_append": _list_append,
}
