"""Brings the disk of an attached volume online on Windows, if the request asks for that; for attach_volume.

What goes wrong here fails no restore: the volume is attached, and the message says why it is not online.
"""

from __future__ import annotations

from rewarm.contracts.events import AttachVolumeEvent
from rewarm.contracts.results import AttachVolumeResult
from rewarm.domain.errors import AgentUnreachableError, TargetNotUsableError
from rewarm.domain.volume.replacing import DeviceUse
from rewarm.ports.restores import RestoreTable
from rewarm.steps.record.volume import VolumeNotes
from rewarm.steps.replace.device_look import WAIT_SECONDS, Look, LookPorts, ask, reply


def bring_online(
    event: AttachVolumeEvent, attached: AttachVolumeResult, ports: LookPorts, table: RestoreTable
) -> AttachVolumeResult:
    """Sends the command once; later calls look whether it has ended. Returns `attached` when all is done."""
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
        wait_seconds=WAIT_SECONDS,
        device=attached.device,
        command_id=look.command_id,
        asked_at=look.asked_at,
    )


def _wished(event: AttachVolumeEvent, table: RestoreTable) -> str:
    """The path of the request; else that of the replaced volume, where it had just one. Empty for any."""
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
