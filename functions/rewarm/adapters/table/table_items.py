"""Items of the one table: Python values as DynamoDB items and back, conditional writes, and reads.

Floats become exact decimals, and empty values survive. A conditional write says whether it held.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal

from boto3.dynamodb.types import TypeDeserializer, TypeSerializer
from botocore.exceptions import ClientError

from rewarm.adapters.aws_errors import code_of, naming_errors
from rewarm.domain.errors import ThrottledError
from rewarm.ports import JsonObject

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

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
        return {str(key): _storable(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_storable(item) for item in value]
    return str(value) if isinstance(value, str) else value


def _plain(value: Any) -> Any:
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, set):
        return sorted(_plain(item) for item in value)
    return value


MOST_KEYS = 100
"""botocore BatchGetItem: "a maximum of 100 items" in a call."""
MOST_ATTEMPTS = 6
FIRST_PAUSE_SECONDS = 0.05
"""botocore BatchGetItem, UnprocessedKeys: "we strongly recommend that you use an exponential backoff"."""
_KEY_BYTES = 2_048
"""DynamoDB developer guide, "Constraints": a partition key has up to 2048 bytes."""
_OWN_FIELDS = ("pk", "expiresAt")


def unless_refused(call: Callable[..., Mapping[str, Any]], **request: Any) -> Mapping[str, Any] | None:
    """What the call answers; None where its condition does not hold."""
    with naming_errors():
        try:
            return call(**request)
        except ClientError as error:
            if code_of(error) == "ConditionalCheckFailedException":
                return None
            raise


def unless_changed(version: str | None) -> JsonObject:
    """A version is never reused, so an item that was deleted and made again counts as changed."""
    if version is None:
        return {"ConditionExpression": "attribute_not_exists(pk)"}
    return {
        "ConditionExpression": "version = :version",
        "ExpressionAttributeValues": {":version": {"S": version}},
    }


class TableItems:
    """What adapters of the table are made of."""

    def __init__(
        self,
        dynamodb: DynamoDBClient,
        table: str,
        clock: Callable[[], float] = time.time,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._dynamodb = dynamodb
        self._table = table
        self._clock = clock
        self._sleep = sleep

    def _put_new(self, key: str, values: Mapping[str, Any], seconds: int) -> bool:
        put = unless_refused(
            self._dynamodb.put_item,
            TableName=self._table,
            Item=to_item({**values, "pk": key, "expiresAt": self._expiry(seconds)}),
            ConditionExpression="attribute_not_exists(pk)",
        )
        return put is not None

    def _put_whole(self, key: str, values: Mapping[str, Any], version: str | None, seconds: int) -> bool:
        """Replaces the whole item; False if somebody has written it since it had this version."""
        item = {**values, "pk": key, "version": uuid.uuid4().hex, "expiresAt": self._expiry(seconds)}
        request = {"TableName": self._table, "Item": to_item(item), **unless_changed(version)}
        return unless_refused(self._dynamodb.put_item, **request) is not None

    def _get(self, key: str, names: Sequence[str] = ()) -> JsonObject | None:
        """The whole item, or only what it has under the given names."""
        if is_too_long(key):
            return None
        request: dict[str, Any] = {}
        if names:
            aliases = {f"#n{index}": name for index, name in enumerate(names)}
            request = {"ProjectionExpression": ", ".join(aliases), "ExpressionAttributeNames": aliases}
        with naming_errors():
            answer = self._dynamodb.get_item(
                TableName=self._table, Key=key_of(key), ConsistentRead=True, **request
            )
        item = answer.get("Item")
        return None if item is None else _values(item)

    def _get_many(self, keys: Sequence[str]) -> Iterator[JsonObject]:
        """The items that exist, in any order. Raises ThrottledError if a part stays unanswered."""
        for first in range(0, len(keys), MOST_KEYS):
            yield from self._get_some([key_of(key) for key in keys[first : first + MOST_KEYS]])

    def _get_named(self, keys: Sequence[str], names: Sequence[str] = ()) -> Iterator[tuple[str, JsonObject]]:
        """Each item that exists, or only these attributes of it, with its key."""
        wanted = {f"#n{index}": name for index, name in enumerate(("pk", *names))}
        some = {"ProjectionExpression": ", ".join(wanted), "ExpressionAttributeNames": wanted}
        only: Mapping[str, Any] = some if names else {}
        for first in range(0, len(keys), MOST_KEYS):
            for item in self._get_items([key_of(key) for key in keys[first : first + MOST_KEYS]], **only):
                yield item["pk"]["S"], _values(item)

    def _get_some(self, keys: Sequence[Mapping[str, Any]]) -> Iterator[JsonObject]:
        yield from map(_values, self._get_items(keys))

    def _get_items(self, keys: Sequence[Mapping[str, Any]], **only: Any) -> Iterator[Mapping[str, Any]]:
        """An answer holds 16 MB; what it leaves out for that or under load, the next call asks for."""
        wanted: Mapping[str, Any] = {self._table: {"Keys": keys, "ConsistentRead": True, **only}}
        for attempt in range(MOST_ATTEMPTS):
            if attempt:
                self._sleep(FIRST_PAUSE_SECONDS * 2 ** (attempt - 1))
            with naming_errors():
                answer = self._dynamodb.batch_get_item(RequestItems=wanted)
            yield from answer["Responses"].get(self._table, [])
            wanted = answer.get("UnprocessedKeys") or {}
            if not wanted:
                return
        raise ThrottledError("BatchGetItem: DynamoDB left a part of the items unanswered")

    def _update(
        self,
        key: str,
        expression: str,
        *,
        values: Mapping[str, Any],
        names: Mapping[str, str] | None = None,
        condition: str | None = None,
        returning: Literal["ALL_NEW", "NONE"] = "NONE",
    ) -> JsonObject | None:
        """The item after the update if that is asked for; None if the condition does not hold."""
        request: dict[str, Any] = {
            "TableName": self._table,
            "Key": key_of(key),
            "UpdateExpression": expression,
            "ReturnValues": returning,
        }
        if names:
            request["ExpressionAttributeNames"] = dict(names)
        if values:
            request["ExpressionAttributeValues"] = {name: _value(value) for name, value in values.items()}
        if condition is not None:
            request["ConditionExpression"] = condition
        answer = unless_refused(self._dynamodb.update_item, **request)
        return None if answer is None else _values(answer.get("Attributes", {}))

    def _expiry(self, seconds: int) -> int:
        return int(self._clock()) + seconds


def is_too_long(key: str) -> bool:
    """No item has such a key, and DynamoDB would refuse the call with an unclear error."""
    return len(key.encode()) > _KEY_BYTES


def key_of(value: str) -> dict[str, Any]:
    """As DynamoDB's API takes it."""
    return {"pk": {"S": value}}


def _value(value: Any) -> Any:
    return {"SS": sorted(value)} if isinstance(value, set) else to_attribute(value)


def _values(item: Mapping[str, Any]) -> JsonObject:
    return {name: value for name, value in from_item(item).items() if name not in _OWN_FIELDS}
