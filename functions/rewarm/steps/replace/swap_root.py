"""State `Replace Root`: EC2 makes the new volume the root volume of its running instance, which it reboots.

The new volume is at full speed already. It leaves the device at which it was warmed up. A task of EC2 puts it
in the place of the old one, which is kept. Until EC2 is asked, the instance notices nothing.
"""

from __future__ import annotations

import hashlib
import shlex
from datetime import datetime, timedelta

from rewarm.contracts.events import ReplaceEvent, ReplaceResult
from rewarm.domain.errors import (
    AccessDeniedError,
    RequestRefusedError,
    RestoreCancelledError,
    TargetNotFoundError,
    TargetNotUsableError,
    VolumeFailedError,
    VolumeInUseError,
)
from rewarm.domain.units import duration_text, iso
from rewarm.domain.value import Value
from rewarm.domain.volume.replacing import (
    LEAVING,
    REPLACED_FROM_TAG,
    REPLACED_STACK_TAG,
    REPLACED_TAG,
    DeviceUse,
    Place,
    living,
)
from rewarm.domain.volume.targets import device_slot
from rewarm.ports.instances import RootVolumes
from rewarm.ports.restores import RestoreTable
from rewarm.ports.volumes import VolumeStore
from rewarm.steps.record.restore import ENDED, RestoreNotes
from rewarm.steps.record.volume import KnownReplaced, VolumeNotes
from rewarm.steps.replace.device_look import Look, LookPorts, answer, ask

WAIT_SECONDS = 5
LEAVE_PATIENCE = timedelta(minutes=5)
"""A detachment takes seconds, or hangs for as long as something uses the volume (botocore: DetachVolume)."""
REFUSAL_PATIENCE = timedelta(minutes=2)
"""EC2 may show a volume as available, and still refuse it for a while as not available."""
SWAP_PATIENCE = timedelta(minutes=30)
"""AWS names no time for a task. An instance boots in minutes."""
UNDER_WAY = frozenset({"pending", "in-progress", "failing", "failing-detached"})
"""botocore: ec2 ReplaceRootVolumeTask.TaskState."""


class ReplacePorts(Value, kw_only=True):
    """The ports for replacing any volume."""

    volumes: VolumeStore
    roots: RootVolumes
    look: LookPorts
    table: RestoreTable
    stack_name: str


def is_asked(restore_id: str, index: int, volume_id: str | None, table: RestoreTable) -> bool:
    """Whether the restore may ask EC2 to swap this volume in, so that it cannot be cancelled any more."""
    mark = RestoreNotes(table, restore_id).read().attached(index)
    return volume_id is not None and mark.volume_id == volume_id


def may_be_root(restore_id: str, index: int, volume_id: str | None, table: RestoreTable) -> bool:
    """Whether either item says that EC2 was asked; then the volume is never deleted."""
    noted = VolumeNotes(table, restore_id, index).read().replaced
    return is_asked(restore_id, index, volume_id, table) or (
        volume_id is not None and noted.new_volume_id == volume_id and noted.is_swapped
    )


def swap_root(
    event: ReplaceEvent, old: str, place: Place, ports: ReplacePorts, *, asked: bool
) -> ReplaceResult:
    """Asks EC2 once, and returns the state; it is called again. `asked` is the result of is_asked.

    Raises VolumeFailedError, VolumeInUseError, AgentUnreachableError, AccessDeniedError, RequestRefusedError,
    TargetNotFoundError, TargetNotUsableError, RestoreCancelledError.
    """
    new = event.volume_id or ""
    if not asked:
        leaving = _leaving(event, new, place, ports)
        if leaving is not None:
            return leaving
        _begin(event, old, place, ports)
    record = _record(event, place, ports)
    noted = record.read().replaced
    asked_at = noted.asked_at or _refused_since(event)
    if noted.task_id is None:
        task = _ask_ec2(event, new, place, noted, ports)
        if task is not None:
            record.note_swap_task(task, event.now)
        return _result(event, "swapping", asked_at)
    if not _is_in_place(event, old, place, noted, ports):
        _stop_if_late(event, old, place, asked_at, ports)
        return _result(event, "swapping", asked_at)
    return _result(event, "swapped", asked_at)


