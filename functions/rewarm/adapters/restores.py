"""What Rewarm remembers, in one DynamoDB table.

Every item has the key `pk`: restore#<id>, event#<id>, runbook#<alarm>, fsr#<snapshot>#<zone>,
history#<strategy> (adapters/history.py) or performance#<volume> (adapters/performance_log.py).
All but runbooks expire (TTL attribute `expiresAt`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from rewarm.adapters.aws_errors import code_of, naming_errors
from rewarm.adapters.fast_restore_claims import claim_of
from rewarm.adapters.items import from_item, to_attribute, to_item
from rewarm.domain.errors import RestoreNotFoundError
from rewarm.domain.leftovers import FastRestoreClaim
from rewarm.ports import JsonObject

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

_DAY = 86_400
RESTORE_SECONDS = 400 * _DAY
"""As long as the artifacts bucket keeps reports."""
EVENT_SECONDS = 30 * _DAY
"""Far beyond the 24 hours for which EventBridge may deliver an event again."""
RELEASED_SECONDS = _DAY
"""How long the last user of a fast snapshot restore, which could not disable it, may try again."""
_KEY_BYTES = 2_048
"""DynamoDB developer guide, "Constraints": a partition key has up to 2048 bytes."""
_OWN_FIELDS = ("pk", "expiresAt")


class DynamoRestoreTable:
    """The port RestoreTable."""

    def __init__(self, dynamodb: DynamoDBClient, table: str, clock: Callable[[], float] = time.time) -> None:
        self._dynamodb = dynamodb
        self._table = table
        self._clock = clock

    def put_new(self, restore_id: str, record: JsonObject) -> bool:
        """False where the restore is known already."""
        return self._put_new(f"restore#{restore_id}", record, RESTORE_SECONDS)

    def get(self, restore_id: str) -> JsonObject | None:
        """The record, or None."""
        return self._get(f"restore#{restore_id}")

    def update(self, restore_id: str, changes: JsonObject) -> None:
        """Sets the given attributes; creates the record where it is missing."""
        names = {f"#c{index}": name for index, name in enumerate(changes)}
        values = {f":c{index}": value for index, value in enumerate(changes.values())}
        settings = [f"#c{index} = :c{index}" for index in range(len(changes))]
        self._set_on_restore(restore_id, settings, names, values)

    def append_event(self, restore_id: str, event: JsonObject) -> None:
        """Adds to the record's list `events`."""
        setting = "#events = list_append(if_not_exists(#events, :none), :new)"
        self._set_on_restore(restore_id, [setting], {"#events": "events"}, {":none": [], ":new": [event]})

    def request_cancel(self, restore_id: str, *, unless: Sequence[str] = ()) -> bool:
        """Marks it as to be cancelled; False where it has all of `unless`. Raises RestoreNotFoundError."""
        names = {f"#u{index}": name for index, name in enumerate(unless)}
        missing = " OR ".join(f"attribute_not_exists({name})" for name in names)
        found = self._update(
            f"restore#{restore_id}",
            "SET cancelRequested = :yes",
            condition="attribute_exists(pk)" + (f" AND ({missing})" if missing else ""),
            names=names,
            values={":yes": True},
        )
        if found is None and self.get(restore_id) is None:
            raise RestoreNotFoundError(f"there is no restore {restore_id}")
        return found is not None

    def set_unless_cancelled(self, restore_id: str, name: str, value: Any) -> bool:
        """Sets an attribute, also again; False where the restore was cancelled before the first time."""
        found = self._update(
            f"restore#{restore_id}",
            "SET #name = :value",
            condition="attribute_not_exists(cancelRequested) OR attribute_exists(#name)",
            names={"#name": name},
            values={":value": value},
        )
        return found is not None

    def is_cancelled(self, restore_id: str) -> bool:
        """Somebody asked for the restore to be cancelled."""
        return bool((self.get(restore_id) or {}).get("cancelRequested", False))

    def claim_event(self, event_id: str, restore_id: str) -> str:
        """The id of the restore that owns this event: ours, or the one that came first."""
        key = f"event#{event_id}"
        if self._put_new(key, {"restoreId": restore_id}, EVENT_SECONDS):
            return restore_id
        return str((self._get(key) or {}).get("restoreId", restore_id))

    def runbook(self, alarm_name: str) -> JsonObject | None:
        """The restore request for an alarm."""
        found = self._get(f"runbook#{alarm_name}")
        return None if found is None else dict(found["request"])

    def put_runbook(self, alarm_name: str, request: JsonObject) -> None:
        """Writes or replaces it."""
        item = to_item({"pk": f"runbook#{alarm_name}", "alarmName": alarm_name, "request": request})
        with naming_errors():
            self._dynamodb.put_item(TableName=self._table, Item=item)

    def delete_runbook(self, alarm_name: str) -> bool:
        """False where there was none."""
        if _is_too_long(f"runbook#{alarm_name}"):
            return False
        with naming_errors():
            answer = self._dynamodb.delete_item(
                TableName=self._table, Key=_key(f"runbook#{alarm_name}"), ReturnValues="ALL_OLD"
            )
        return bool(answer.get("Attributes"))

    def claim_fast_snapshot_restore(
        self, snapshot_id: str, availability_zone: str, user: str, *, asked_at: datetime | None
    ) -> None:
        """Notes that `user` relies on it; what shows that one of us enabled it stays."""
        values = {":users": {user}} | ({":asked": {asked_at.isoformat()}} if asked_at else {})
        self._update(
            _fsr(snapshot_id, availability_zone),
            f"ADD #users :users{', askedAt :asked' if asked_at else ''} REMOVE expiresAt, lastUser",
            names={"#users": "users"},
            values=values,
        )

    def note_fast_snapshot_restore(
        self, snapshot_id: str, availability_zone: str, *, asked_at: datetime, enabling_time: datetime | None
    ) -> None:
        """What came of enabling it: EC2's time where it was our doing, else None."""
        values = {":asked": {asked_at.isoformat()}}
        values |= {":time": {enabling_time.isoformat()}} if enabling_time else {}
        self._update(
            _fsr(snapshot_id, availability_zone),
            f"DELETE askedAt :asked{' ADD enablingTimes :time' if enabling_time else ''}",
            values=values,
            condition="attribute_exists(pk)",
        )

    def take_fast_snapshot_restore_credit(
        self,
        snapshot_id: str,
        availability_zone: str,
        user: str,
        *,
        credit_count: int,
        now: datetime,
        window: timedelta,
    ) -> bool:
        """Keeps who took one and when; of two that take the last credit at once, one writes first."""
        key = f"{_fsr(snapshot_id, availability_zone)}#credits"
        while True:
            before = (self._get(key) or {}).get("taken", {})
            since = (now - window).timestamp()
            recent = {name: at for name, at in before.items() if at > since}
            if user in recent:
                return True
            if len(recent) >= credit_count:
                return False
            written = self._update(
                key,
                "SET taken = :after, expiresAt = :expires",
                values={
                    ":before": before,
                    ":after": {**recent, user: int(now.timestamp())},
                    ":expires": self._expiry(RELEASED_SECONDS),
                },
                condition="attribute_not_exists(taken) OR taken = :before",
            )
            if written is not None:
                return True

    def release_fast_snapshot_restore(
        self, snapshot_id: str, availability_zone: str, user: str
    ) -> FastRestoreClaim | None:
        """Where nobody relies on it any more and we may have enabled it: it is to be disabled now, if ours.

        The item stays for a while after its last user left. A release that is repeated, because disabling
        failed, must hear the same again: else it would stay enabled and cost money.
        """
        key = _fsr(snapshot_id, availability_zone)
        left = self._update(
            key,
            "DELETE #users :users SET lastUser = :user",
            names={"#users": "users"},
            values={":users": {user}, ":user": user},
            condition="contains(#users, :user)",
        )
        found = self._get(key) if left is None else left
        if not found or found.get("users") or found.get("lastUser") != user:
            return None
        self._update(
            key,
            "SET expiresAt = :expires",
            names={"#users": "users"},
            values={":expires": self._expiry(RELEASED_SECONDS)},
            condition="attribute_not_exists(#users)",
        )
        claim = claim_of(found)
        return claim if claim.may_be_on else None

    def forget_fast_snapshot_restore(self, snapshot_id: str, availability_zone: str, user: str) -> None:
        """Who enables it next is not taken for us."""
        with naming_errors():
            try:
                self._dynamodb.delete_item(
                    TableName=self._table,
                    Key=_key(_fsr(snapshot_id, availability_zone)),
                    ConditionExpression="attribute_not_exists(#users) AND lastUser = :user",
                    ExpressionAttributeNames={"#users": "users"},
                    ExpressionAttributeValues={":user": to_attribute(user)},
                )
            except ClientError as error:
                if code_of(error) != "ConditionalCheckFailedException":
                    raise

    def _put_new(self, key: str, values: Mapping[str, Any], seconds: int) -> bool:
        with naming_errors():
            try:
                self._dynamodb.put_item(
                    TableName=self._table,
                    Item=to_item({**values, "pk": key, "expiresAt": self._expiry(seconds)}),
                    ConditionExpression="attribute_not_exists(pk)",
                )
            except ClientError as error:
                if code_of(error) == "ConditionalCheckFailedException":
                    return False
                raise
        return True

    def _get(self, key: str) -> JsonObject | None:
        if _is_too_long(key):
            return None
        with naming_errors():
            answer = self._dynamodb.get_item(TableName=self._table, Key=_key(key), ConsistentRead=True)
        item = answer.get("Item")
        return None if item is None else _record(item)

    def _set_on_restore(
        self, restore_id: str, settings: list[str], names: Mapping[str, str], values: Mapping[str, Any]
    ) -> None:
        settings = [*settings, "expiresAt = if_not_exists(expiresAt, :expires)"]
        expiry = {":expires": self._expiry(RESTORE_SECONDS)}
        self._update(
            f"restore#{restore_id}", f"SET {', '.join(settings)}", names=names, values={**values, **expiry}
        )

    def _update(
        self,
        key: str,
        expression: str,
        *,
        values: Mapping[str, Any],
        names: Mapping[str, str] | None = None,
        condition: str | None = None,
    ) -> JsonObject | None:
        """The item after the update; None where the condition does not hold."""
        request: dict[str, Any] = {"TableName": self._table, "Key": _key(key), "UpdateExpression": expression}
        if names:
            request["ExpressionAttributeNames"] = dict(names)
        if values:
            request["ExpressionAttributeValues"] = {name: _value(value) for name, value in values.items()}
        if condition is not None:
            request["ConditionExpression"] = condition
        with naming_errors():
            try:
                answer = self._dynamodb.update_item(**request, ReturnValues="ALL_NEW")
            except ClientError as error:
                if code_of(error) == "ConditionalCheckFailedException":
                    return None
                raise
        return _record(answer.get("Attributes", {}))

    def _expiry(self, seconds: int) -> int:
        return int(self._clock()) + seconds


def _is_too_long(key: str) -> bool:
    """There is no such item then; DynamoDB would refuse the call, which is not the caller's to understand."""
    return len(key.encode()) > _KEY_BYTES


def _key(value: str) -> dict[str, Any]:
    return {"pk": {"S": value}}


def _fsr(snapshot_id: str, availability_zone: str) -> str:
    return f"fsr#{snapshot_id}#{availability_zone}"


def _value(value: Any) -> Any:
    return {"SS": sorted(value)} if isinstance(value, set) else to_attribute(value)


def _record(item: Mapping[str, Any]) -> JsonObject:
    return {name: value for name, value in from_item(item).items() if name not in _OWN_FIELDS}
