"""DynamoDB's attribute values in an answer, as botocore hands them on.

Why: botocore looks in each value for all ten types and walks through the model for each. On the wire a value
is what botocore makes of it, `{"S": "text"}`, all but bytes and sets, which are left to botocore, and so is
all that is not well-formed.
"""

from __future__ import annotations

from typing import Any

from botocore.parsers import BaseJSONParser

_PARSER: Any = BaseJSONParser
_ORIGINAL = _PARSER._handle_structure
_PLAIN: dict[str, tuple[type, ...]] = {"S": (str,), "N": (str,), "BOOL": (bool,), "NULL": (bool,)}


def _structure(self: Any, shape: Any, value: Any) -> Any:
    if shape.name == "AttributeValue":
        return _attribute(self, shape, value)
    return _ORIGINAL(self, shape, value)


def _attribute(parser: Any, shape: Any, value: Any) -> Any:
    if type(value) is dict and len(value) == 1:
        ((kind, held),) = value.items()
        if type(held) in _PLAIN.get(kind, ()):
            return {kind: held}
        if kind == "M" and type(held) is dict:
            return {"M": {name: _attribute(parser, shape, one) for name, one in held.items()}}
        if kind == "L" and type(held) is list:
            return {"L": [_attribute(parser, shape, one) for one in held]}
    return _ORIGINAL(parser, shape, value)


PATCHES: tuple[tuple[Any, str, Any], ...] = ((_PARSER, "_handle_structure", _structure),)
