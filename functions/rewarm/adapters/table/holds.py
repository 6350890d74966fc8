"""Items of the table that keep restores out of each other's way.

A target (`target#<instance>`) and an alarm (`alarm#<name>`) are one item each. A conditional write replaces
the whole item only if nobody wrote since it was read, so a restore gets all of its devices or none. Running
restores are spread over several items by their names (`running#<shard>`). A thousand may begin within a
second, and an item takes a thousand writes of a kilobyte a second (DynamoDB developer guide, "Designing
partition keys").

The item `pace#describe` says until when all of EC2's calls are assigned, and similar items do so for other
quotas. This is the generic cell rate algorithm with one number: each restore adds the time that its calls
need, and begins when they are due. The burst that the quota allows needs no waiting.
"""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from rewarm.adapters.table.table_items import TableItems, key_of, unless_changed, unless_refused
from rewarm.domain.plan.estimates import LONGEST_RESTORE_SECONDS
from rewarm.domain.units import iso
from rewarm.domain.volume.holds import AlarmStart, Hold, Running, TargetHolds
from rewarm.ports import JsonObject

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

SHARDS = 16
SHARD_KEYS = tuple(f"running#{number:02d}" for number in range(SHARDS))
EXPIRY_SECONDS = LONGEST_RESTORE_SECONDS + 30 * 86_400
"""No item may expire while its restore runs; a cooldown lasts a week at most."""
_MARK = "restore:"
BURST_SECONDS = 4
"""The calls that EC2 saves up: its bucket of 100 holds those of five seconds (EC2 developer guide, "Request
throttling for the Amazon EC2 API")."""
_MILLISECONDS = 1_000


class DynamoHolds(TableItems):
    """The port Holds."""

    def on_target(self, instance_id: str) -> TargetHolds:
        item = self._get(f"target#{instance_id}") or {}
        holds = tuple(
            Hold(hold["restoreId"], hold["index"], hold["device"], datetime.fromisoformat(hold["since"]))
            for hold in item.get("holds", [])
        )
        return TargetHolds(instance_id, holds, item.get("version"))

    def keep(self, before: TargetHolds, after: TargetHolds) -> bool:
        """Writes the whole item; deletes it if nothing is held on the instance."""
        key = f"target#{after.instance_id}"
        if not after.holds:
            return before.version is None or self._delete(key, before.version)
        holds = [
            {
                "restoreId": hold.restore_id,
                "index": hold.index,
                "device": hold.device,
                "since": iso(hold.since),
            }
            for hold in after.holds
        ]
        return self._put(key, {"holds": holds}, before.version)

    def enter(self, restore_id: str, *, instance_id: str | None, now: datetime) -> bool:
        entry = {"since": iso(now), "instanceId": instance_id}
        noted = self._update(
            _shard(restore_id),
            "SET #restore = :entry, expiresAt = :expires",
            names={"#restore": f"{_MARK}{restore_id}"},
            values={":entry": entry, ":expires": self._expiry(EXPIRY_SECONDS)},
            condition="attribute_not_exists(#restore)",
        )
        return noted is not None

    def note_instance(self, running: Running) -> None:
        self._update(
            _shard(running.restore_id),
            "SET #restore = :entry",
            names={"#restore": f"{_MARK}{running.restore_id}"},
            values={":entry": {"since": iso(running.since), "instanceId": running.instance_id}},
            condition="attribute_exists(#restore)",
        )

    def leave(self, restore_id: str) -> None:
        self._update(
            _shard(restore_id),
            "REMOVE #restore",
            names={"#restore": f"{_MARK}{restore_id}"},
            values={},
            condition="attribute_exists(#restore)",
        )

    def running(self) -> list[Running]:
        found = [restore for item in self._get_many(SHARD_KEYS) for restore in _running(item)]
        return sorted(found, key=lambda restore: (restore.since, restore.restore_id))

    def entry(self, restore_id: str) -> Running | None:
        found = _running(self._get(_shard(restore_id)) or {})
        return next((restore for restore in found if restore.restore_id == restore_id), None)

    def alarm(self, alarm_name: str) -> AlarmStart | None:
        item = self._get(f"alarm#{alarm_name}")
        if not item:
            return None
        return AlarmStart(
            item["restoreId"], datetime.fromisoformat(item["at"]), item["runbook"], item["version"]
        )

    def keep_alarm(self, alarm_name: str, before: AlarmStart | None, after: AlarmStart) -> bool:
        values = {"restoreId": after.restore_id, "at": iso(after.at), "runbook": after.runbook}
        return self._put(f"alarm#{alarm_name}", values, before.version if before else None)

    def _put(self, key: str, values: JsonObject, version: str | None) -> bool:
        return self._put_whole(key, values, version, EXPIRY_SECONDS)

    def _delete(self, key: str, version: str) -> bool:
        request = {"TableName": self._table, "Key": key_of(key), **unless_changed(version)}
        return unless_refused(self._dynamodb.delete_item, **request) is not None


def _running(item: JsonObject) -> list[Running]:
    return [
        Running(name.removeprefix(_MARK), datetime.fromisoformat(mark["since"]), mark["instanceId"])
        for name, mark in item.items()
        if name.startswith(_MARK)
    ]


def _shard(restore_id: str) -> str:
    return SHARD_KEYS[int(hashlib.sha256(restore_id.encode()).hexdigest()[:8], 16) % SHARDS]


class DynamoPace:
    """The port Pace."""

    def __init__(
        self,
        dynamodb: DynamoDBClient,
        table: str,
        calls_per_second: float,
        *,
        name: str = "describe",
        burst_seconds: float = BURST_SECONDS,
    ) -> None:
        """`name` is the quota's; all callers that share the quota use the same name."""
        self._dynamodb = dynamodb
        self._table = table
        self._calls_per_second = calls_per_second
        self._key = key_of(f"pace#{name}")
        self._burst_seconds = burst_seconds

    def due(self, calls: int, *, now: datetime) -> datetime:
        at = _milliseconds(now)
        cost = round(self.seconds_of(calls) * _MILLISECONDS)
        while True:
            end = self._move("givenUntil + :step", "givenUntil >= :now", at, cost)
            if end is None:
                end = self._move(
                    ":step", "attribute_not_exists(givenUntil) OR givenUntil < :now", at, at + cost
                )
            if end is not None:
                saved_up = round(self._burst_seconds * _MILLISECONDS)
                return now + timedelta(milliseconds=max(0, end - cost - saved_up - at))

    def seconds_of(self, calls: int) -> float:
        return calls / self._calls_per_second

    def _move(self, value: str, condition: str, now: int, step: int) -> int | None:
        """The time until which calls are assigned now; None if the condition does not hold."""
        answer = unless_refused(
            self._dynamodb.update_item,
            TableName=self._table,
            Key=self._key,
            UpdateExpression=f"SET givenUntil = {value}, expiresAt = :expires",
            ConditionExpression=condition,
            ExpressionAttributeValues={
                ":now": {"N": str(now)},
                ":step": {"N": str(step)},
                ":expires": {"N": str(now // _MILLISECONDS + EXPIRY_SECONDS)},
            },
            ReturnValues="UPDATED_NEW",
        )
        return None if answer is None else int(answer["Attributes"]["givenUntil"]["N"])


def _milliseconds(instant: datetime) -> int:
    return round(instant.astimezone(UTC).timestamp() * _MILLISECONDS)
