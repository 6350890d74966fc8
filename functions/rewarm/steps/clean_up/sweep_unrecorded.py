"""Ends what costs money and is in no record: of a killed calibration, and fast snapshot restores.

`rewarm calibrate` could not remove what it made, because it was killed or its login ended. Its lease in the
table names what it has made. Only that is touched, if EC2 made it while the lease ran.

The claim on a fast snapshot restore may be lost. But the volume's record also notes when EC2 enabled it, and
the volume's execution ran at that time. So Step Functions' list says which records to read.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from rewarm.contracts.benchmarks import KeptLease
from rewarm.domain.model import Strategy, Volume
from rewarm.domain.volume.leftovers import (
    CALIBRATION_TAG,
    CLOCKS_AGREE,
    STACK_TAG,
    SweepState,
    SweptResource,
    failed_sweep,
)
from rewarm.ports import JsonObject
from rewarm.steps.clean_up.sweep_restores import SweepPorts
from rewarm.steps.record.calibrations import covers, known_leases
from rewarm.steps.record.volume import VolumeNotes

CALIBRATIONS = "calibrations"
SWEEP = "fast-snapshot-restores"
LOOKED_FOR = timedelta(days=14)
"""A fast snapshot restore that was enabled longer ago counts as somebody else's."""


def sweep_calibrations(ports: SweepPorts) -> Iterator[SweptResource]:
    """Ends calibrations whose lease is over."""
    for lease in known_leases(ports.pages.history).values():
        if lease.expires_at <= ports.now:
            yield from _end(lease, ports)


def _end(lease: KeptLease, ports: SweepPorts) -> Iterator[SweptResource]:
    """Fast snapshot restores first, because they cost most. A lease that has nothing left is dropped."""
    tags = {STACK_TAG: ports.stack_name, CALIBRATION_TAG: lease.calibration_id}
    snapshots = {
        snapshot.snapshot_id
        for snapshot in ports.tagged_snapshots.of_stack(ports.stack_name)
        if snapshot.snapshot_id in lease.snapshot_ids
        and tags.items() <= snapshot.tags.items()
        and covers(lease, snapshot.started_at)
    }
    volumes = [
        volume
        for volume in ports.volumes.existing(lease.volume_ids)
        if tags.items() <= volume.settings.tags.items() and covers(lease, volume.created_at)
    ]
    if snapshots:
        yield from _fast_restores(snapshots, ports)
    for volume in volumes:
        yield _volume(volume, ports)
    for snapshot_id in sorted(snapshots):
        try:
            ports.tagged_snapshots.delete(snapshot_id)
        except Exception as error:
            yield failed_sweep(CALIBRATIONS, snapshot_id, error)
        else:
            yield SweptResource(CALIBRATIONS, snapshot_id, "ended")
    if not volumes and not snapshots:
        ports.pages.history.end_lease(lease.calibration_id)


def _fast_restores(snapshots: set[str], ports: SweepPorts) -> Iterator[SweptResource]:
    for snapshot_id, zone in ports.fast_restores.enabled_places():
        if snapshot_id not in snapshots:
            continue
        try:
            ports.fast_restores.disable(snapshot_id, zone)
        except Exception as error:
            yield failed_sweep(CALIBRATIONS, f"{snapshot_id}:{zone}", error)
        else:
            yield SweptResource(CALIBRATIONS, f"{snapshot_id}:{zone}", "ended")


def _volume(volume: Volume, ports: SweepPorts) -> SweptResource:
    """Deletes the volume; an attached one is detached now, and deleted by the next sweep."""
    state: SweepState = "ending" if volume.attachments else "ended"
    try:
        for attachment in volume.attachments:
            ports.volumes.detach(volume.volume_id, attachment.instance_id)
        if not volume.attachments:
            ports.volumes.delete(volume.volume_id)
    except Exception as error:
        return failed_sweep(CALIBRATIONS, volume.volume_id, error)
    return SweptResource(CALIBRATIONS, volume.volume_id, state)


Place = tuple[str, str]


def holders(place: Place, ports: SweepPorts) -> Iterator[tuple[str, int] | SweptResource]:
    """Yields the volumes, by restore and index, whose records show that this stack enabled it.

    If a volume's record is lost, yields what somebody must look at instead.
    """
    since = ports.fast_restores.enabling_time(*place)
    if since is None or ports.now - since > LOOKED_FOR:
        return
    for restore_id, index in ports.executions.volumes_at(since):
        record = VolumeNotes(ports.table, restore_id, index).read()
        noted = record.fast_restore
        enabled_at = noted.enabling_time
        if enabled_at is not None and noted.place == place and abs(enabled_at - since) < CLOCKS_AGREE:
            yield restore_id, index
        elif not record.is_known and _was_to_enable(place, restore_id, index, ports):
            yield _unclear(place, restore_id)


def _was_to_enable(place: Place, restore_id: str, index: int, ports: SweepPorts) -> bool:
    begun = ports.executions.begun(restore_id, index)
    if begun is None or begun.runs:
        return False
    strategy = (begun.input.get("plan") or {}).get("strategy")
    return strategy == Strategy.FAST_SNAPSHOT_RESTORE and _place_of(begun.input.get("volume") or {}) == place


def _place_of(known: JsonObject) -> tuple[object, object]:
    return known.get("snapshotId"), known.get("availabilityZone")


def _unclear(place: Place, restore_id: str) -> SweptResource:
    reason = (
        f"it was enabled while {restore_id} ran, whose records are lost, and costs money by the hour; if "
        f"nobody needs it: aws ec2 disable-fast-snapshot-restores --availability-zones {place[1]} "
        f"--source-snapshot-ids {place[0]}"
    )
    return SweptResource(SWEEP, ":".join(place), "left", reason)
