"""Items of moto's tables: copied, measured and told without detours.

Why: moto copies an item by the general copy.deepcopy, copies each part again on each level when it tells it
as JSON, and wraps each part anew on each level to measure it. An item is a tree, and one walk through it
comes to the same.
"""

from __future__ import annotations

import base64
import copy
from typing import Any

import moto.dynamodb.models.dynamo_type
import moto.dynamodb.models.utilities
import moto.dynamodb.responses
from moto.dynamodb.models.dynamo_type import DynamoType
from moto.dynamodb.models.utilities import bytesize, dynamo_to_dict

_SIZE: Any = DynamoType.size
_TO_DICT: Any = dynamo_to_dict
_BYTESIZE: Any = bytesize
_SETS = frozenset({"SS", "NS", "BS"})
_ATOMS = frozenset({str, int, float, bool, bytes, type(None)})


def _begin(self: DynamoType, type_as_dict: Any) -> None:
    """DynamoType.__init__."""
    if type(type_as_dict) is DynamoType:
        kind, value = type_as_dict.type, type_as_dict.value
    else:
        kind, value = list(type_as_dict.items())[0]  # noqa: RUF015 - an IndexError, as moto's
    if kind == "L":
        value = [DynamoType(one) for one in value]
    elif kind == "M":
        value = {name: DynamoType(one) for name, one in value.items()}
    self.type, self.value = kind, value


def _copied(self: DynamoType, memo: dict[int, Any]) -> DynamoType:
    """DynamoType.__deepcopy__."""
    made = DynamoType.__new__(DynamoType)
    made.type, value = self.type, self.value
    if made.type == "L":
        made.value = [_copy(one, memo) for one in value]
    elif made.type == "M":
        made.value = {name: _copy(one, memo) for name, one in value.items()}
    else:
        made.value = list(value) if made.type in _SETS else value
    return made


def _copy(value: Any, memo: dict[int, Any]) -> Any:
    return _copied(value, memo) if type(value) is DynamoType else copy.deepcopy(value, memo)


def _as_json(self: DynamoType) -> dict[str, Any]:
    """DynamoType.to_regular_json."""
    value = self.value
    if isinstance(value, dict):
        value = {name: _json_or_copy(one) for name, one in value.items()}
    elif isinstance(value, list):
        value = [_json_or_copy(one) for one in value]
    elif type(value) not in _ATOMS:
        value = copy.deepcopy(value)
    if self.type == "B" and isinstance(value, str):
        value = base64.b64decode(value)
    return {self.type: value}


def _json_or_copy(value: Any) -> Any:
    if type(value) is DynamoType:
        return _as_json(value)
    return value if type(value) in _ATOMS else copy.deepcopy(value)


def _size(self: DynamoType) -> int:
    """DynamoType.size."""
    kind, value = self.type, self.value
    if kind == "M":
        return sum([_bytes(name) + DynamoType.size(one) for name, one in value.items()])
    if kind == "L":
        return sum([DynamoType.size(one) for one in value])
    if type(value) is str:
        return len(value) if value.isascii() or kind == "N" else _BYTESIZE(value)
    if type(value) is bool:
        return 1
    found: int = _SIZE(self)
    return found


def _bytes(value: Any) -> int:
    """The function bytesize."""
    found: int = len(value) if type(value) is str and value.isascii() else _BYTESIZE(value)
    return found


def _plain(value: Any) -> Any:
    """The function dynamo_to_dict."""
    kind = type(value)
    if kind in _ATOMS:
        return value
    if kind is dict:
        return {name: one if type(one) in _ATOMS else _plain(one) for name, one in value.items()}
    if kind is list:
        return [one if type(one) in _ATOMS else _plain(one) for one in value]
    if kind is DynamoType and value.type not in ("B", "BS"):
        return {value.type: _plain(value.value)}
    return _TO_DICT(value)


PATCHES: tuple[tuple[Any, str, Any], ...] = (
    (DynamoType, "__init__", _begin),
    (DynamoType, "__deepcopy__", _copied),
    (DynamoType, "to_regular_json", _as_json),
    (DynamoType, "size", _size),
    (moto.dynamodb.models.dynamo_type, "bytesize", _bytes),
    (moto.dynamodb.models.utilities, "dynamo_to_dict", _plain),
    (moto.dynamodb.responses, "dynamo_to_dict", _plain),
)