def _leaving(event: ReplaceEvent, new: str, place: Place, ports: ReplacePorts) -> ReplaceResult | None:
    """Detaches the new volume, because EC2 swaps in only an available one; None once it is available.

    An instance that was rebooted meanwhile may run from it, because the copy has the root volume's labels.
    """
    volume = ports.volumes.get(new)
    pending = event.pending
    attached = living(volume)
    if not attached and volume.state == "available":
        return None
    since = pending.started_at if pending is not None and pending.state == "detaching" else None
    if attached and attached[0].state not in LEAVING and since is None:
        return _look(event, new, place, ports)
    where = f"at {attached[0].device} of {attached[0].instance_id}" if attached else f"and {volume.state}"
    waited = event.now - (since or event.now)
    if waited > LEAVE_PATIENCE or volume.state == "error":
        raise VolumeFailedError(
            f"{new} is still {attached[0].state if attached else 'not available'} {where} after "
            f"{duration_text(waited.total_seconds())}: EC2 waits until nothing uses it"
        )
    return _result(event, "detaching", since or event.now)


def _look(event: ReplaceEvent, new: str, place: Place, ports: ReplacePorts) -> ReplaceResult:
    """Asks the instance what uses the new volume, and detaches it if nothing does."""
    pending = event.pending
    known = pending is not None and (pending.phase, pending.state) == ("swap", "looking")
    if pending is None or not known or pending.command_id is None or pending.asked_at is None:
        look = ask(new, place.instance_id, "boot", now=event.now, ports=ports.look)
        return _result(event, "looking", None, look)
    look = Look(pending.command_id, place.instance_id, new, pending.asked_at)
    since = pending.started_at
    use = answer(look, now=event.now, commands=ports.look.commands)
    if use is None:
        return _result(event, "looking", since, look)
    if not use.is_free and use.is_open_only and event.now - (since or event.now) <= LEAVE_PATIENCE:
        # Some program that looks at every disk, and will soon be done.
        return _result(
            event, "looking", since, ask(new, place.instance_id, "boot", now=event.now, ports=ports.look)
        )
    if not use.is_free:
        why = f"{new}, which was to become the root volume of {place.instance_id}, is {use.in_words}"
        # Somebody works with the volume, so it is not deleted.
        _record(event, place, ports).note_place("left", newVolumeId=new, reason=why)
        raise VolumeInUseError(f"{why}. It is kept", field="target.reboot")
    _check_boot(event, new, place, use)
    ports.volumes.detach(new, place.instance_id)
    return _result(event, "detaching", event.now)


def _check_boot(event: ReplaceEvent, new: str, place: Place, use: DeviceUse) -> None:
    """Refuses a volume without a boot loader, if nothing shows that it boots and nobody names it."""
    volume = event.volume
    snapshot_id = volume.copy_of.snapshot_id if volume.copy_of else volume.snapshot_id
    is_forced = event.request.target.force_root == snapshot_id
    if use.boots is False and volume.root_unproven and not is_forced:
        raise VolumeFailedError(
            f"{place.instance_id} would not boot from {new}: it has no partition for a boot loader, and no "
            f"code in its first sector. {place.instance_id} still has its old root volume. If it boots "
            f"all the same, name {snapshot_id} in target.forceRoot"
        )


def _begin(event: ReplaceEvent, old: str, place: Place, ports: ReplacePorts) -> None:
    """Writes the record first. From now on nobody can cancel the restore, and the new volume is kept."""
    tasks = ports.roots.swaps(place.instance_id)
    busy = [task for task, state in tasks.items() if state in UNDER_WAY]
    if busy:
        raise TargetNotUsableError(
            f"{busy[0]} of EC2 replaces the root volume of {place.instance_id} already", field="target.reboot"
        )
    swap = {
        "volumeId": old,
        "newVolumeId": event.volume_id,
        "instanceId": place.instance_id,
        "device": place.device,
        "startedAt": iso(event.now),
        "tasksBefore": sorted(tasks),
        "state": "swapping",
    }
    record = _record(event, place, ports)
    record.note_swap(swap)
    mark = {"volumeId": event.volume_id, "device": place.device, "at": iso(event.now)}
    if not RestoreNotes(ports.table, event.restore_id).mark_attached(place.index, mark):
        record.note_place("in-place")
        raise RestoreCancelledError(ENDED)


def _ask_ec2(
    event: ReplaceEvent, new: str, place: Place, noted: KnownReplaced, ports: ReplacePorts
) -> str | None:
    """The task's id; None if EC2 refuses it for now. The same token never makes a second task."""
    token = hashlib.sha256(f"{event.restore_id}/{place.index}/root".encode()).hexdigest()
    try:
        return ports.roots.begin_swap(place.instance_id, new, client_token=token)
    except (AccessDeniedError, RequestRefusedError, TargetNotFoundError) as error:
        # An earlier call whose answer was lost may have begun it.
        begun = [task for task in ports.roots.swaps(place.instance_id) if task not in noted.tasks_before]
        if begun:
            return begun[0]
        if isinstance(error, RequestRefusedError) and event.now - _refused_since(event) <= REFUSAL_PATIENCE:
            return None
        _not_begun(event, place, ports)
        raise


