"""What restores hold, in the table: `target#<instance>`, `running#<shard>` and `alarm#<name>`.

A target and an alarm are one item each, written as a whole and only where nobody wrote since it was read, so
all devices of a restore are had or none. The restores that run are spread over several items by their names:
a thousand may begin within a second, and one item takes a thousand writes a second of a kilobyte each
(DynamoDB developer guide, "Designing partition keys").
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from botocore.exceptions import ClientError

from rewarm.adapters.aws_errors import code_of, naming_errors
from rewarm.adapters.items import from_item, to_attribute, to_item
from rewarm.domain.errors import ThrottledError
from rewarm.domain.units import iso
from rewarm.domain.volume.holds import AlarmStart, Hold, Running, TargetHolds
from rewarm.ports import JsonObject

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

SHARDS = 16
EXPIRY_SECONDS = 30 * 86_400
"""An execution lasts seven days at most, a cooldown as long."""
MOST_ATTEMPTS = 5
"""DynamoDB may leave keys unanswered under load (botocore: BatchGetItem UnprocessedKeys)."""
_MARK = "restore:"


class DynamoHolds:
    """The port Holds."""

    def __init__(self, dynamodb: DynamoDBClient, table: str, clock: Callable[[], float] = time.time) -> None:
        self._dynamodb = dynamodb
        self._table = table
        self._clock = clock

    def on_target(self, instance_id: str) -> TargetHolds:
        """What is held on the instance now."""
        item = self._get(f"target#{instance_id}")
        holds = tuple(
            Hold(one["restoreId"], one["index"], one["device"], datetime.fromisoformat(one["since"]))
            for one in item.get("holds", [])
        )
        return TargetHolds(instance_id, holds, item.get("version"))

    def keep(self, before: TargetHolds, after: TargetHolds) -> bool:
        """Writes all of it at once; an instance on which nothing is held has no item."""
        key = f"target#{after.instance_id}"
        if not after.holds:
            return before.version is None or self._delete(key, before.version)
        holds = [
            {"restoreId": one.restore_id, "index": one.index, "device": one.device, "since": iso(one.since)}
            for one in after.holds
        ]
        return self._put(key, {"holds": holds}, before.version)

    def enter(self, restore_id: str, *, instance_id: str | None, now: datetime) -> bool:
        """Notes that the restore runs; False where that is noted already."""
        return self._update(
            restore_id,
            "SET #restore = :entry, expiresAt = :expires",
            "attribute_not_exists(#restore)",
            {
                ":entry": to_attribute({"since": iso(now), "instanceId": instance_id}),
                ":expires": to_attribute(int(self._clock()) + EXPIRY_SECONDS),
            },
        )

    def leave(self, restore_id: str) -> None:
        """It runs no more; does nothing where it is not noted."""
        self._update(restore_id, "REMOVE #restore", "attribute_exists(#restore)", {})

    def running(self) -> list[Running]:
        """All restores of the stack that run, the first one first."""
        found = [one for item in self._shards() for one in _running(item)]
        return sorted(found, key=lambda one: (one.since, one.restore_id))

    def entry(self, restore_id: str) -> Running | None:
        """None where it is not noted as running."""
        found = _running(self._get(_shard(restore_id)))
        return next((one for one in found if one.restore_id == restore_id), None)

    def alarm(self, alarm_name: str) -> AlarmStart | None:
        """The last restore that the alarm started; None where there is none."""
        item = self._get(f"alarm#{alarm_name}")
        if not item:
            return None
        return AlarmStart(
            item["restoreId"], datetime.fromisoformat(item["at"]), item["runbook"], item["version"]
        )

    def keep_alarm(self, alarm_name: str, before: AlarmStart | None, after: AlarmStart) -> bool:
        """False where somebody changed it since `before` was read."""
        values = {"restoreId": after.restore_id, "at": iso(after.at), "runbook": after.runbook}
        return self._put(f"alarm#{alarm_name}", values, before.version if before else None)

    def _get(self, key: str) -> JsonObject:
        with naming_errors():
            answer = self._dynamodb.get_item(TableName=self._table, Key=_key(key), ConsistentRead=True)
        return from_item(answer.get("Item", {}))

    def _shards(self) -> Iterator[JsonObject]:
        """A thousand names have less than the 16 MB that an answer holds."""
        keys = [_key(f"running#{number:02d}") for number in range(SHARDS)]
        wanted: Mapping[str, Any] = {self._table: {"Keys": keys, "ConsistentRead": True}}
        for _attempt in range(MOST_ATTEMPTS):
            with naming_errors():
                answer = self._dynamodb.batch_get_item(RequestItems=wanted)
            yield from (from_item(item) for item in answer["Responses"].get(self._table, []))
            wanted = answer.get("UnprocessedKeys") or {}
            if not wanted:
                return
        raise ThrottledError("BatchGetItem: DynamoDB left a part of the restores that run unanswered")

    def _put(self, key: str, values: JsonObject, version: str | None) -> bool:
        item = {
            **values,
            "pk": key,
            "version": uuid4().hex,
            "expiresAt": int(self._clock()) + EXPIRY_SECONDS,
        }
        return self._written(self._dynamodb.put_item, Item=to_item(item), **_unless_changed(version))

    def _delete(self, key: str, version: str) -> bool:
        return self._written(self._dynamodb.delete_item, Key=_key(key), **_unless_changed(version))

    def _update(self, restore_id: str, expression: str, condition: str, values: Mapping[str, Any]) -> bool:
        return self._written(
            self._dynamodb.update_item,
            Key=_key(_shard(restore_id)),
            UpdateExpression=expression,
            ConditionExpression=condition,
            ExpressionAttributeNames={"#restore": f"{_MARK}{restore_id}"},
            **({"ExpressionAttributeValues": values} if values else {}),
        )

    def _written(self, call: Callable[..., Any], **request: Any) -> bool:
        """False where the condition does not hold."""
        with naming_errors():
            try:
                call(TableName=self._table, **request)
            except ClientError as error:
                if code_of(error) == "ConditionalCheckFailedException":
                    return False
                raise
        return True


def _unless_changed(version: str | None) -> JsonObject:
    """A version is never used twice, so an item that went and came again counts as changed."""
    if version is None:
        return {"ConditionExpression": "attribute_not_exists(pk)"}
    return {
        "ConditionExpression": "version = :version",
        "ExpressionAttributeValues": {":version": {"S": version}},
    }


def _running(item: JsonObject) -> list[Running]:
    return [
        Running(name.removeprefix(_MARK), datetime.fromisoformat(one["since"]), one["instanceId"])
        for name, one in item.items()
        if name.startswith(_MARK)
    ]


def _shard(restore_id: str) -> str:
    number = int(hashlib.sha256(restore_id.encode()).hexdigest()[:8], 16) % SHARDS
    return f"running#{number:02d}"


def _key(value: str) -> dict[str, Any]:
    return {"pk": {"S": value}}
