"""Ends what `rewarm calibrate` made and could not remove itself, because it was killed or its login ended.

Everything that it makes carries the stack's tag, the calibration's id and the time from which nobody needs it
any more. Nothing without all three is touched, and nothing that a restore made.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime

from rewarm.domain.model import Volume
from rewarm.domain.volume.leftovers import (
    CALIBRATION_TAG,
    EXPIRES_TAG,
    RESTORE_TAG,
    SweepState,
    SweptResource,
    failed_sweep,
)
from rewarm.steps.clean_up.sweep_restores import SweepPorts

CALIBRATIONS = "calibrations"


def sweep_calibrations(ports: SweepPorts) -> Iterator[SweptResource]:
    """Fast snapshot restores first, because they cost most."""
    owned = ports.calibration_snapshots.of_stack(ports.stack_name)
    snapshots = [snapshot_id for snapshot_id, tags in owned.items() if has_expired(tags, ports.now)]
    if snapshots:
        yield from _fast_restores(set(snapshots), ports)
    for volume in ports.volumes.of_stack(ports.stack_name):
        if has_expired(volume.settings.tags, ports.now):
            yield _volume(volume, ports)
    for snapshot_id in snapshots:
        try:
            ports.calibration_snapshots.delete(snapshot_id)
        except Exception as error:
            yield failed_sweep(CALIBRATIONS, snapshot_id, error)
        else:
            yield SweptResource(CALIBRATIONS, snapshot_id, "ended")


def has_expired(tags: Mapping[str, str], now: datetime) -> bool:
    """Whether these are the tags of a calibration that is over."""
    if CALIBRATION_TAG not in tags or RESTORE_TAG in tags:
        return False
    try:
        return datetime.fromisoformat(tags.get(EXPIRES_TAG, "")) <= now
    except (TypeError, ValueError):
        return False


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
