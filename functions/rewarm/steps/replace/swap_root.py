"""State `Replace Root`: EC2 makes the new volume the root volume of its running instance, which it reboots.

The new volume is at full speed by then. It leaves the device at which it was warmed up, and a task of EC2
puts it in the place of the old one, which is kept. Until EC2 is asked, the instance notices nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from rewarm.contracts import ReplaceEvent, ReplaceResult
from rewarm.contracts.base import JsonObject
from rewarm.domain.errors import (
    AccessDeniedError,
    RequestRefusedError,
    RestoreCancelledError,
    TargetNotFoundError,
    VolumeFailedError,
)
from rewarm.domain.units import duration_text, iso
from rewarm.domain.volume.replacing import LEAVING, REPLACED_STACK_TAG, REPLACED_TAG, Place, living
from rewarm.ports.instances import RootVolumes
from rewarm.ports.restores import RestoreTable
from rewarm.ports.volumes import VolumeStore
from rewarm.steps.record.records import ENDED, attached_attribute, attribute, parsed_time, replaced_attribute

WAIT_SECONDS = 5
LEAVE_PATIENCE = timedelta(minutes=5)
"""A detachment takes seconds, or hangs for as long as something uses the volume (botocore: DetachVolume)."""
SWAP_PATIENCE = timedelta(minutes=30)
"""AWS names no time for a task. An instance boots in minutes."""


@dataclass(frozen=True, kw_only=True)
class SwapPorts:
    """The ports that swapping a root volume needs."""

    volumes: VolumeStore
    roots: RootVolumes
    table: RestoreTable
    stack_name: str


def may_be_root(restore_id: str, index: int, volume_id: str | None, table: RestoreTable) -> bool:
    """Whether EC2 was asked to swap this volume in: then nobody deletes it, whatever became of that."""
    mark: JsonObject = (table.get(restore_id) or {}).get(attached_attribute(index)) or {}
    return volume_id is not None and mark.get("volumeId") == volume_id


def swap_root(event: ReplaceEvent, old: str, place: Place, ports: SwapPorts) -> ReplaceResult:
    """Asks EC2 once, and returns how far it is; it is called again.

    Raises VolumeFailedError, AccessDeniedError, RequestRefusedError, TargetNotFoundError,
    RestoreCancelledError.
    """
    new = event.volume_id or ""
    if not may_be_root(event.restore_id, place.index, new, ports.table):
        if not _has_left(event, new, ports.volumes):
            return _result(event, "detaching", event.pending.started_at if event.pending else None)
        _begin(event, old, place, ports)
    noted = attribute(ports.table, event.restore_id, place.index, replaced_attribute(place.index))
    started_at = parsed_time(noted.get("startedAt")) or event.now
    # The same token: where the answer got lost, this is the same task.
    try:
        task = noted.get("taskId") or ports.roots.begin_swap(
            place.instance_id, new, client_token=f"{event.restore_id}-{place.index}-root"
        )
    except (AccessDeniedError, RequestRefusedError, TargetNotFoundError):
        _not_begun(event, place, ports)
        raise
    if task != noted.get("taskId"):
        _note(event, place, {**noted, "taskId": task}, ports)
    if not _has_ended(event, old, place, (task, started_at), ports):
        return _result(event, "swapping", started_at)
    # Without the place in the tags: nothing puts it back.
    ports.volumes.tag(old, {REPLACED_TAG: event.restore_id, REPLACED_STACK_TAG: ports.stack_name})
    ports.volumes.set_delete_on_termination(
        place.instance_id, place.device, delete=place.delete_on_termination
    )
    return _result(event, "swapped", started_at)


def _has_left(event: ReplaceEvent, new: str, volumes: VolumeStore) -> bool:
    """The new volume has left the device beside; EC2 swaps in only what is available."""
    volume = volumes.get(new)
    attached = living(volume)
    if not attached:
        return volume.state == "available"
    if attached[0].state not in LEAVING:
        volumes.detach(new, attached[0].instance_id)
        return False
    since = event.pending.started_at if event.pending else None
    if since is not None and event.now - since > LEAVE_PATIENCE:
        raise VolumeFailedError(
            f"{new} is still {attached[0].state} at {attached[0].device} of {attached[0].instance_id} after "
            f"{duration_text((event.now - since).total_seconds())}: EC2 waits until nothing uses it"
        )
    return False


def _begin(event: ReplaceEvent, old: str, place: Place, ports: SwapPorts) -> None:
    """The record first. From here on the restore cannot be cancelled, and the new volume is not deleted."""
    swap = {
        "volumeId": old,
        "newVolumeId": event.volume_id,
        "instanceId": place.instance_id,
        "device": place.device,
        "startedAt": iso(event.now),
        "state": "swapping",
    }
    _note(event, place, swap, ports)
    mark = {"volumeId": event.volume_id, "device": place.device, "at": iso(event.now)}
    if not ports.table.set_unless_cancelled(event.restore_id, attached_attribute(place.index), mark):
        _note(event, place, {"state": "in-place"}, ports)
        raise RestoreCancelledError(ENDED)


def _has_ended(
    event: ReplaceEvent, old: str, place: Place, task: tuple[str, datetime], ports: SwapPorts
) -> bool:
    """botocore: ec2 ReplaceRootVolumeTask.TaskState."""
    (task_id, started_at), new = task, event.volume_id
    state = ports.roots.swap_state(task_id)
    if state == "succeeded":
        return True
    if state == "failed":
        _not_begun(event, place, ports)
        raise VolumeFailedError(
            f"EC2 did not swap {new} in for {old} ({task_id} has failed); {old} is still the root volume of "
            f"{place.instance_id}"
        )
    if state == "failed-detached":
        why = (
            f"{place.instance_id} has no root volume: EC2 has taken {old} out, and {new} is not in its place"
        )
        _note(event, place, {"state": "left", "reason": why}, ports)
        attach = (
            f"aws ec2 attach-volume --instance-id {place.instance_id} --device {place.device} --volume-id"
        )
        raise VolumeFailedError(
            f"{why} ({task_id} has failed). Both volumes are kept. Stop the instance, attach {new} or {old} "
            f"({attach} …), and start it"
        )
    if event.now - started_at > SWAP_PATIENCE:
        raise VolumeFailedError(
            f"{task_id} of EC2, to make {new} the root volume of {place.instance_id}, is still {state} after "
            f"{duration_text((event.now - started_at).total_seconds())}; {old} and {new} are both kept"
        )
    return False


def _not_begun(event: ReplaceEvent, place: Place, ports: SwapPorts) -> None:
    """The old volume is where it was, so that the new one is deleted as that of any restore that fails."""
    _note(event, place, {"state": "in-place"}, ports)
    ports.table.set_unless_cancelled(event.restore_id, attached_attribute(place.index), None)


def _note(event: ReplaceEvent, place: Place, changes: JsonObject, ports: SwapPorts) -> None:
    name = replaced_attribute(place.index)
    noted = attribute(ports.table, event.restore_id, place.index, name)
    ports.table.update_volume(event.restore_id, place.index, {name: {**noted, **changes}})


def _result(event: ReplaceEvent, state: str, started_at: datetime | None) -> ReplaceResult:
    return ReplaceResult.model_validate(
        {
            "finished": state == "swapped",
            "wait_seconds": WAIT_SECONDS,
            "phase": event.phase,
            "state": state,
            "started_at": started_at or event.now,
        }
    )
