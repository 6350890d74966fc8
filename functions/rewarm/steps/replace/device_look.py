"""Asks an instance, through Run Command, what uses a volume that is about to be detached."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Literal

from rewarm.domain.errors import AgentUnreachableError
from rewarm.domain.value import Value
from rewarm.domain.volume.replacing import DeviceUse, device_use
from rewarm.ports.artifacts import Artifacts
from rewarm.ports.instances import Commands, Instances
from rewarm.steps.record.bucket import agent_parameters

DELIVERY_SECONDS = 120
EXECUTION_SECONDS = 120
PATIENCE = timedelta(seconds=DELIVERY_SECONDS + EXECUTION_SECONDS + 120)
"""SSM reports its own time limits earlier; this limit is for an answer that never comes."""
WAIT_SECONDS = 3


class LookPorts(Value):
    """The ports that a look at a device needs; `commands` sends the documents for that."""

    instances: Instances
    commands: Commands
    artifacts: Artifacts


class Look(Value):
    """A question that was sent."""

    command_id: str
    instance_id: str
    volume_id: str
    asked_at: datetime


def ask(
    volume_id: str,
    instance_id: str,
    action: Literal["check", "unmount", "online", "boot"],
    *,
    mount_path: str = "",
    now: datetime,
    ports: LookPorts,
) -> Look:
    """Sends the question. Raises AgentUnreachableError, TargetNotFoundError, TargetNotUsableError."""
    instance = ports.instances.get(instance_id)
    if not instance.ssm_online:
        raise AgentUnreachableError(
            f"{instance_id} is not online in Systems Manager, so nobody can say whether {volume_id} is in "
            "use there; a volume is never detached without knowing that"
        )
    parameters = {
        "action": action,
        "volumeId": volume_id,
        "mountPath": mount_path,
        "executionTimeout": str(EXECUTION_SECONDS),
        **agent_parameters(instance, ports.artifacts, expires_seconds=DELIVERY_SECONDS + EXECUTION_SECONDS),
    }
    command_id = ports.commands.send(
        instance_id,
        parameters,
        platform=instance.platform,
        comment=f"rewarm {action} {volume_id}",
        timeout_seconds=DELIVERY_SECONDS,
    )
    return Look(command_id, instance_id, volume_id, now)


def answer(look: Look, *, now: datetime, commands: Commands) -> DeviceUse | None:
    """The answer; None until it is there. Raises AgentUnreachableError if it will not come."""
    try:
        return reply(look, now=now, commands=commands)
    except AgentUnreachableError as error:
        raise AgentUnreachableError(_no_answer(look, str(error))) from error


def reply(look: Look, *, now: datetime, commands: Commands) -> DeviceUse | None:
    """As `answer`, but the error says only the reason."""
    status = commands.status(look.command_id, look.instance_id)
    if status is None or not status.finished:
        if now - look.asked_at > PATIENCE:
            raise AgentUnreachableError("no answer came")
        return None
    use = device_use(status.stdout) if status.status == "Success" else None
    why = status.stderr.strip().splitlines()
    if use is None:
        raise AgentUnreachableError(why[-1] if why else status.status_details)
    if use.volume_id != look.volume_id:
        raise AgentUnreachableError(f"the answer is about {use.volume_id or 'a device that names no volume'}")
    return replace(use, problem=why[-1] if why else "")


def _no_answer(look: Look, why: str) -> str:
    return (
        f"{look.instance_id} could not say whether {look.volume_id} is in use ({why}); a volume is never "
        "detached without knowing that"
    )
