"""What a volume costs beside itself, and how it is given back: a copied snapshot, a boost, fast restore.

The copy of another Region's snapshot is made once, waited for, and given back; for `Prepare Snapshot`.
CopySnapshot has no idempotency token (botocore). So the record says that we are about to ask. A copy whose id
was lost is found by its tags, and proven by its description, which only the call that makes it sets. Only if
none appears for two minutes a second one is asked for.

A boost ends when the volume is lowered to the ordered settings. EC2 accepts four modifications of a volume in
24 hours, and ModifyVolume has no client token. So EC2's description of the volume decides what is left to do:
however often this is called, one modification is started.

Fast snapshot restore costs by the hour until it is disabled.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Literal

from rewarm.contracts.events import PrepareSnapshotEvent
from rewarm.contracts.values import CopiedSnapshot
from rewarm.domain.errors import (
    ModificationPostponedError,
    RestoreError,
    ServiceUnavailableError,
    SnapshotNotUsableError,
    ThrottledError,
    VolumeNotFoundError,
)
from rewarm.domain.model import CopyOrder, Snapshot, Volume
from rewarm.domain.units import iso
from rewarm.domain.value import Value
from rewarm.domain.volume.leftovers import COPY_TAG, INDEX_TAG, RESTORE_TAG, STACK_TAG, FastRestoreClaim
from rewarm.domain.volume.performance import BOOST_TAG, PerformanceSettings, parse_performance
from rewarm.domain.volume.proof import CREATION_TAG, copy_description, own_copies
from rewarm.ports import JsonObject
from rewarm.ports.restores import RestoreTable
from rewarm.ports.snapshots import FastSnapshotRestores, SnapshotCopies
from rewarm.ports.volumes import VolumeModifications, VolumeStore
from rewarm.steps.record.volume import KnownFastRestore, SnapshotCopy, VolumeNotes, fast_restore_user

APPEARANCE_PATIENCE = timedelta(minutes=2)
"""DescribeSnapshots may not show what CopySnapshot has just made."""
MOST_UNANSWERED_CALLS = 8
WAIT_SECONDS = (15, 600)
"""Half of what is left, within these bounds: some 300 looks in 48 hours, and a close one at the end."""
UNDER_WAY = "the modification is under way"
LATER = (ThrottledError, ServiceUnavailableError, ModificationPostponedError)


class Copying(Value):
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
    index = event.volume.index
    record = VolumeNotes(table, event.restore_id, event.volume.index)
    noted = record.read().snapshot_copy
    found_copies = copies.of_restore(event.restore_id, index) if noted.asked_at else []
    made = own(found_copies, event.restore_id, index, noted)
    found = min(
        made,
        key=lambda copy: (copy.snapshot_id != noted.snapshot_id, copy.started_at, copy.snapshot_id),
        default=None,
    )
    minutes = event.plan.copy_minutes or 0
    is_due = noted.asked_at is None or event.now - noted.asked_at > APPEARANCE_PATIENCE
    if found is None and is_due:
        _start(_order(event, source, minutes, stack_name), event.now, noted, copies, record)
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


def _start(
    order: CopyOrder, now: datetime, noted: SnapshotCopy, copies: SnapshotCopies, record: VolumeNotes
) -> None:
    """Asks for the copy. Where EC2 refuses it, none was made, so the next try need not wait."""
    if noted.unanswered == MOST_UNANSWERED_CALLS:
        raise SnapshotNotUsableError(
            f"EC2 was asked {MOST_UNANSWERED_CALLS} times to copy {order.snapshot_id} from {order.region}; "
            "it did not answer, and no copy appeared"
        )
    asked: JsonObject = {"askedAt": iso(now), "of": order.snapshot_id, "region": order.region}
    asked["unanswered"] = noted.unanswered + 1
    record.note_snapshot_copy(asked)
    try:
        started = copies.start(order)
    except ServiceUnavailableError:
        raise
    except RestoreError:
        record.note_copy_refused(noted)
        raise
    record.note_snapshot_copy({**asked, "snapshotId": started})


def _order(event: PrepareSnapshotEvent, source: CopiedSnapshot, minutes: int, stack_name: str) -> CopyOrder:
    from rewarm.domain.volume.hot import lineage_tags  # noqa: PLC0415 - few restores copy

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
            **lineage_tags(event.volume.lineage),
        },
        description=copy_description(source.snapshot_id, source.region, event.restore_id, event.volume.index),
    )


class Lowering(Value):
    """What became of the boost: `lowered`, `lowering` (call again) or `not-lowered` (for good)."""

    state: Literal["lowering", "lowered", "not-lowered"]
    reason: str = ""
    accepted: bool = False
    """EC2 has accepted the modification; from its start the lower settings are billed."""


def lower(
    volume_id: str, target: str, *, volumes: VolumeStore, modifications: VolumeModifications
) -> Lowering:
    """Lowers the volume. Never raises, because a volume at full speed must not fail for what it costs.

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
    volume: Volume, target: PerformanceSettings, volumes: VolumeStore, modifications: VolumeModifications
) -> Lowering:
    change = modifications.latest(volume.volume_id)
    is_in_force = change is not None and change.in_force and target.fits(change.target)
    if is_in_force or ((change is None or not change.under_way) and target.fits(volume.settings)):
        return _without_tag(volume, volumes)
    if change is None or change.state != "modifying" or not target.fits(change.target):
        modifications.start(volume.volume_id, target)
    return Lowering("lowering", UNDER_WAY, accepted=True)


def _without_tag(volume: Volume, volumes: VolumeStore) -> Lowering:
    """Removes the tag last, because it says that there is something to lower."""
    try:
        if BOOST_TAG in volume.settings.tags:
            volumes.untag(volume.volume_id, BOOST_TAG)
    except LATER:
        raise
    except RestoreError as error:
        return Lowering("lowered", f"the tag {BOOST_TAG} could not be removed: {error}")
    return Lowering("lowered")


class ReturnedFastRestore(Value):
    """What became of a fast snapshot restore that a volume relied on, in words for people."""

    released: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    """What stays enabled and costs money, because somebody else enabled it."""


def release_fast_restore(
    restore_id: str,
    index: int,
    place: tuple[str, str],
    *,
    fast_restores: FastSnapshotRestores,
    table: RestoreTable,
) -> ReturnedFastRestore:
    """Disables it at `place`, a snapshot and an Availability Zone, if we enabled it and no volume needs it.

    The record's notes about it are deleted last, so that a retry finds them. Raises ThrottledError and
    ServiceUnavailableError.
    """
    user = fast_restore_user(restore_id, index)
    record = VolumeNotes(table, restore_id, index)
    noted = record.read().fast_restore
    claim_again(user, place, noted, table)
    returned = ReturnedFastRestore()
    claim = table.release_fast_snapshot_restore(*place, user)
    if claim is not None:
        returned = _disable(place, claim, fast_restores)
        table.forget_fast_snapshot_restore(*place, user)
    if noted.snapshot_id is not None:
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
    """Writes a lost claim to the table again, from the volume's record."""
    enabling_time = noted.enabling_time
    if enabling_time is None:
        return
    claim = table.claim(*place)
    is_known = claim is not None and (user in claim.users or claim.last_user == user)
    if claim is None or not is_known or enabling_time not in claim.enabling_times:
        table.claim_fast_snapshot_restore(*place, user, enabling_time=enabling_time)