def _refused_since(event: ReplaceEvent) -> datetime:
    """When EC2 refused the swap for the first time; now if it has not refused one."""
    pending = event.pending
    is_asked = pending is not None and pending.state == "swapping"
    return (pending.started_at if is_asked and pending else None) or event.now


def _is_in_place(
    event: ReplaceEvent, old: str, place: Place, noted: KnownReplaced, ports: ReplacePorts
) -> bool:
    """Whether EC2 has swapped it in, and the instance has booted from it."""
    new = event.volume_id or ""
    task = str(noted.task_id)
    state = ports.roots.swaps(place.instance_id).get(task, "pending")
    if state == "failed":
        _not_begun(event, place, ports)
        raise VolumeFailedError(
            f"EC2 did not swap {new} in for {old} ({task} has failed); {old} is still the root volume of "
            f"{place.instance_id}"
        )
    if state == "failed-detached":
        why = (
            f"{place.instance_id} has no root volume: EC2 has taken {old} out, and {new} is not in its place"
        )
        _record(event, place, ports).note_place("left", reason=why)
        _tag(event, old, ports)
        attach = (
            f"aws ec2 attach-volume --instance-id {place.instance_id} --device {shlex.quote(place.device)} "
            "--volume-id"
        )
        raise VolumeFailedError(
            f"{why} ({task} has failed). Both volumes are kept. Stop the instance, attach {new} or {old} "
            f"({attach} …), and start it"
        )
    if state != "succeeded" or not _is_root(new, place, ports.volumes):
        return False
    if noted.state != "swapped":
        _tag(event, old, ports)
        ports.volumes.set_delete_on_termination(
            place.instance_id, place.device, delete=place.delete_on_termination
        )
        _record(event, place, ports).note_place("swapped")
    instance = ports.look.instances.get(place.instance_id)
    return instance.heard_at is not None and (noted.asked_at is None or instance.heard_at >= noted.asked_at)


def _is_root(new: str, place: Place, volumes: VolumeStore) -> bool:
    slot = device_slot(place.device)
    return any(
        attachment.instance_id == place.instance_id and device_slot(attachment.device) == slot
        for attachment in living(volumes.get(new))
    )


def _stop_if_late(
    event: ReplaceEvent, old: str, place: Place, asked_at: datetime, ports: ReplacePorts
) -> None:
    waited = event.now - asked_at
    if waited <= SWAP_PATIENCE:
        return
    _tag(event, old, ports)
    new = event.volume_id
    long = duration_text(waited.total_seconds())
    if _record(event, place, ports).read().replaced.state == "swapped":
        back = f"aws ec2 create-replace-root-volume-task --instance-id {place.instance_id} --volume-id {old}"
        raise VolumeFailedError(
            f"{new} is the root volume of {place.instance_id}, from which Systems Manager has heard "
            f"nothing for {long}; it may not boot from it. Both volumes are kept; the old one goes back with "
            f"{back}"
        )
    raise VolumeFailedError(
        f"EC2 has not made {new} the root volume of {place.instance_id} within {long}; {old} and {new} are "
        "both kept"
    )


def _tag(event: ReplaceEvent, old: str, ports: ReplacePorts) -> None:
    """Tags the old volume, without a place: only a swap can put it back."""
    tags = {
        REPLACED_TAG: event.restore_id,
        REPLACED_STACK_TAG: ports.stack_name,
        REPLACED_FROM_TAG: "swapped",
    }
    ports.volumes.tag(old, tags)


def _not_begun(event: ReplaceEvent, place: Place, ports: ReplacePorts) -> None:
    """Notes that the old volume is still in its place, so the new one is deleted as after any failure."""
    _record(event, place, ports).note_place("in-place")
    RestoreNotes(ports.table, event.restore_id).mark_attached(place.index, None)


def _record(event: ReplaceEvent, place: Place, ports: ReplacePorts) -> VolumeNotes:
    return VolumeNotes(ports.table, event.restore_id, place.index)


def _result(
    event: ReplaceEvent, state: str, started_at: datetime | None, look: Look | None = None
) -> ReplaceResult:
    return ReplaceResult.model_validate(
        {
            "finished": state == "swapped",
            "wait_seconds": WAIT_SECONDS,
            "phase": event.phase,
            "state": state,
            "started_at": started_at or event.now,
            "command_id": look.command_id if look else None,
            "asked_at": look.asked_at if look else None,
        }
    )
