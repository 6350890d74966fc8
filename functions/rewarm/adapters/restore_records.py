"""The record of a restore, in the table: restore#<id>, and restore-volume#<id>#<index> for each volume.

An item of DynamoDB has 400 KB at most, and each write is billed by the size of the whole item (DynamoDB
developer guide, "Constraints" and "Capacity unit consumption"). So a volume's item holds what happened to the
volume, and the restore's own item stays small: with a hundred volumes it has some ten kilobytes.

A condition of an update sees one item. The marks `attached<index>` and `settled<index>` are therefore on the
restore's item, beside `cancelRequested`. If a mark and a cancellation come at once, DynamoDB accepts one and
refuses the other, without a transaction. Names of executions have no `#`, and keys of volumes begin
differently, so no id of a restore leads to a volume's item.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rewarm.adapters.table_items import TableItems
from rewarm.domain.errors import RestoreNotFoundError
from rewarm.ports import JsonObject
from rewarm.ports.restores import OVER, VOLUME_COUNT, VOLUME_EVENTS, Standing

RESTORE_SECONDS = 400 * 86_400
"""As long as the artifacts bucket keeps reports."""


class DynamoRestoreRecords(TableItems):
    """The port RestoreRecords."""

    def put_new(self, restore_id: str, record: JsonObject) -> bool:
        return self._put_new(_restore(restore_id), record, RESTORE_SECONDS)

    def get(self, restore_id: str) -> JsonObject | None:
        return self._get(_restore(restore_id))

    def get_whole(self, restore_id: str) -> JsonObject | None:
        """The restore's own item first and then those of its volumes, which are so never older than it."""
        found = self.get(restore_id)
        count = 0 if found is None else int(found.get(VOLUME_COUNT) or 0)
        volumes = self._get_many([_volume(restore_id, index) for index in range(count)])
        return found and {**found, **{name: value for volume in volumes for name, value in volume.items()}}

    def standing(self, restore_id: str) -> Standing:
        """Reads two attributes, and not the item with all its events."""
        found = self._get(_restore(restore_id), names=("cancelRequested", "status")) or {}
        return Standing(bool(found.get("cancelRequested", False)), found.get("status"))

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
        self._append(_restore(restore_id), "events", event)

    def get_volume(self, restore_id: str, index: int) -> JsonObject:
        return self._get(_volume(restore_id, index)) or {}

    def update_volume(self, restore_id: str, index: int, changes: JsonObject) -> None:
        self._set(_volume(restore_id, index), changes)

    def append_volume_event(self, restore_id: str, index: int, event: JsonObject) -> None:
        self._append(_volume(restore_id, index), f"{VOLUME_EVENTS}{index}", event)

    def request_cancel(self, restore_id: str, *, unless: Sequence[str] = ()) -> bool:
        """One update of the restore's item, where all marks are that it looks at."""
        names = {f"#u{index}": name for index, name in enumerate(unless)}
        missing = " OR ".join(f"attribute_not_exists({name})" for name in names)
        found = self._update(
            _restore(restore_id),
            "SET cancelRequested = :yes",
            condition="attribute_exists(pk)" + (f" AND ({missing})" if missing else ""),
            names=names,
            values={":yes": True},
        )
        if found is None and self.get(restore_id) is None:
            raise RestoreNotFoundError(f"there is no restore {restore_id}")
        return found is not None

    def set_unless_cancelled(self, restore_id: str, name: str, value: Any) -> bool:
        """One update of the restore's item, where `cancelRequested` is; a mark may be set again."""
        found = self._update(
            _restore(restore_id),
            "SET #name = :value, expiresAt = if_not_exists(expiresAt, :expires)",
            condition="attribute_not_exists(cancelRequested) OR attribute_exists(#name)",
            names={"#name": name},
            values={":value": value, ":expires": self._expiry(RESTORE_SECONDS)},
        )
        return found is not None

    def _set(self, key: str, changes: JsonObject) -> None:
        names = {f"#c{index}": name for index, name in enumerate(changes)}
        values = {f":c{index}": value for index, value in enumerate(changes.values())}
        self._write(key, [f"#c{index} = :c{index}" for index in range(len(changes))], names, values)

    def _append(self, key: str, name: str, event: JsonObject) -> None:
        setting = "#events = list_append(if_not_exists(#events, :none), :new)"
        self._write(key, [setting], {"#events": name}, {":none": [], ":new": [event]})

    def _write(
        self, key: str, settings: list[str], names: Mapping[str, str], values: Mapping[str, Any]
    ) -> None:
        """Whoever comes first says when the item expires."""
        settings = [*settings, "expiresAt = if_not_exists(expiresAt, :expires)"]
        expiry = {":expires": self._expiry(RESTORE_SECONDS)}
        self._update(key, f"SET {', '.join(settings)}", names=names, values={**values, **expiry})


def _restore(restore_id: str) -> str:
    return f"restore#{restore_id}"


def _volume(restore_id: str, index: int) -> str:
    return f"restore-volume#{restore_id}#{index}"
