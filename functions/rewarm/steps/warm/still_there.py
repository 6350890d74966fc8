"""Whether the volume that is to be called ready is still where it was put: anybody may take it away."""

from __future__ import annotations

from rewarm.contracts import VolumeAssignment
from rewarm.domain.errors import VolumeFailedError
from rewarm.ports.volumes import VolumeStore

USABLE = frozenset({"available", "in-use"})
IN_PLACE = frozenset({"attached", "busy"})
"""Busy is one that somebody wants to detach while it is in use (EC2 API, VolumeAttachment)."""


def check_still_there(volume_id: str, assignment: VolumeAssignment, volumes: VolumeStore) -> None:
    """Raises VolumeNotFoundError and VolumeFailedError."""
    volume = volumes.get(volume_id)
    if volume.state not in USABLE:
        raise VolumeFailedError(f"{volume_id} is {volume.state}, and was to be ready")
    instance_id = assignment.instance_id
    if instance_id is None:
        return
    if not any(one.instance_id == instance_id and one.state in IN_PLACE for one in volume.attachments):
        raise VolumeFailedError(
            f"{volume_id} is no longer attached to {instance_id}: somebody has detached it meanwhile"
        )
