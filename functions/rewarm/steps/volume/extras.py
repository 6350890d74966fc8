"""Gives back what costs extra: a boost and fast snapshot restore.

A boost is taken back by lowering the volume to the settings that it was ordered with. EC2 takes four
modifications of a volume in 24 hours, and ModifyVolume has no client token. So what EC2 says of the volume
decides what is left to do: however often this is asked, one modification is started.

Fast snapshot restore costs by the hour until it is disabled.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rewarm.domain.errors import (
    ModificationPostponedError,
    RestoreError,
    ServiceUnavailableError,
    ThrottledError,
    VolumeNotFoundError,
)
from rewarm.domain.model import Volume
from rewarm.domain.units import iso
from rewarm.domain.volume.leftovers import FastRestoreClaim
from rewarm.domain.volume.performance import BOOST_TAG, Performance, VolumeModification, parse_performance
from rewarm.ports.restores import RestoreTable
from rewarm.ports.snapshots import FastSnapshotRestores
from rewarm.ports.volumes import VolumeModifications, VolumeStore
from rewarm.steps.record.volume import KnownFastRestore, VolumeNotes, fast_restore_user

UNDER_WAY = "the modification is under way"
LATER = (ThrottledError, ServiceUnavailableError, ModificationPostponedError)


@dataclass(frozen=True, slots=True)
class Lowering:
    """What became of it: `lowered`, `lowering` (ask again later) or `not-lowered` (asking does not help)."""

    state: Literal["lowering", "lowered", "not-lowered"]
    reason: str = ""
    accepted: bool = False
    """EC2 has taken the modification; from its start the lower settings are billed."""


def lower(
    volume_id: str,
    target: str,
    *,
    volumes: VolumeStore,
    modifications: VolumeModifications,
) -> Lowering:
    """Never raises: a volume that is at full speed must not fail for what it costs.

    `target` is what to go back to, by the plan or the record; the volume's tag may say anything.
    """
    try:
        return _lower(volumes.get(volume_id), parse_performance(target), volumes, modifications)
    except VolumeNotFoundError:
        return Lowering("lowered", f"{volume_id} is gone")
    except LATER as error:
        return Lowering("lowering", str(error))
    except (RestoreError, ValueError) as error:
        return Lowering("not-lowered", str(error))


def _lower(
    volume: Volume, target: Performance, volumes: VolumeStore, modifications: VolumeModifications
) -> Lowering:
    change = modifications.latest(volume.volume_id)
    if _is_in_force(volume, target, change):
        return _without_tag(volume, volumes)
    if change is None or change.state != "modifying" or not target.fits(change.target):
        modifications.start(volume.volume_id, target)
    return Lowering("lowering", UNDER_WAY, accepted=True)


def _is_in_force(volume: Volume, target: Performance, change: VolumeModification | None) -> bool:
    if change is not None and change.in_force and target.fits(change.target):
        return True
    return (change is None or not change.under_way) and target.fits(volume.settings)


def _without_tag(volume: Volume, volumes: VolumeStore) -> Lowering:
    """The tag says that there is something to lower; it goes last."""
    try:
        if BOOST_TAG in volume.settings.tags:
            volumes.untag(volume.volume_id, BOOST_TAG)
    except LATER:
        raise
    except RestoreError as error:
        return Lowering("lowered", f"the tag {BOOST_TAG} could not be removed: {error}")
    return Lowering("lowered")


@dataclass(frozen=True, slots=True)
class ReturnedFastRestore:
    """What became of a fast snapshot restore that a volume relied on, in words for people."""

    released: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    """It stays on, because somebody else enabled it, and costs money."""


def release_fast_restore(
    restore_id: str,
    index: int,
    place: tuple[str, str],
    *,
    fast_restores: FastSnapshotRestores,
    table: RestoreTable,
) -> ReturnedFastRestore:
    """Disables it at `place`, a snapshot and an Availability Zone, if we enabled it and no volume needs it.

    The record's notes about this volume are deleted last: a retry after a failed call must find them. Raises
    ThrottledError and ServiceUnavailableError.
    """
    user = fast_restore_user(restore_id, index)
    record = VolumeNotes(table, restore_id, index)
    noted = record.read().fast_restore
    if noted.since is not None:
        claim_again(user, place, noted, table)
    returned = ReturnedFastRestore()
    claim = table.release_fast_snapshot_restore(*place, user)
    if claim is not None:
        returned = _disable(place, claim, fast_restores)
        table.forget_fast_snapshot_restore(*place, user)
    if noted.since is not None:
        record.note_fast_restore(None)
    return returned


def _disable(
    place: tuple[str, str], claim: FastRestoreClaim, fast_restores: FastSnapshotRestores
) -> ReturnedFastRestore:
    name = f"fast snapshot restore of {place[0]} in {place[1]}"
    since = fast_restores.enabling_time(*place)
    # None: EC2 may not show yet what was enabled just now.
    if since is None or claim.is_ours(since):
        fast_restores.disable(*place)
        return ReturnedFastRestore(released=(f"{name} disabled",))
    command = f"aws ec2 disable-fast-snapshot-restores --availability-zones {place[1]} --source-snapshot-ids"
    why = f"it was enabled at {iso(since)}, and not by this restore; to end it: {command} {place[0]}"
    return ReturnedFastRestore(left=(f"{name}, which stays on ({why})",))


def claim_again(user: str, place: tuple[str, str], noted: KnownFastRestore, table: RestoreTable) -> None:
    """Writes the table's claim once more where it is lost, from what is noted of the volume."""
    enabling_time = noted.enabling_time
    if enabling_time is None:
        return
    claim = table.claim(*place)
    is_known = claim is not None and (user in claim.users or claim.last_user == user)
    if claim is None or not is_known or enabling_time not in claim.enabling_times:
        table.claim_fast_snapshot_restore(*place, user, enabling_time=enabling_time)
