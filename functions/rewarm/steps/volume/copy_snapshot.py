"""The copy of another Region's snapshot: made once, waited for, and given back; for `Prepare Snapshot`.

CopySnapshot has no idempotency token (botocore). So the record says that we are about to ask, and a copy
whose id was lost is found by its tags and proven by its description, which only the call that makes it sets.
Only if none appears for two minutes a second one is asked for.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from rewarm.contracts.events import PrepareSnapshotEvent
from rewarm.contracts.values import CopiedSnapshot
from rewarm.domain.errors import SnapshotNotUsableError
from rewarm.domain.model import CopyOrder, Snapshot
from rewarm.domain.units import iso
from rewarm.domain.volume.leftovers import COPY_TAG, INDEX_TAG, RESTORE_TAG, STACK_TAG
from rewarm.domain.volume.proof import CREATION_TAG, copy_description, own_copies
from rewarm.ports import JsonObject
from rewarm.ports.restores import RestoreTable
from rewarm.ports.snapshots import SnapshotCopies
from rewarm.steps.record.volume import SnapshotCopy, VolumeNotes

APPEARANCE_PATIENCE = timedelta(minutes=2)
"""DescribeSnapshots may not show what CopySnapshot has just made."""
WAIT_SECONDS = (15, 600)
"""Half of what is left, within these bounds: some 300 looks in 48 hours, and a close one at the end."""


@dataclass(frozen=True, slots=True)
class Copying:
    """How far it is; `snapshot_id` is there once the copy is complete."""

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
    """Starts the copy, or looks how far it is. Raises SnapshotNotUsableError."""
    index, record = event.volume.index, VolumeNotes(table, event.restore_id, event.volume.index)
    noted = record.read().snapshot_copy
    found_copies = copies.of_restore(event.restore_id, index) if noted.asked_at else []
    made = list(own(found_copies, event.restore_id, index, noted))
    found = _found(noted, made)
    minutes = event.plan.copy_minutes or 0
    if found is None and _is_due(noted, event.now):
        asked: JsonObject = {"askedAt": iso(event.now), "of": source.snapshot_id, "region": source.region}
        record.note_snapshot_copy(asked)
        started = copies.start(_order(event, source, minutes, stack_name))
        record.note_snapshot_copy({**asked, "snapshotId": started})
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
    """Deletes what was copied for the volume, and returns it in words. Does nothing where nothing was."""
    noted = VolumeNotes(table, restore_id, index).read().snapshot_copy
    if noted.asked_at is None:
        return []
    found = list(own(copies.of_restore(restore_id, index), restore_id, index, noted))
    for snapshot in found:
        copies.delete(snapshot.snapshot_id)
    return [f"snapshot copy {snapshot.snapshot_id}" for snapshot in found]


def own(tagged: Sequence[Snapshot], restore_id: str, index: int, noted: SnapshotCopy) -> Iterator[Snapshot]:
    """The copies that were made for the volume."""
    if noted.asked_at is None:
        return iter(())
    description = copy_description(noted.of, noted.region, restore_id, index)
    return own_copies(tagged, noted.snapshot_id, description, noted.asked_at)


def _found(noted: SnapshotCopy, made: list[Snapshot]) -> Snapshot | None:
    """The one that the record names, else the first of them."""
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
            CREATION_TAG: event.restore_id,
        },
        description=copy_description(source.snapshot_id, source.region, event.restore_id, event.volume.index),
    )
