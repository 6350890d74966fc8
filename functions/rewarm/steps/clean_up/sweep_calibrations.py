"""Ends what `rewarm calibrate` made and could not remove itself, because it was killed or its login ended.

Its lease in the table names what it has made. Only that is touched, if EC2 made it while the lease ran.
"""

from __future__ import annotations

from collections.abc import Iterator

from rewarm.contracts.benchmarks import KeptLease
from rewarm.domain.model import Volume
from rewarm.domain.volume.leftovers import (
    CALIBRATION_TAG,
    STACK_TAG,
    SweepState,
    SweptResource,
    failed_sweep,
)
from rewarm.steps.clean_up.sweep_restores import SweepPorts
from rewarm.steps.record.leases import covers, known_leases

CALIBRATIONS = "calibrations"


def sweep_calibrations(ports: SweepPorts) -> Iterator[SweptResource]:
    """Those whose lease is over."""
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
    """A volume that is attached is detached now, and deleted by the next sweep."""
    state: SweepState = "ending" if volume.attachments else "ended"
    try:
        for attachment in volume.attachments:
            ports.volumes.detach(volume.volume_id, attachment.instance_id)
        if not volume.attachments:
            ports.volumes.delete(volume.volume_id)
    except Exception as error:
        return failed_sweep(CALIBRATIONS, volume.volume_id, error)
    return SweptResource(CALIBRATIONS, volume.volume_id, state)
