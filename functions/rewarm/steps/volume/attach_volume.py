"""State `Attach Volume`: attaches the volume under its device name to the target instance.

It brings the disk online on Windows, if the request asks for that. An error there fails no restore: the
volume is attached, and the message says why it is not online.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from rewarm.contracts.events import AttachVolumeEvent
from rewarm.contracts.results import AttachVolumeResult
from rewarm.contracts.values import ReplacedVolume, VolumeAssignment
from rewarm.domain.errors import (
    AgentUnreachableError,
    DeviceInUseError,
    RequestRefusedError,
    TargetNotUsableError,
    VolumeFailedError,
)
from rewarm.domain.model import Attachment, Instance, Volume
from rewarm.domain.units import duration_text
from rewarm.domain.value import Value
from rewarm.domain.volume.replacing import DeviceUse, holder_of, living
from rewarm.domain.volume.targets import check_instance, check_stopped, choose_device
from rewarm.ports.instances import Instances
from rewarm.ports.restores import RestoreTable
from rewarm.ports.volumes import VolumeStore
from rewarm.steps.record.restore import stop_if_cancelled
from rewarm.steps.record.volume import VolumeNotes
from rewarm.steps.registration import state
from rewarm.steps.replace.device_look import WAIT_SECONDS as LOOK_SECONDS
from rewarm.steps.replace.device_look import Look, LookPorts, ask, reply

WAIT_SECONDS = 2
PATIENCE = timedelta(minutes=15)
"""Attaching takes seconds, or hangs for ever (EC2 user guide, "Troubleshoot volumes stuck attaching")."""


class AttachVolumePorts(Value, kw_only=True):
    """The ports that attach_volume needs."""

    volumes: VolumeStore
    instances: Instances
    table: RestoreTable
    look: LookPorts


@state("Attach Volume")
def attach_volume(event: AttachVolumeEvent, ports: AttachVolumePorts) -> AttachVolumeResult:
    """Attaches once; later calls check whether that is done.

    Raises DeviceInUseError, TargetNotUsableError, TargetNotFoundError, VolumeFailedError,
    RestoreCancelledError.
    """
    stop_if_cancelled(ports.table, event.restore_id)
    instance_id = event.volume.instance_id
    device = event.volume.device
    if instance_id is None or device is None:
        raise TargetNotUsableError("the volume has no target instance", field="target.instanceId")
    if event.previous is None and _attached_at_once(event.volume, event.volume_id, device, ports.volumes):
        return AttachVolumeResult(attached=False, wait_seconds=WAIT_SECONDS, device=device)
    volume = ports.volumes.get(event.volume_id)
    ours = _attachment_to(volume, instance_id)
    if ours is None:
        _check_unattached(volume)
        instance = ports.instances.get(instance_id)
        _check_target(event.volume, device, instance)
        old = _taken_over(event.volume)
        if old is None or _is_free(old.volume_id, device, instance, ports.volumes):
            ports.volumes.attach(event.volume_id, instance_id, device, event.volume.card)
        return AttachVolumeResult(attached=False, wait_seconds=WAIT_SECONDS, device=device)
    _stop_if_stuck(ours, event.volume_id, event.now)
    _keep_on_termination(event.volume, ours, ports.volumes)
    result = AttachVolumeResult(
        attached=ours.state == "attached", wait_seconds=WAIT_SECONDS, device=ours.device
    )
    if result.attached and event.request.target.bring_online:
        return bring_online(event, result, ports.look, ports.table)
    return result


def _taken_over(volume: VolumeAssignment) -> ReplacedVolume | None:
    """The volume that has just left this device; a root volume is swapped later, at another device."""
    return None if volume.swaps_root else volume.replaces


def _attached_at_once(volume: VolumeAssignment, volume_id: str, device: str, volumes: VolumeStore) -> bool:
    """Attaches without describing first: EC2 makes the same checks, and describe calls are throttled.

    Returns False if EC2 refused, and for the place of another volume: then describing shows why.
    """
    if _taken_over(volume) is not None or volume.starts_instance or volume.instance_id is None:
        return False
    try:
        volumes.attach(volume_id, volume.instance_id, device, volume.card)
    except (DeviceInUseError, RequestRefusedError, TargetNotUsableError, VolumeFailedError):
        return False
    return True


def _check_target(volume: VolumeAssignment, device: str, instance: Instance) -> None:
    """Checks that the device can be used. Raises DeviceInUseError, TargetNotUsableError."""
    if not volume.starts_instance:
        check_instance(instance)
        if _taken_over(volume) is None:
            choose_device(device, instance)
        return
    check_stopped(instance)
    holder = holder_of(device, instance.devices)
    if volume.replaces is None and holder is not None:
        raise DeviceInUseError(f"{device} on {instance.instance_id} holds {holder}", field="target.device")


def _is_free(old: str, device: str, instance: Instance, volumes: VolumeStore) -> bool:
    """False while EC2 still shows the replaced volume, which has left its place. Raises DeviceInUseError."""
    holder = holder_of(device, instance.devices)
    if holder == old and not living(volumes.get(old)):
        return False
    if holder is not None:
        raise DeviceInUseError(
            f"{device} on {instance.instance_id} holds {holder}, when {old} had left it",
            field="target.device",
        )
    return True


def _keep_on_termination(volume: VolumeAssignment, ours: Attachment, volumes: VolumeStore) -> None:
    """Gives the new volume the DeleteOnTermination of the replaced volume, or of the source's."""
    old = _taken_over(volume)
    if ours.state != "attached" or not (old or volume.delete_on_termination):
        return
    delete = (old or volume).delete_on_termination
    if ours.delete_on_termination != delete:
        volumes.set_delete_on_termination(ours.instance_id, ours.device, delete=delete)


