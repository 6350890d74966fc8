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


def clean_up_attribute(index: int) -> str:
    """What a failed restore removed and kept."""
    return f"cleanUp{index}"


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
