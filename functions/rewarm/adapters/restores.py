"""What Rewarm remembers, in one DynamoDB table.

Every item has the key `pk`: those of a restore's record (adapters/restore_records.py), event#<id>,
runbook#<alarm>, fsr#<snapshot>#<zone>, history#<strategy> (adapters/history.py) or performance#<volume>
(adapters/performance_log.py). All but runbooks expire (TTL attribute `expiresAt`).
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from botocore.exceptions import ClientError

from rewarm.adapters.aws_errors import code_of, naming_errors
from rewarm.adapters.restore_records import DynamoRestoreRecords
from rewarm.adapters.table_items import is_too_long, key_of, to_attribute, to_item
from rewarm.domain.volume.leftovers import FastRestoreClaim
from rewarm.ports import JsonObject

_DAY = 86_400
EVENT_SECONDS = 30 * _DAY
"""Far beyond the 24 hours for which EventBridge may deliver an event again."""
RELEASED_SECONDS = _DAY
"""How long the last user of a fast snapshot restore, which could not disable it, may try again."""


class DynamoRestoreTable(DynamoRestoreRecords):
    """The port RestoreTable."""

    def claim_event(self, event_id: str, restore_id: str) -> str:
        key = f"event#{event_id}"
        if self._put_new(key, {"restoreId": restore_id}, EVENT_SECONDS):
            return restore_id
        return str((self._get(key) or {}).get("restoreId", restore_id))

    def runbook(self, alarm_name: str) -> JsonObject | None:
        found = self._get(f"runbook#{alarm_name}")
        return None if found is None else dict(found["request"])

    def put_runbook(self, alarm_name: str, request: JsonObject) -> None:
        item = to_item({"pk": f"runbook#{alarm_name}", "alarmName": alarm_name, "request": request})
        with naming_errors():
            self._dynamodb.put_item(TableName=self._table, Item=item)

    def delete_runbook(self, alarm_name: str) -> bool:
        if is_too_long(f"runbook#{alarm_name}"):
            return False
        with naming_errors():
            answer = self._dynamodb.delete_item(
                TableName=self._table, Key=key_of(f"runbook#{alarm_name}"), ReturnValues="ALL_OLD"
            )
        return bool(answer.get("Attributes"))

    def claim(self, snapshot_id: str, zone: str) -> FastRestoreClaim | None:
        found = self._get(_fsr(snapshot_id, zone))
        return None if found is None else _claim(found)

    def claim_fast_snapshot_restore(
        self, snapshot_id: str, zone: str, user: str, *, asked_at: datetime | None
    ) -> None:
        values = {":users": {user}} | ({":asked": {asked_at.isoformat()}} if asked_at else {})
        self._update(
            _fsr(snapshot_id, zone),
            f"ADD #users :users{', askedAt :asked' if asked_at else ''} REMOVE expiresAt, lastUser",
            names={"#users": "users"},
            values=values,
        )

    def note_fast_snapshot_restore(
        self, snapshot_id: str, zone: str, *, asked_at: datetime, enabling_time: datetime | None
    ) -> None:
        values = {":asked": {asked_at.isoformat()}}
        values |= {":time": {enabling_time.isoformat()}} if enabling_time else {}
        self._update(
            _fsr(snapshot_id, zone),
            f"DELETE askedAt :asked{' ADD enablingTimes :time' if enabling_time else ''}",
            values=values,
            condition="attribute_exists(pk)",
        )

    def take_fast_snapshot_restore_credit(
        self, snapshot_id: str, zone: str, user: str, *, credit_count: int, now: datetime, window: timedelta
    ) -> bool:
        """Keeps who took one and when; of two that take the last credit at once, one writes first."""
        key = f"{_fsr(snapshot_id, zone)}#credits"
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
        self, snapshot_id: str, zone: str, user: str
    ) -> FastRestoreClaim | None:
        """The item stays for a while after its last user left. A release that is repeated, because disabling
        failed, must hear the same again: else it would stay enabled and cost money.
        """
        key = _fsr(snapshot_id, zone)
        left = self._update(
            key,
            "DELETE #users :users SET lastUser = :user",
            names={"#users": "users"},
            values={":users": {user}, ":user": user},
            condition="contains(#users, :user)",
            returning="ALL_NEW",
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
        claim = _claim(found)
        return claim if claim.may_be_on else None

    def forget_fast_snapshot_restore(self, snapshot_id: str, zone: str, user: str) -> None:
        """Who enables it next is not taken for us."""
        with naming_errors():
            try:
                self._dynamodb.delete_item(
                    TableName=self._table,
                    Key=key_of(_fsr(snapshot_id, zone)),
                    ConditionExpression="attribute_not_exists(#users) AND lastUser = :user",
                    ExpressionAttributeNames={"#users": "users"},
                    ExpressionAttributeValues={":user": to_attribute(user)},
                )
            except ClientError as error:
                if code_of(error) != "ConditionalCheckFailedException":
                    raise


def _fsr(snapshot_id: str, zone: str) -> str:
    return f"fsr#{snapshot_id}#{zone}"


def _claim(item: Mapping[str, Any]) -> FastRestoreClaim:
    """Of the table's item."""
    return FastRestoreClaim(
        users=frozenset(item.get("users") or ()),
        last_user=item.get("lastUser"),
        asked_at=_times(item.get("askedAt")),
        enabling_times=_times(item.get("enablingTimes")),
    )


def _times(texts: Any) -> frozenset[datetime]:
    return frozenset(datetime.fromisoformat(text) for text in texts or ())
