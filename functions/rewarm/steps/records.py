"""A restore's attributes in the table: one per concern and volume, so that writers never collide."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from rewarm.domain.errors import RestoreCancelledError
from rewarm.ports import JsonObject, RestoreTable


class Status(StrEnum):
    """Where a restore is."""

    ACCEPTED = "accepted"
    PLANNING = "planning"
    PLANNED = "planned"
    RESTORING = "restoring"
    INITIALIZING = "initializing"
    READY = "ready"
    FAILED = "failed"
    CANCELLED = "cancelled"
    REFUSED = "refused"
    DUPLICATE = "duplicate"
    SUPPRESSED = "suppressed"


FINISHED = frozenset(
    {
        Status.READY,
        Status.FAILED,
        Status.CANCELLED,
        Status.REFUSED,
        Status.DUPLICATE,
        Status.SUPPRESSED,
    }
)

VOLUME_COUNT = "volumeCount"
"""How many volumes the restore is to have, noted once they are chosen."""
REFUSALS = frozenset({"TargetBusyError", "TooManyRestoresError"})
"""Errors of a restore that was in the way of another one: nothing was made."""


def volume_attribute(index: int) -> str:
    """The volume made: volumeId, snapshotId, strategy, createdAt."""
    return f"volume{index}"


def command_attribute(index: int) -> str:
    """The warm-up command: what dispatch_warmer answered, and for which volume."""
    return f"command{index}"


def preparation_attribute(index: int) -> str:
    """Fast snapshot restore: enabledByUs, since."""
    return f"fastSnapshotRestore{index}"


def boost_attribute(index: int) -> str:
    """A volume made with more performance than it is to have: with what, and whether it is lowered."""
    return f"boost{index}"


def initialization_attribute(index: int) -> str:
    """How far the initialization was at the last poll."""
    return f"initialization{index}"


def measured_attribute(index: int) -> str:
    """Estimate against actual, part by part."""
    return f"measured{index}"


def replaced_attribute(index: int) -> str:
    """The volume whose place this one takes: which, since when, and whether it is back."""
    return f"replaced{index}"


def fallback_attribute(index: int) -> str:
    """What was decided after the latest failure, and why: how, why, rejected."""
    return f"fallback{index}"


def clean_up_attribute(index: int) -> str:
    """What a failed restore removed and kept."""
    return f"cleanUp{index}"


def story_attribute(index: int) -> str:
    """What was known of a volume whose restore failed, for the report."""
    return f"story{index}"


def report_attribute(index: int) -> str:
    """Where the account of a volume is that came to full speed."""
    return f"report{index}"


def attached_attribute(index: int) -> str:
    """The volume was announced as attached: volumeId, device, at. From then on it is never deleted."""
    return f"attached{index}"


def settled_attribute(index: int) -> str:
    """The volume is at full speed: it cannot be cancelled any more."""
    return f"settled{index}"


def measurement_attribute(index: int) -> str:
    """The latest command that measures: commandId, instanceId, volumeId."""
    return f"measurement{index}"


def indexes(record: JsonObject) -> list[int]:
    """Of the restore's volumes, as far as the record knows them."""
    plans = [one["index"] for one in record.get("plans") or []]
    made = [int(name[6:]) for name in record if name.startswith("volume") and name[6:].isdecimal()]
    return sorted({*plans, *made})


def fast_restore_user(restore_id: str, index: int) -> str:
    """Who relies on a fast snapshot restore."""
    return f"{restore_id}/{index}"


def attribute(table: RestoreTable, restore_id: str, name: str) -> JsonObject:
    """One attribute of the record; empty where it is missing."""
    value = (table.get(restore_id) or {}).get(name)
    return value if isinstance(value, dict) else {}


def stop_if_cancelled(table: RestoreTable, restore_id: str) -> None:
    """Raises RestoreCancelledError."""
    if table.is_cancelled(restore_id):
        raise RestoreCancelledError("the restore was cancelled, as asked for")


def parsed_time(value: object) -> datetime | None:
    """A time that was written to the record as text."""
    return datetime.fromisoformat(value) if isinstance(value, str) else None
