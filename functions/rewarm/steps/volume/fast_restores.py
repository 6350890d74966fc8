"""Gives fast snapshot restore back, which costs by the hour until it is disabled."""

from __future__ import annotations

from rewarm.ports.restores import RestoreTable
from rewarm.ports.snapshots import FastSnapshotRestores
from rewarm.steps.record.records import attribute, fast_restore_user, preparation_attribute


def release_fast_restore(
    restore_id: str,
    index: int,
    place: tuple[str, str],
    *,
    fast_restores: FastSnapshotRestores,
    table: RestoreTable,
) -> list[str]:
    """Disables it at `place`, a snapshot and an Availability Zone, if we enabled it and no volume needs it.

    Returns what was given back, in words for people. The record's notes about this volume are deleted last:
    a retry after a failed call must find them. Raises ThrottledError and ServiceUnavailableError.
    """
    user = fast_restore_user(restore_id, index)
    released: list[str] = []
    claim = table.release_fast_snapshot_restore(*place, user)
    if claim is not None:
        active_since = fast_restores.enabling_time(*place)
        # None: EC2 may not show yet what was enabled just now.
        if active_since is None or claim.is_ours(active_since):
            fast_restores.disable(*place)
            released.append(f"fast snapshot restore of {place[0]} in {place[1]} disabled")
        table.forget_fast_snapshot_restore(*place, user)
    if attribute(table, restore_id, index, preparation_attribute(index)):
        table.update_volume(restore_id, index, {preparation_attribute(index): None})
    return released
