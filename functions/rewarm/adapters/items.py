"""Python values as DynamoDB items, and back: floats become exact decimals, empty values survive."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any

from boto3.dynamodb.types import TypeDeserializer, TypeSerializer

_SERIALIZER = TypeSerializer()
_DESERIALIZER = TypeDeserializer()
_DIGITS = 38
"""DynamoDB keeps 38 significant digits (DynamoDB developer guide, "Naming rules and data types")."""


def to_item(values: Mapping[str, Any]) -> dict[str, Any]:
    """Attributes by name, as DynamoDB's API takes them."""
    return {name: to_attribute(value) for name, value in values.items()}


def to_attribute(value: Any) -> Any:
    """One attribute."""
    return _SERIALIZER.serialize(_storable(value))


def from_item(item: Mapping[str, Any]) -> dict[str, Any]:
    """Attributes by name, as JSON has them."""
    return {name: _plain(_DESERIALIZER.deserialize(value)) for name, value in item.items()}


def _storable(value: Any) -> Any:
    if isinstance(value, float):
        return Decimal(str(value)) if value - value == 0 else str(value)
    if isinstance(value, Decimal):
        return (
            round(value, _DIGITS - max(0, value.adjusted()) - 1)
            if len(value.as_tuple().digits) > _DIGITS
            else value
        )
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {str(key): _storable(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_storable(one) for one in value]
    return str(value) if isinstance(value, str) else value


def _plain(value: Any) -> Any:
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if isinstance(value, set):
        return sorted(_plain(one) for one in value)
    return value
