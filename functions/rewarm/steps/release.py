"""States `Release` and `Release Snapshot`: fast snapshot restore off, where it is ours and unused."""

from __future__ import annotations

from rewarm.contracts import ReleaseEvent, ReleaseResult, VolumeAssignment
from rewarm.ports import FastSnapshotRestores, RestoreTable
from rewarm.steps.records import attribute, fast_restore_user, preparation_attribute


def release(
    event: ReleaseEvent, *, fast_restores: FastSnapshotRestores, table: RestoreTable
) -> ReleaseResult:
    """Idempotent; does nothing for the strategies that leave nothing running."""
    released = release_fast_restore(event.restore_id, event.volume, fast_restores=fast_restores, table=table)
    return ReleaseResult(released=released)


def release_fast_restore(
    restore_id: str, volume: VolumeAssignment, *, fast_restores: FastSnapshotRestores, table: RestoreTable
) -> list[str]:
    """What was given back, in words.

    The note that this volume relies on it goes last: a retry after a failed disable must find it.
    """
    user = fast_restore_user(restore_id, volume.index)
    place = (volume.snapshot_id, volume.availability_zone)
    released: list[str] = []
    if table.release_fast_snapshot_restore(*place, user):
        fast_restores.disable(*place)
        released.append(f"fast snapshot restore of {place[0]} in {place[1]} disabled")
    if attribute(table, restore_id, preparation_attribute(volume.index)):
        table.update(restore_id, {preparation_attribute(volume.index): None})
    return released
