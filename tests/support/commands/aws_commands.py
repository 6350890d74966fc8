"""A command line of the AWS CLI, read as botocore's model of the operation says; nothing is called."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import botocore.session
import jmespath
from botocore import xform_name
from botocore.model import OperationModel, ServiceModel, Shape
from botocore.utils import ArgumentGenerator
from botocore.validate import ParamValidator

NOT_OPERATIONS = {
    ("configure", "export-credentials"): "prints credentials",
    ("logs", "tail"): "asks filter-log-events again and again",
    ("s3", "cp"): "copies with several operations",
    ("s3", "mb"): "makes a bucket, with the Region as S3 wants it",
    ("s3", "sync"): "compares and copies with several operations",
    ("s3", "rb"): "empties a bucket with several operations",
}
"""Commands that the AWS CLI itself has, and what they do: no model says which options they take."""
_GLOBAL = {"--output": ("text", "json", "table"), "--region": (), "--profile": ()}
_BY_FILE = "--cli-input-json"
"""The parameters are in a file; the tests of the page that shows it hold it against the model."""


@cache
def _service(name: str) -> ServiceModel:
    return botocore.session.Session().get_service_model(name)


def _dashed(name: str) -> str:
    return xform_name(name, "-")


def operation_of(words: Sequence[str]) -> tuple[OperationModel | None, Sequence[str]]:
    """The operation that `aws <words>` calls, and the rest of the words; None for the CLI's own commands."""
    service, command, *rest = words
    if (service, command) in NOT_OPERATIONS:
        return None, rest
    model = _service("s3" if service == "s3api" else service)
    operations = {_dashed(name): name for name in model.operation_names}
    if command == "wait":
        waiters = botocore.session.Session().get_waiter_model(service)
        named = {_dashed(name): waiters.get_waiter(name).operation for name in waiters.waiter_names}
        return model.operation_model(named[rest[0]]), rest[1:]
    operation = model.operation_model(operations[command])
    return operation, [_spelled_out(word, operation) for word in rest]


def _spelled_out(word: str, operation: OperationModel) -> str:
    """`--no-name` of the AWS CLI as `--name=false`, where the operation has such a truth."""
    name = _members(operation).get(word.removeprefix("--no-"))
    is_truth = name is not None and operation.input_shape.members[name].type_name == "boolean"
    return f"--{word.removeprefix('--no-')}=false" if word.startswith("--no-") and is_truth else word


def complaints_about(words: Sequence[str]) -> str:
    """What AWS's model says against the command line; empty where it says nothing."""
    operation, rest = operation_of(words)
    if operation is None:
        return ""
    given, members = dict(_options(rest)), _members(operation)
    for option, values in given.items():
        if option.removeprefix("--") in members or option in {"--query", _BY_FILE}:
            continue
        if option not in _GLOBAL or (_GLOBAL[option] and values[0] not in _GLOBAL[option]):
            return f"{operation.name} knows no option {option} {values}"
    # botocore fills in the tokens that make a call idempotent.
    parameters = dict.fromkeys(operation.idempotent_members, "token") | parameters_of(words)
    report = ParamValidator().validate(parameters, operation.input_shape)
    if report.has_errors() and _BY_FILE not in given:
        return str(report.generate_report())
    return _about_query(given.get("--query", ()), operation)


def parameters_of(words: Sequence[str]) -> dict[str, Any]:
    """What `aws <words>` sends to the operation."""
    operation, rest = operation_of(words)
    assert operation is not None, f"{words} call no single operation"
    members = _members(operation)
    given = {members.get(option.removeprefix("--")): values for option, values in _options(rest)}
    shapes = operation.input_shape.members
    return {name: _value(shapes[name], values) for name, values in given.items() if name is not None}


def _members(operation: OperationModel) -> dict[str, str]:
    """Option without its dashes -> parameter."""
    return {_dashed(name): name for name in operation.input_shape.members}


def _options(words: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Option -> values, as they stand behind it."""
    option, values = None, []
    for word in words:
        if word.startswith("--"):
            if option is not None:
                yield option, values
            option, _, first = word.partition("=")
            values = [first] if first else []
        else:
            assert option is not None, f"{word} stands behind no option"
            values.append(word)
    if option is not None:
        yield option, values


def _value(shape: Shape, words: Sequence[str]) -> Any:
    """The parameter that these words are: JSON, the AWS CLI's shorthand, or plain text."""
    if words and words[0].startswith(("[", "{")):
        return json.loads(words[0])
    if shape.type_name == "list":
        return [_value(shape.member, [word]) for word in words]
    if shape.type_name == "structure":
        return _typed(shape, _Shorthand(words[0]).pairs())
    assert words or shape.type_name == "boolean", f"{shape.name} has no value"
    return _typed(shape, words[0] if words else "true")


def _typed(shape: Shape, value: Any) -> Any:
    """Text as the number or the truth that the model asks for."""
    if shape.type_name == "structure":
        return {
            name: _typed(shape.members[name], one) for name, one in value.items() if name in shape.members
        } | {name: one for name, one in value.items() if name not in shape.members}
    if shape.type_name == "list":
        return [_typed(shape.member, one) for one in (value if isinstance(value, list) else [value])]
    if not isinstance(value, str):
        return value
    kinds: dict[str, Any] = {"integer": int, "long": int, "double": float, "float": float}
    if shape.type_name == "boolean":
        return {"true": True, "false": False}[value]
    return kinds.get(shape.type_name, str)(value)


class _Shorthand:
    """The AWS CLI's shorthand: `Key=value,Key={Inner=value},Key='quoted',Key=first,second`."""

    def __init__(self, text: str) -> None:
        self._tokens = re.findall(r"'(?:[^'\\]|\\.)*'|[{}=,]|[^{}=,']+", text)

    def pairs(self) -> dict[str, Any]:
        """All pairs up to the end, or to the brace that closes them."""
        found: dict[str, Any] = {}
        while self._tokens and self._tokens[0] != "}":
            key, equals = self._tokens.pop(0), self._tokens.pop(0)
            assert equals == "=", f"{key} has no value"
            found[key] = self._taken()
            if self._tokens and self._tokens[0] == ",":
                self._tokens.pop(0)
        return found

    def _taken(self) -> Any:
        if self._tokens[0] == "{":
            self._tokens.pop(0)
            inside = self.pairs()
            self._tokens.pop(0)
            return inside
        values = [self._text()]
        while len(self._tokens) > 1 and self._tokens[0] == "," and self._tokens[2:3] != ["="]:
            self._tokens.pop(0)
            values.append(self._text())
        return values if len(values) > 1 else values[0]

    def _text(self) -> str:
        token = self._tokens.pop(0)
        return token[1:-1].replace("\\'", "'") if token.startswith("'") else token


def _about_query(query: Sequence[str], operation: OperationModel) -> str:
    """A query must find something in an answer that has every field."""
    if not query:
        return ""
    answer = ArgumentGenerator().generate_skeleton(operation.output_shape)
    wanted = re.sub(r"\?(\w+)==?'[^']*'", r"?\1==''", query[0])
    wanted = re.sub(r"\?starts_with\((\w+), '[^']*'\)", r"?\1==''", wanted)
    found = jmespath.search(wanted, answer)
    return "" if _is_full(found) else f"the query {query[0]} finds {found!r} in {operation.name}'s answer"


def _is_full(found: Any) -> bool:
    return all(map(_is_full, found)) and bool(found) if isinstance(found, list) else found is not None
