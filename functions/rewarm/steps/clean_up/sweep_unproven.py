"""Names things with our tags that no record proves ours: they cost money, and nobody here may remove them.

Either the record is lost, or somebody has put our tags on another's thing. So it is left as it is. Once a day
the sweep that finds it fails, which raises the alarm `sweep-errors`; its log has a command for each. A thing
that EC2 made while its restore did not run cannot be left over, so it is not named.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime

from rewarm.domain.model import Snapshot, Volume
from rewarm.domain.volume.leftovers import (
    CALIBRATION_TAG,
    COPY_TAG,
    INDEX_TAG,
    RESTORE_TAG,
    SweptResource,
    failed_sweep,
    restore_and_index,
    untouchable,
)
from rewarm.domain.volume.performance import BOOST_TAG, performance_of
from rewarm.domain.volume.proof import (
    RECORDS_LAST,
    could_be_of,
    to_hear_no_more,
    unproven_snapshot,
    unproven_volume,
)
from rewarm.domain.volume.replacing import REPLACED_FROM_TAG, REPLACED_TAG, living, place_of
from rewarm.steps.clean_up.clean_up_account import UNPROVEN
from rewarm.steps.clean_up.sweep_restores import SweepPorts
from rewarm.steps.record.calibrations import known_leases
from rewarm.steps.record.restore import KnownRestore
from rewarm.steps.record.volume import CleanedUp, VolumeNotes
from rewarm.steps.volume.extras import own

UNPROVEN_THINGS = "unproven"
OF_NO_LEASE = "it has the tags of a calibration, and no calibration's lease names it"


def named(resource: str, reason: str, ports: SweepPorts) -> Iterator[SweptResource]:
    """Reports it once a day, with the command for whoever wants to keep it."""
    yield from _once_a_day(resource, reason + to_hear_no_more(resource), ports)


def _once_a_day(resource: str, reason: str, ports: SweepPorts) -> Iterator[SweptResource]:
    """Only the first sweep of the day that finds it reports it."""
    claim = f"sweep unproven {resource} {ports.now:%Y-%m-%d}"
    if ports.table.claim_event(claim, ports.owner) == ports.owner:
        yield SweptResource(UNPROVEN_THINGS, resource, "left", reason)


def name_volumes(
    volumes: Iterable[Volume], restore_id: str, index: int, record: KnownRestore, ports: SweepPorts
) -> Iterator[SweptResource]:
    """Names the unproven volumes whose tags name this volume of a restore that is over."""
    known = record.volume(index)
    kept = (known.clean_up or CleanedUp()).kept_volumes
    own_ids = {volume.volume_id for volume in known.own_volumes(volumes)}
    others = [
        volume
        for volume in volumes
        if volume.volume_id not in {*own_ids, *kept} and untouchable(volume.settings.tags) is None
    ]
    if not others or not ports.executions.is_over(restore_id, index):
        return
    since = _failed_since(restore_id, index, ports) if record.status is None else record.started_at
    for volume in others:
        if since is not None and could_be_of(volume.created_at, since, record.finished_at or ports.now):
            yield from named(volume.volume_id, unproven_volume(volume, UNPROVEN), ports)


def name_boost(volume: Volume, ports: SweepPorts) -> Iterator[SweptResource]:
    """Names a volume with a boost if its record, or the tag that leads to the record, is lost."""
    if ports.now - volume.created_at < RECORDS_LAST:
        reason = (
            f"it has the tag {BOOST_TAG}, and no record says that it was boosted; it is "
            f"{performance_of(volume.settings).in_words}, which is billed; it may be somebody else's; if it "
            f"needs less: aws ec2 modify-volume --volume-id {volume.volume_id} --iops … --throughput …"
        )
        yield from named(volume.volume_id, reason, ports)


def name_replaced(volume: Volume, ports: SweepPorts) -> Iterator[SweptResource]:
    """Names a volume that only its tags call replaced; they may name any place."""
    name = volume.volume_id
    tags = volume.settings.tags
    place = place_of(tags)
    if living(volume) or place is None or _failed_since(tags[REPLACED_TAG], place.index, ports) is None:
        return
    reason = (
        f"it is detached, and its tags say that the restore {tags[REPLACED_TAG]} has replaced it at "
        f"{tags[REPLACED_FROM_TAG]}, of which no record says anything; look whether that is true, and where "
        f"it belongs: aws ec2 attach-volume --volume-id {name} --instance-id … --device …; to keep it and "
        f"hear no more of it: aws ec2 delete-tags --resources {name} --tags Key=rewarm:replaced-by-stack"
    )
    yield from _once_a_day(name, reason, ports)


def sweep_unproven(ports: SweepPorts) -> Iterator[SweptResource]:
    """Names things of calibrations and copies of snapshots; other sweeps name volumes of restores."""
    leases = known_leases(ports.pages.history).values()
    leased = {name for lease in leases for name in (*lease.volume_ids, *lease.snapshot_ids)}
    oldest = ports.now - RECORDS_LAST
    for volume in ports.volumes.of_stack(ports.stack_name):
        tags = volume.settings.tags
        is_leased = RESTORE_TAG in tags or volume.volume_id in leased
        if CALIBRATION_TAG in tags and not is_leased and volume.created_at > oldest:
            yield from named(volume.volume_id, unproven_volume(volume, OF_NO_LEASE), ports)
    for snapshot in ports.tagged_snapshots.of_stack(ports.stack_name):
        if not ports.has_time():
            return
        try:
            if COPY_TAG in snapshot.tags:
                yield from _copy(snapshot, ports)
            elif snapshot.snapshot_id not in leased and snapshot.started_at > oldest:
                yield from named(snapshot.snapshot_id, unproven_snapshot(snapshot, OF_NO_LEASE), ports)
        except Exception as error:
            yield failed_sweep(UNPROVEN_THINGS, snapshot.snapshot_id, error)


def _copy(snapshot: Snapshot, ports: SweepPorts) -> Iterator[SweptResource]:
    """Names a copy unless it is a restore's own, or was there before the restore."""
    place = restore_and_index(f"{snapshot.tags.get(RESTORE_TAG, '')}/{snapshot.tags.get(INDEX_TAG, '')}")
    if place is None or not ports.executions.is_over(*place):
        return
    noted = VolumeNotes(ports.table, *place).read().snapshot_copy
    since = noted.asked_at or _failed_since(*place, ports)
    is_own = next(own([snapshot], *place, noted), None) is not None
    if not is_own and since is not None and could_be_of(snapshot.started_at, since, ports.now):
        yield from named(snapshot.snapshot_id, unproven_snapshot(snapshot, UNPROVEN), ports)


def _failed_since(restore_id: str, index: int, ports: SweepPorts) -> datetime | None:
    """When the execution of a volume began whose record is lost; None where it runs or was ready, or where
    Step Functions knows nothing of it.
    """
    begun = ports.executions.begun(restore_id, index)
    is_unknown = begun is None or begun.runs or begun.status == "SUCCEEDED"
    return None if begun is None or is_unknown else begun.started_at
