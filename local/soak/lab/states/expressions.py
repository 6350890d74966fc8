"""JSONata in state machines: `{% … %}` anywhere in a template.

Most of our expressions only name a value, `$states.result.Payload.volumes`; such a path is followed here, the
others are evaluated by jsonata-python. A path that meets a list is left to jsonata-python too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from jsonata import Jsonata
from jsonata.utils import Utils

_PATH = re.compile(r"\$([A-Za-z_]\w*)((?:\.[A-Za-z_]\w*)*)")
_MISSING = object()


class QueryError(Exception):
    """States.QueryEvaluationError: the expression failed, or has no value."""


def evaluate(template: Any, names: Mapping[str, Any]) -> Any:
    """The template with every expression replaced by its value; raises QueryError."""
    if isinstance(template, str):
        if template.startswith("{%") and template.endswith("%}"):
            return _value(template[2:-2].strip(), names)
        return template
    if isinstance(template, dict):
        return {key: evaluate(value, names) for key, value in template.items()}
    if isinstance(template, list):
        return [evaluate(value, names) for value in template]
    return template


def _value(expression: str, names: Mapping[str, Any]) -> Any:
    found = follow(expression, names)
    return by_jsonata(expression, names) if found is _MISSING else found


def follow(expression: str, names: Mapping[str, Any]) -> Any:
    """The value of a plain path through objects; `_MISSING` for anything else."""
    match = _PATH.fullmatch(expression)
    if match is None or match[1] not in names:
        return _MISSING
    value = names[match[1]]
    for name in match[2].split(".")[1:]:
        if not isinstance(value, dict) or name not in value:
            return _MISSING
        value = value[name]
    return value


def by_jsonata(expression: str, names: Mapping[str, Any]) -> Any:
    """The value by jsonata-python. AWS refuses an expression without a value; null is one."""
    bindings = {name: Utils.NULL_VALUE if value is None else value for name, value in names.items()}
    try:
        value = _parsed(expression).evaluate(None, bindings)
        # A list around it tells null from nothing: an expression without a value leaves the list empty.
        exists = value is not None or bool(_parsed(f"[({expression})]").evaluate(None, bindings))
    except Exception as error:
        code = getattr(error, "error", None)
        raise QueryError(f"{code}: {error}" if code else str(error)) from error
    if not exists:
        raise QueryError(f"JSONata expression did not return a result: {expression}")
    return _plain(value)


def _plain(value: Any) -> Any:
    if value is Utils.NULL_VALUE:
        return None
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value


@cache
def _parsed(expression: str) -> Any:
    """With the function that Step Functions adds, as far as the state machines use any."""
    parsed = Jsonata(expression)
    parsed.register_lambda("parse", json.loads)
    return parsed
