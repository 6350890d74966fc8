"""Requests against botocore's input shapes: what is missing, out of range or not in an enumeration."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from botocore.model import ListShape, MapShape, OperationModel, Shape, StructureShape

from local.aws.region import ApiError

FREE_ENUMS = frozenset({"VolumeType", "InstanceType"})
"""EC2 has its own error codes for these."""


def check(operation: OperationModel, params: dict[str, Any]) -> None:
    """Raise the service's error for the first member that does not fit the model."""
    shape = operation.input_shape
    if not isinstance(shape, StructureShape):
        return
    for problem in _structure(shape, params, ""):
        raise _error(operation.service_model.service_name, *problem)


Problem = tuple[str, str, bool]
"""(member, what is wrong, whether it is missing)"""


def _structure(shape: StructureShape, value: dict[str, Any], path: str) -> Iterator[Problem]:
    for name in shape.required_members:
        if value.get(name) is None:
            yield f"{path}{name}", "Member must not be null", True
    for name, member in shape.members.items():
        if value.get(name) is not None:
            yield from _value(member, value[name], f"{path}{name}")


def _value(shape: Shape, value: Any, path: str) -> Iterator[Problem]:
    if isinstance(shape, StructureShape):
        yield from _structure(shape, value, f"{path}.")
    elif isinstance(shape, ListShape):
        yield from _range(shape, len(value), path, "length")
        for index, item in enumerate(value, 1):
            yield from _value(shape.member, item, f"{path}.{index}")
    elif isinstance(shape, MapShape):
        for key, item in value.items():
            yield from _value(shape.value, item, f"{path}.{key}")
    elif shape.type_name == "string":
        yield from _string(shape, value, path)
    elif shape.type_name in ("integer", "long"):
        yield from _range(shape, value, path, "value")


def _string(shape: Shape, value: Any, path: str) -> Iterator[Problem]:
    if not isinstance(value, str):
        yield path, f"Value {value!r} must be a string", False
        return
    allowed = getattr(shape, "enum", None)
    if allowed and value not in allowed and path not in FREE_ENUMS:
        yield path, f"Value '{value}' must satisfy enum value set: [{', '.join(allowed)}]", False
    pattern = shape.metadata.get("pattern")
    if pattern and not _matches(pattern, value):
        yield path, f"Value '{value}' must satisfy regular expression pattern: {pattern}", False
    yield from _range(shape, len(value), path, "length")


def _matches(pattern: str, value: str) -> bool:
    """Smithy's patterns are unanchored; one that Python can't read is not held against the request."""
    try:
        return re.search(pattern, value) is not None
    except re.error:
        return True


def _range(shape: Shape, size: int, path: str, what: str) -> Iterator[Problem]:
    low, high = shape.metadata.get("min"), shape.metadata.get("max")
    if low is not None and size < low:
        yield path, f"Member must have {what} greater than or equal to {low}", False
    if high is not None and size > high:
        yield path, f"Member must have {what} less than or equal to {high}", False


def _error(service: str, member: str, problem: str, missing: bool) -> ApiError:  # noqa: FBT001
    if service == "ec2":
        if missing:
            return ApiError("MissingParameter", f"The request must contain the parameter {member}")
        return ApiError("InvalidParameterValue", f"The parameter {member} is invalid: {problem}")
    reason = "INVALID_PARAMETER_VALUE" if service == "ebs" else None
    name = member[:1].lower() + member[1:]
    message = f"1 validation error detected: Value at '{name}' failed to satisfy constraint: {problem}"
    return ApiError("ValidationException", message, reason=reason)
