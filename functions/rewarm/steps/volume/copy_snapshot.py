"""The copy of another Region's snapshot: made once, waited for, and deleted; for `Prepare Snapshot`.

CopySnapshot has no idempotency token (botocore). So the record says that we are about to ask, and a copy
whose id was lost is found by its tags. Only if none appears within two minutes, another one is asked for.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime, timedelta

from rewarm.contracts.events import PrepareSnapshotEvent
from rewarm.contracts.values import CopiedSnapshot
from rewarm.domain.errors import SnapshotNotUsableError
from rewarm.domain.model import CopyOrder, Snapshot
from rewarm.domain.units import iso
from rewarm.domain.volume.leftovers import COPY_TAG, INDEX_TAG, RESTORE_TAG, STACK_TAG
from rewarm.ports import JsonObject
from rewarm.ports.restores import RestoreTable
from rewarm.ports.snapshots import SnapshotCopies
from rewarm.steps.record.volume import SnapshotCopy, VolumeNotes

APPEARANCE_PATIENCE = timedelta(minutes=2)
"""DescribeSnapshots may not show what CopySnapshot has just made."""
WAIT_SECONDS = (15, 600)
"""Waits are half of what is left, within these bounds: some 300 checks in 48 hours, frequent at the end."""


@dataclass(frozen=True, slots=True)
class Copying:
    """The copy's state; `snapshot_id` is None until the copy is complete."""

    snapshot_id: str | None
    wait_seconds: int
    state: str


def copy_snapshot(
    event: PrepareSnapshotEvent,
    source: CopiedSnapshot,
    *,
    copies: SnapshotCopies,
    table: RestoreTable,
    stack_name: str,
) -> Copying:
    """Starts the copy, or returns its state. Raises SnapshotNotUsableError."""
    index, record = event.volume.index, VolumeNotes(table, event.restore_id, event.volume.index)
    noted = record.read().snapshot_copy
    found = _found(noted, copies.of_restore(event.restore_id, index) if noted.asked_at else [])
    minutes = event.plan.copy_minutes or 0
    if found is None and _is_due(noted, event.now):
        asked: JsonObject = {"askedAt": iso(event.now), "of": source.snapshot_id, "region": source.region}
        record.note_snapshot_copy(asked)
        made = copies.start(_order(event, source, minutes, stack_name))
        record.note_snapshot_copy({**asked, "snapshotId": made})
    if found is None:
        return Copying(None, WAIT_SECONDS[0], "copying")
    if found.state == "error":
        raise SnapshotNotUsableError(
            f"the copy {found.snapshot_id} of {source.snapshot_id} from {source.region} failed: "
            f"{found.state_message or 'EC2 gives no reason'}"
        )
    if found.state == "completed":
        return Copying(found.snapshot_id, WAIT_SECONDS[0], "copied")
    left = (found.started_at + timedelta(minutes=minutes) - event.now).total_seconds()
    low, high = WAIT_SECONDS
    wait = max(low, min(high, math.ceil(left / 2)))
    return Copying(None, wait, f"copying, {found.progress_percent} % done")


def delete_copies(restore_id: str, index: int, *, copies: SnapshotCopies, table: RestoreTable) -> list[str]:
    """Deletes the snapshots that were copied for the volume, and returns them in words."""
    if VolumeNotes(table, restore_id, index).read().snapshot_copy.asked_at is None:
        return []
    found = copies.of_restore(restore_id, index)
    for snapshot in found:
        copies.delete(snapshot.snapshot_id)
    return [f"snapshot copy {snapshot.snapshot_id}" for snapshot in found]


def _found(noted: SnapshotCopy, made: list[Snapshot]) -> Snapshot | None:
    """The copy that the record names, else the first one with our tags."""
    ordered = sorted(made, key=lambda snapshot: (snapshot.started_at, snapshot.snapshot_id))
    named = [snapshot for snapshot in ordered if snapshot.snapshot_id == noted.snapshot_id]
    return next(iter([*named, *ordered]), None)


def _is_due(noted: SnapshotCopy, now: datetime) -> bool:
    return noted.asked_at is None or now - noted.asked_at > APPEARANCE_PATIENCE


def _order(event: PrepareSnapshotEvent, source: CopiedSnapshot, minutes: int, stack_name: str) -> CopyOrder:
    return CopyOrder(
        snapshot_id=source.snapshot_id,
        region=source.region,
        minutes=minutes,
        kms_key_id=event.volume.volume.kms_key_id,
        tags={
            COPY_TAG: source.snapshot_id,
            STACK_TAG: stack_name,
            RESTORE_TAG: event.restore_id,
            INDEX_TAG: str(event.volume.index),
        },
    )