def _stop_if_stuck(ours: Attachment, volume_id: str, now: datetime) -> None:
    if ours.state != "attached" and ours.since is not None and now - ours.since > PATIENCE:
        raise VolumeFailedError(
            f"{volume_id} is still {ours.state} at {ours.device} of {ours.instance_id} "
            f"after {duration_text((now - ours.since).total_seconds())}"
        )


def _attachment_to(volume: Volume, instance_id: str) -> Attachment | None:
    return next(
        (
            attachment
            for attachment in volume.attachments
            if attachment.instance_id == instance_id and attachment.state != "detached"
        ),
        None,
    )


def _check_unattached(volume: Volume) -> None:
    """Raises VolumeFailedError if somebody has attached the new volume to another instance."""
    others = [attachment.instance_id for attachment in volume.attachments if attachment.state != "detached"]
    if others and not volume.settings.multi_attach:
        raise VolumeFailedError(f"{volume.volume_id} is attached to {', '.join(others)} already")
    if volume.state not in {"available", "in-use"}:
        raise VolumeFailedError(f"{volume.volume_id} is {volume.state} instead of available")


def bring_online(
    event: AttachVolumeEvent, attached: AttachVolumeResult, ports: LookPorts, table: RestoreTable
) -> AttachVolumeResult:
    """Sends the command once; later calls check whether it has ended. Returns `attached` when it has."""
    wished = _wished(event, table)
    look = _sent(event)
    try:
        if look is None:
            look = _send(event, wished, ports)
            use = None
        else:
            use = reply(look, now=event.now, commands=ports.commands)
    except (AgentUnreachableError, TargetNotUsableError) as error:
        return attached.model_copy(update={"online_problem": str(error)})
    if use is not None:
        points = list(use.mount_paths)
        return attached.model_copy(update={"mount_points": points, "online_problem": _problem(use, wished)})
    return AttachVolumeResult(
        attached=False,
        wait_seconds=LOOK_SECONDS,
        device=attached.device,
        command_id=look.command_id,
        asked_at=look.asked_at,
    )


def _wished(event: AttachVolumeEvent, table: RestoreTable) -> str:
    """The path of the request; else the only path of the replaced volume; empty for any."""
    asked = event.request.target.mount_path
    if asked is not None or event.volume.replaces is None:
        return asked or ""
    replaced = VolumeNotes(table, event.restore_id, event.volume.index).read().replaced
    before = DeviceUse(tuple(replaced.unmounted)).mount_paths
    return before[0] if len(before) == 1 else ""


def _send(event: AttachVolumeEvent, wished: str, ports: LookPorts) -> Look:
    instance_id = event.volume.instance_id or ""
    instance = ports.instances.get(instance_id)
    if not instance.ssm_online:
        raise AgentUnreachableError(instance.reach_in_words)
    return ask(event.volume_id, instance_id, "online", mount_path=wished, now=event.now, ports=ports)


def _sent(event: AttachVolumeEvent) -> Look | None:
    previous = event.previous
    if previous is None or previous.command_id is None or previous.asked_at is None:
        return None
    return Look(previous.command_id, event.volume.instance_id or "", event.volume_id, previous.asked_at)


def _problem(use: DeviceUse, wished: str) -> str | None:
    if wished and not use.is_mounted_at(wished):
        return use.problem or f"Windows has not mounted it at {wished}"
    return None if use.mount_paths else "the disk is online, but Windows has given it no drive letter"
