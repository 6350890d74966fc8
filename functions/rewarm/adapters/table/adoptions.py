"""What rules know of volumes, in items of the one table.

Each volume is an item `adoption#<volume>`. While rules look at it, it has the status NOTED, by which the
table's index lists it. Once they have dealt with it, it says what did so. A conditional write lets that
happen once. Instances that have just begun to run are noted alike. The item `adoptions` is the ledger: what
runs, what the day has used, and what the next message will say. It is replaced only as a whole, so looks that
overlap decide one after the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from rewarm.adapters.table.table_items import TableItems, key_of, unless_refused
from rewarm.domain.units import iso
from rewarm.ports import JsonObject
from rewarm.ports.restores import NOTED

_DAY = 86_400
NOTED_SECONDS = 3 * _DAY
"""Rules look at a volume for a day."""
CLAIMED_SECONDS = 400 * _DAY
"""Rules look at no volume that is older than a day, so this could be shorter; records last as long."""
_LEDGER, _LOOK = "adoptions", "adoptions-look"


class DynamoAdoptions(TableItems):
    """The port Adoptions."""

    def note(self, name: str) -> None:
        noted_at = datetime.fromtimestamp(self._clock(), UTC)
        self._put_new(_key(name), {"status": NOTED, "startedAt": iso(noted_at)}, NOTED_SECONDS)

    def forget(self, name: str) -> None:
        unless_refused(
            self._dynamodb.delete_item,
            TableName=self._table,
            Key=key_of(_key(name)),
            ConditionExpression="attribute_not_exists(claimedBy)",
        )

    def claim(self, volume_id: str, by: str) -> bool:
        claimed = self._update(
            _key(volume_id),
            "SET claimedBy = :by, expiresAt = :expires REMOVE #status, startedAt",
            names={"#status": "status"},
            values={":by": by, ":expires": self._expiry(CLAIMED_SECONDS)},
            condition="attribute_not_exists(claimedBy) OR claimedBy = :by",
        )
        return claimed is not None

    def claimed(self, volume_ids: Sequence[str]) -> set[str]:
        keys = {_key(name): name for name in volume_ids}
        return {keys[key] for key, found in self._get_named(list(keys), ["claimedBy"]) if found}

    def ledger(self) -> tuple[JsonObject, str | None]:
        found = self._get(_LEDGER) or {}
        return found.get("ledger") or {}, found.get("version")

    def keep(self, ledger: JsonObject, version: str | None) -> bool:
        return self._put_whole(_LEDGER, {"ledger": ledger}, version, CLAIMED_SECONDS)

    def takes_turn(self, now: datetime, until: datetime) -> bool:
        taken = self._update(
            _LOOK,
            "SET lookAt = :until, expiresAt = :expires",
            values={
                ":now": now.timestamp(),
                ":until": until.timestamp(),
                ":expires": self._expiry(NOTED_SECONDS),
            },
            condition="attribute_not_exists(lookAt) OR lookAt <= :now",
        )
        return taken is not None

    def looked(self, at: datetime) -> None:
        values = {":at": iso(at), ":expires": self._expiry(NOTED_SECONDS)}
        self._update(_LOOK, "SET lookedAt = :at, expiresAt = :expires", values=values)

    def looked_at(self) -> datetime | None:
        found = (self._get(_LOOK) or {}).get("lookedAt")
        return datetime.fromisoformat(found) if found else None


def _key(name: str) -> str:
    return f"adoption#{name}"
