"""State `Dispatch Warmer`: the warm-up agent on the instance, once."""

from __future__ import annotations

from datetime import timedelta

from rewarm.contracts import DispatchWarmerEvent, DispatchWarmerResult, RestoreRequest
from rewarm.domain.model import BLOCK_BYTES, MIB
from rewarm.domain.readiness import read_ops_level
from rewarm.ports import Artifacts, Commands, Instances, Metrics, RestoreTable
from rewarm.steps import agent_command
from rewarm.steps.records import attribute, command_attribute, stop_if_cancelled

LOOK_BACK = timedelta(minutes=10)
SLOWEST_MIB_S = 5
"""One reader on a cold volume gets about 5 MiB/s; the agent is never slower, so this bounds its time."""


def dispatch_warmer(
    event: DispatchWarmerEvent,
    *,
    commands: Commands,
    instances: Instances,
    artifacts: Artifacts,
    metrics: Metrics,
    table: RestoreTable,
) -> DispatchWarmerResult:
    """SendCommand has no client token: the table remembers the command, so that a retried state finds it.

    Raises AgentUnreachableError, TargetNotUsableError, RestoreCancelledError.
    """
    stop_if_cancelled(table, event.restore_id)
    name = command_attribute(event.volume.index)
    noted = attribute(table, event.restore_id, name)
    if noted.get("volumeId") == event.volume_id:
        return DispatchWarmerResult.model_validate(noted["dispatch"])
    activity = metrics.read_activity(event.volume_id, since=event.now - LOOK_BACK, until=event.now)
    progress_key = f"restores/{event.restore_id}/{event.volume.index}/progress.json"
    command = agent_command.AgentCommand(
        "warm", warm_arguments(event.request), _execution_seconds(event), progress_key
    )
    ports = agent_command.AgentPorts(commands, instances, artifacts)
    command_id = agent_command.send(command, event.volume, event.volume_id, event.restore_id, ports)
    result = DispatchWarmerResult(
        command_id=command_id,
        instance_id=event.volume.instance_id or "",
        progress_key=progress_key,
        started_at=event.now,
        read_ops_before=read_ops_level(activity),
    )
    table.update(event.restore_id, {name: {"volumeId": event.volume_id, "dispatch": result.to_json()}})
    return result


def warm_arguments(request: RestoreRequest) -> str:
    """Flags of `warmer warm`."""
    limit = request.warm_up.max_mib_per_second
    return f"--depth {request.warm_up.depth}" + (f" --max-mib-s {limit}" if limit is not None else "")


def _execution_seconds(event: DispatchWarmerEvent) -> int:
    mib = event.volume.written_blocks * BLOCK_BYTES / MIB
    slowest = min(SLOWEST_MIB_S, event.request.warm_up.max_mib_per_second or SLOWEST_MIB_S)
    return round(mib / slowest) + agent_command.MIN_EXECUTION_SECONDS
