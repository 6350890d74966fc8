"""A warm-up command that was interrupted: when it is sent again, and when it is given up.

Run Command may report the end of a command whose instance restarts while the instance is not back yet, so the
instance is waited for; what the agent has read is kept on it (the SSM document's `--state`).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from rewarm.contracts import DispatchWarmerResult
from rewarm.domain.errors import AgentFailedError, AgentUnreachableError
from rewarm.domain.model import CommandStatus, Instance
from rewarm.domain.ready import agent_output
from rewarm.domain.units import duration_text, iso
from rewarm.ports import JsonObject
from rewarm.ports.instances import Commands, Instances
from rewarm.steps.record.records import parsed_time

MOST_RESTARTS = 5
"""What interrupts an agent this often will do it again."""
PATIENCE = timedelta(minutes=10)
"""EC2 user guide, "Reboot your instance": a few minutes; Windows with updates takes longer."""
GONE = frozenset({"shutting-down", "terminated"})


@dataclass(frozen=True, slots=True)
class Restart:
    """`restarts` is how often the command was sent again, this time included; `note` is for the record."""

    is_due: bool = False
    restarts: int = 0
    note: JsonObject | None = None


def restart(
    earlier: DispatchWarmerResult,
    noted: JsonObject,
    now: datetime,
    *,
    commands: Commands,
    instances: Instances,
) -> Restart:
    """Not due while the command runs, has ended well or badly by itself, or its instance is not back yet.

    Raises AgentFailedError, AgentUnreachableError, TargetNotFoundError.
    """
    status = commands.status(earlier.command_id, earlier.instance_id)
    if status is None or not status.finished or not agent_output.is_interrupted(status):
        return Restart()
    restarts = int(noted.get("restarts", 0)) + 1
    if restarts > MOST_RESTARTS:
        raise AgentFailedError(_too_often(earlier, restarts, status))
    instance = instances.get(earlier.instance_id)
    if instance.state in GONE:
        raise AgentUnreachableError(f"the warm-up agent was interrupted: {_where(instance)}")
    if instance.state == "running" and instance.ssm_online:
        return Restart(is_due=True, restarts=restarts)
    since = parsed_time(noted.get("interruptedAt")) or now
    if now - since > PATIENCE:
        waited = duration_text((now - since).total_seconds())
        raise AgentUnreachableError(f"the warm-up agent was interrupted: {_where(instance)}, for {waited}")
    return Restart(note={"interruptedAt": iso(since)})


def _where(instance: Instance) -> str:
    if instance.state != "running":
        return f"{instance.instance_id} is {instance.state}"
    return f"{instance.instance_id} is not online in Systems Manager"


def _too_often(earlier: DispatchWarmerResult, times: int, status: CommandStatus) -> str:
    ending = agent_output.ending(status)
    return f"the warm-up agent on {earlier.instance_id} was interrupted {times} times, at last: {ending}"
