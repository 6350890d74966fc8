"""What Rewarm remembers, in one DynamoDB table.

Every item has the key `pk`: restore#<id>, restore-volume#<id>#<index>, event#<id>, runbook#<alarm>,
message#<message>, restores-of#<volume>, rule#<name>, adoption#<volume> (adapters/table/adoptions.py),
fsr#<snapshot>#<zone>, history#<strategy> (adapters/table/history.py) or performance#<volume>
(adapters/performance.py). All but runbooks and rules expire (TTL attribute `expiresAt`).

An item of DynamoDB has 400 KB at most, and each write is billed by the whole item's size (DynamoDB developer
guide, "Constraints" and "Capacity unit consumption"). So a volume's item holds what happened to the volume,
and the restore's own item stays small. With a hundred volumes it has some ten kilobytes.

A condition of an update sees one item. The marks `attached<index>` and `settled<index>` are therefore on the
restore's item, beside `cancelRequested`. If a mark and a cancellation come at once, DynamoDB accepts one and
refuses the other, without a transaction. Names of executions have no `#`, and keys of volumes begin
differently, so no id of a restore leads to a volume's item.

Lists come from the index `by-status`: status, then startedAt. Every record of a restore has both. A runbook
has the status RUNBOOK for that, a rule RULE, and as startedAt the time at which it was written.
CloudFormation adds one index to a table in one update (AWS::DynamoDB::Table), so all lists share it.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from botocore.exceptions import ClientError

from rewarm.adapters.aws_errors import code_of, naming_errors
from rewarm.adapters.table.table_items import (
    TableItems,
    from_item,
    is_too_long,
    key_of,
    to_attribute,
    to_item,
    unless_refused,
)
from rewarm.domain.errors import RestoreNotFoundError, ServiceUnavailableError
from rewarm.domain.units import iso
from rewarm.domain.volume.leftovers import FastRestoreClaim
from rewarm.ports import JsonObject
from rewarm.ports.restores import BOOST, LISTED, NOTED, OVER, RULE, RUNBOOK, VOLUME_COUNT, Listed, Standing

RESTORE_SECONDS = 400 * 86_400
"""As long as the artifacts bucket keeps reports."""
_DAY = 86_400
EVENT_SECONDS = 30 * _DAY
"""Far beyond the 24 hours for which EventBridge may deliver an event again."""
INDEX = "by-status"
RELEASED_SECONDS = _DAY
"""How long the last user of a fast snapshot restore, which could not disable it, may try again."""


class DynamoRestoreTable(TableItems):
    """The port RestoreTable."""

    def put_new(self, restore_id: str, record: JsonObject) -> bool:
        return self._put_new(_restore(restore_id), record, RESTORE_SECONDS)

    def get(self, restore_id: str) -> JsonObject | None:
        return self._get(_restore(restore_id))

    def get_whole(self, restore_id: str) -> tuple[JsonObject | None, dict[int, JsonObject]]:
        """Reads the restore's item before its volumes' items, so those are never older."""
        found = self.get(restore_id)
        if found is None or ("request" not in found and VOLUME_COUNT not in found):
            return self._without_its_item(restore_id, found)
        keys = {_volume(restore_id, index): index for index in range(int(found.get(VOLUME_COUNT) or 0))}
        return found, {keys[key]: volume for key, volume in self._get_named(list(keys))}

    def _without_its_item(
        self, restore_id: str, found: JsonObject | None
    ) -> tuple[JsonObject | None, dict[int, JsonObject]]:
        """If the restore's item is lost, its volumes are counted by their own items."""
        volumes: dict[int, JsonObject] = {}
        while volume := self.get_volume(restore_id, len(volumes)):
            volumes[len(volumes)] = volume
        return {**(found or {}), VOLUME_COUNT: len(volumes)} if volumes else found, volumes

    def standing(self, restore_id: str) -> Standing:
        """Reads three attributes, and not the item with all its events."""
        names = ("cancelRequested", "status", "cancelAsked")
        found = self._get(_restore(restore_id), names=names) or {}
        swept = found.get("cancelAsked") is False
        return Standing(bool(found.get("cancelRequested", False)), found.get("status"), was_swept=swept)

    def get_each(self, restore_ids: Sequence[str], names: Sequence[str]) -> dict[str, JsonObject]:
        keys = [_restore(restore_id) for restore_id in restore_ids]
        return {key.partition("#")[2]: found for key, found in self._get_named(keys, names)}

    def note_volume(self, volume_id: str, restore_id: str) -> None:
        self._update(
            _of_volume(volume_id),
            "ADD restores :restores SET expiresAt = :expires",
            values={":restores": {restore_id}, ":expires": self._expiry(RESTORE_SECONDS)},
        )

    def restores_of(self, volume_id: str) -> list[Listed]:
        noted = (self._get(_of_volume(volume_id)) or {}).get("restores", [])
        known = self.get_each(noted, ("status", "startedAt", *LISTED))
        # An item that was lost and is being made again has not both yet.
        whole = {name: record for name, record in known.items() if {"status", "startedAt"} <= record.keys()}
        found = [Listed(record["startedAt"], name, record) for name, record in whole.items()]
        return sorted(found, key=lambda listed: listed.place, reverse=True)

    def update(self, restore_id: str, changes: JsonObject) -> None:
        self._set(_restore(restore_id), changes)

    def advance(self, restore_id: str, status: str) -> None:
        self._update(
            _restore(restore_id),
            "SET #status = :status, expiresAt = if_not_exists(expiresAt, :expires)",
            condition=" AND ".join(f"attribute_not_exists({name})" for name in OVER),
            names={"#status": "status"},
            values={":status": status, ":expires": self._expiry(RESTORE_SECONDS)},
        )

    def append_event(self, restore_id: str, event: JsonObject) -> None:
        self._append(_restore(restore_id), event)

    def get_volume(self, restore_id: str, index: int) -> JsonObject:
        return self._get(_volume(restore_id, index)) or {}

    def update_volume(self, restore_id: str, index: int, changes: JsonObject) -> None:
        self._set(_volume(restore_id, index), changes)

    def begin_creation(self, restore_id: str, index: int, attempt: int, creation: JsonObject) -> JsonObject:
        """If a function runs twice at once, both runs get the key of the one that writes first."""
        key = _volume(restore_id, index)
        name = str(attempt)
        while True:
            found = self._get(key) or {}
            before = found.get("creations")
            known = before if isinstance(before, dict) else {}
            if name in known:
                return found
            # 122 bits of os.urandom.
            after = {**known, name: {**creation, "key": uuid.uuid4().hex}}
            written = self._update(
                key,
                "SET creations = :after, expiresAt = if_not_exists(expiresAt, :expires)",
                condition="attribute_not_exists(creations)" if before is None else "creations = :before",
                values={
                    ":after": after,
                    ":expires": self._expiry(RESTORE_SECONDS),
                    **({} if before is None else {":before": before}),
                },
                returning="ALL_NEW",
            )
            if written is not None:
                return written

    def append_volume_event(self, restore_id: str, index: int, event: JsonObject) -> None:
        self._append(_volume(restore_id, index), event)

    def request_cancel(
        self, restore_id: str, *, by: JsonObject | None = None, unless: Sequence[str] = ()
    ) -> bool:
        """One update of the restore's item, which has all the marks that it checks."""
        names = {f"#u{index}": name for index, name in enumerate(unless)}
        missing = " OR ".join(f"attribute_not_exists({name})" for name in names)
        found = self._update(
            _restore(restore_id),
            "SET cancelRequested = :yes" + (", cancelledBy = :by" if by else ""),
            condition="attribute_exists(pk)" + (f" AND ({missing})" if missing else ""),
            names=names,
            values={":yes": True, **({":by": by} if by else {})},
        )
        if found is None and self.get(restore_id) is None:
            raise RestoreNotFoundError(f"there is no restore {restore_id}")
        return found is not None

    def set_unless_cancelled(self, restore_id: str, name: str, value: Any) -> bool:
        """One update of the restore's item, which has `cancelRequested`; a mark may be set again."""
        found = self._update(
            _restore(restore_id),
            "SET #name = :value, expiresAt = if_not_exists(expiresAt, :expires)",
            condition="attribute_not_exists(cancelRequested) OR attribute_exists(#name)",
            names={"#name": name},
            values={":value": value, ":expires": self._expiry(RESTORE_SECONDS)},
        )
        return found is not None

    def replace_value(self, restore_id: str, name: str, value: JsonObject, *, was: JsonObject | None) -> bool:
        """One conditional update, which lets only the approval or the cancellation win."""
        is_same = "attribute_not_exists(#name)" if was is None else "#name = :was"
        found = self._update(
            _restore(restore_id),
            "SET #name = :value, expiresAt = if_not_exists(expiresAt, :expires)",
            # A fleet that was cancelled and redriven has the attribute, as false.
            condition=f"(attribute_not_exists(cancelRequested) OR cancelRequested = :no) AND {is_same}",
            names={"#name": name},
            values={
                ":no": False,
                ":value": value,
                ":expires": self._expiry(RESTORE_SECONDS),
                **({} if was is None else {":was": was}),
            },
        )
        return found is not None

    def claim_event(self, event_id: str, restore_id: str) -> str:
        key = f"event#{event_id}"
        if self._put_new(key, {"restoreId": restore_id}, EVENT_SECONDS):
            return restore_id
        return str((self._get(key) or {}).get("restoreId", restore_id))

    def claim_message(self, message: str, sender: str, *, seconds: int) -> bool:
        """One conditional update of an item that has nothing else, so the record stays as it is."""
        now = int(self._clock())
        found = self._update(
            f"message#{message}",
            "SET claimedBy = :sender, claimedUntil = :until, expiresAt = :expires",
            condition="attribute_not_exists(claimedBy) OR claimedBy = :sender OR claimedUntil <= :now",
            values={
                ":sender": sender,
                ":now": now,
                ":until": now + seconds,
                ":expires": self._expiry(EVENT_SECONDS),
            },
        )
        return found is not None

    def runbook(self, alarm_name: str) -> JsonObject | None:
        found = self.stored(RUNBOOK, alarm_name)
        return None if found is None else dict(found["request"])

    def stored(self, kind: str, name: str) -> JsonObject | None:
        return self._get(f"{kind}#{name}")

    def store(self, kind: str, name: str, request: JsonObject, *, trigger: JsonObject | None = None) -> None:
        with naming_errors():
            self._dynamodb.put_item(
                TableName=self._table, Item=self._named_item(kind, name, request, trigger)
            )

    def replace(
        self,
        kind: str,
        name: str,
        request: JsonObject,
        *,
        trigger: JsonObject | None = None,
        was: JsonObject | None,
    ) -> bool:
        condition: dict[str, Any] = {"ConditionExpression": "attribute_not_exists(pk)"}
        if was is not None:
            condition = {
                "ConditionExpression": "#request = :was",
                "ExpressionAttributeNames": {"#request": "request"},
                "ExpressionAttributeValues": to_item({":was": was}),
            }
        item = self._named_item(kind, name, request, trigger)
        put = self._dynamodb.put_item
        return unless_refused(put, TableName=self._table, Item=item, **condition) is not None

    def _named_item(
        self, kind: str, name: str, request: JsonObject, trigger: JsonObject | None
    ) -> dict[str, Any]:
        """An item that lists show by the time at which it was written."""
        listed = {"status": kind, "startedAt": iso(datetime.fromtimestamp(self._clock(), UTC))}
        return to_item({"pk": f"{kind}#{name}", "request": request, "trigger": trigger, **listed})

    def discard(self, kind: str, name: str) -> bool:
        if is_too_long(f"{kind}#{name}"):
            return False
        with naming_errors():
            answer = self._dynamodb.delete_item(
                TableName=self._table, Key=key_of(f"{kind}#{name}"), ReturnValues="ALL_OLD"
            )
        return bool(answer.get("Attributes"))

    def listed(
        self, status: str, *, since: str, until: str, after: tuple[str, str] | None, limit: int
    ) -> tuple[list[Listed], bool]:
        """One Query of the index, which reads only the items that it returns."""
        start: Any = {}
        if after is not None:
            kind = status if status in {RUNBOOK, RULE, NOTED, BOOST} else "restore"
            key = {"status": status, "startedAt": after[0], "pk": f"{kind}#{after[1]}"}
            start = {"ExclusiveStartKey": to_item(key)}
        with naming_errors():
            try:
                answer = self._dynamodb.query(
                    TableName=self._table,
                    IndexName=INDEX,
                    KeyConditionExpression="#status = :status AND startedAt BETWEEN :since AND :until",
                    ExpressionAttributeNames={"#status": "status"},
                    ExpressionAttributeValues=to_item({":status": status, ":since": since, ":until": until}),
                    ScanIndexForward=False,
                    Limit=limit,
                    **start,
                )
            except ClientError as error:
                # botocore: dynamodb Query: the index "might not be ACTIVE", as after an upgrade of the stack.
                if code_of(error) == "ResourceNotFoundException":
                    raise ServiceUnavailableError(
                        "DynamoDB is still building the index of the list"
                    ) from error
                raise
        return [_listed(item) for item in answer["Items"]], "LastEvaluatedKey" in answer

    def claim(self, snapshot_id: str, zone: str) -> FastRestoreClaim | None:
        found = self._get(_fsr(snapshot_id, zone))
        return None if found is None else _claim(found)

    def claim_fast_snapshot_restore(
        self,
        snapshot_id: str,
        zone: str,
        user: str,
        *,
        asked_at: datetime | None = None,
        enabling_time: datetime | None = None,
    ) -> None:
        times = {"askedAt": asked_at, "enablingTimes": enabling_time}
        known = {name: time.isoformat() for name, time in times.items() if time is not None}
        added = "".join(f", {name} :{name}" for name in known)
        self._update(
            _fsr(snapshot_id, zone),
            f"ADD #users :users{added} SET expiresAt = :expires REMOVE lastUser",
            names={"#users": "users"},
            values={
                ":users": {user},
                ":expires": self._expiry(RESTORE_SECONDS),
                **{f":{name}": {time} for name, time in known.items()},
            },
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
        """Keeps who took a credit and when; a conditional write gives the last credit to one user."""
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
        """The item stays for a while after its last user left. If disabling failed, a repeated release must
        get the same answer, or it would stay enabled and cost money.
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
        """Deletes our claim, so that whoever enables it next is not mistaken for us."""
        unless_refused(
            self._dynamodb.delete_item,
            TableName=self._table,
            Key=key_of(_fsr(snapshot_id, zone)),
            ConditionExpression="attribute_not_exists(#users) AND lastUser = :user",
            ExpressionAttributeNames={"#users": "users"},
            ExpressionAttributeValues={":user": to_attribute(user)},
        )

    def _set(self, key: str, changes: JsonObject) -> None:
        names = {f"#c{index}": name for index, name in enumerate(changes)}
        values = {f":c{index}": value for index, value in enumerate(changes.values())}
        self._write(key, [f"#c{index} = :c{index}" for index in range(len(changes))], names, values)

    def _append(self, key: str, event: JsonObject) -> None:
        setting = "#events = list_append(if_not_exists(#events, :none), :new)"
        self._write(key, [setting], {"#events": "events"}, {":none": [], ":new": [event]})

    def _write(
        self, key: str, settings: list[str], names: Mapping[str, str], values: Mapping[str, Any]
    ) -> None:
        """The first write sets when the item expires."""
        settings = [*settings, "expiresAt = if_not_exists(expiresAt, :expires)"]
        expiry = {":expires": self._expiry(RESTORE_SECONDS)}
        self._update(key, f"SET {', '.join(settings)}", names=names, values={**values, **expiry})


def _listed(item: Mapping[str, Any]) -> Listed:
    record = from_item(item)
    return Listed(record["startedAt"], record.pop("pk").partition("#")[2], record)


def _restore(restore_id: str) -> str:
    return f"restore#{restore_id}"


def _volume(restore_id: str, index: int) -> str:
    return f"restore-volume#{restore_id}#{index}"


def _of_volume(volume_id: str) -> str:
    return f"restores-of#{volume_id}"


def _fsr(snapshot_id: str, zone: str) -> str:
    return f"fsr#{snapshot_id}#{zone}"


def _claim(item: Mapping[str, Any]) -> FastRestoreClaim:
    """The claim in the table's item."""
    return FastRestoreClaim(
        users=frozenset(item.get("users") or ()),
        last_user=item.get("lastUser"),
        asked_at=_times(item.get("askedAt")),
        enabling_times=_times(item.get("enablingTimes")),
    )


def _times(texts: Any) -> frozenset[datetime]:
    return frozenset(datetime.fromisoformat(text) for text in texts or ())
