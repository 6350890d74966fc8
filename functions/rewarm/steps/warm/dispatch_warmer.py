"""State `Dispatch Warmer`: starts the warm-up agent on the instance once, and again after an interruption.

`Dispatch Warmer To Observe` starts it once more, to record what is read meanwhile (observe.py).

Run Command may report the end of a command while its instance is still restarting, so the instance is waited
for. The instance keeps what the agent has read (the SSM document's `--state`). If no end is reported, the SSM
agent itself runs the document again.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Literal

from pydantic import Field

from rewarm.contracts.base import StepEvent
from rewarm.contracts.request import RestoreRequest
from rewarm.contracts.values import DispatchWarmerResult, VolumeAssignment
from rewarm.domain.errors import AgentFailedError, RestoreError
from rewarm.domain.model import MIB, CommandStatus, Extent
from rewarm.domain.ready import agent_output
from rewarm.domain.ready.reads import SAMPLES_BEFORE, p99_limit_ms, read_ops_level
from rewarm.domain.value import Value
from rewarm.domain.volume.extents import Runs, Scope
from rewarm.domain.volume.hot import HotSet
from rewarm.ports.artifacts import Artifacts
from rewarm.ports.instances import Commands, Instances
from rewarm.ports.volumes import Metrics
from rewarm.steps.record.bucket import first_map_key, progress_key
from rewarm.steps.record.recordings import read_hot_set
from rewarm.steps.record.restore import stop_if_cancelled
from rewarm.steps.record.volume import KnownCommand, VolumeNotes
from rewarm.steps.registration import state
from rewarm.steps.warm import agent_command
from rewarm.steps.warm.agent_command import AgentCommand, bytes_to_read, is_reachable
from rewarm.steps.warm.observe import observe

LOOK_BACK = timedelta(minutes=10)
SLOWEST_MIB_S = 5
"""One reader of a cold volume gets about 5 MiB/s. The agent is never slower, so this bounds its time."""

MOST_RESTARTS = 5
"""The restarts after which a warm-up gives up: an agent interrupted so often will be again."""


class DispatchWarmerEvent(StepEvent):
    """Asks for the warm-up agent on the instance; `warm_ups` is how often the volume was warmed up again."""

    request: RestoreRequest
    volume: VolumeAssignment
    volume_id: str
    warm_ups: int = Field(default=0, ge=0)
    measured_before: bool = Field(
        default=False, description="The volume was measured while it was cold, so the agent does not do that."
    )
    phase: Literal["warm", "observe"] = "warm"


class DispatchWarmerPorts(agent_command.AgentPorts, kw_only=True):
    """The ports that dispatch_warmer needs."""

    metrics: Metrics


@state("Dispatch Warmer", "Dispatch Warmer To Observe")
def dispatch_warmer(event: DispatchWarmerEvent, ports: DispatchWarmerPorts) -> DispatchWarmerResult:
    """Sends the command, or finds the one that was sent: SendCommand has no client token (agent_command.py).

    An interrupted command is sent again, and the agent continues where it stopped. Raises AgentFailedError,
    AgentUnreachableError, InstanceAwayError, TargetNotFoundError, TargetNotUsableError and
    RestoreCancelledError.
    """
    stop_if_cancelled(ports.table, event.restore_id)
    if event.phase == "observe":
        target = agent_command.AgentTarget(event.volume, event.volume_id, event.restore_id, "0")
        return observe(event.request, target, event.now, ports)
    return _dispatch(event, ports)


def _dispatch(event: DispatchWarmerEvent, ports: DispatchWarmerPorts) -> DispatchWarmerResult:
    record = VolumeNotes(ports.table, event.restore_id, event.volume.index)
    noted = record.read().command
    earlier = noted.result if noted.volume_id == event.volume_id else None
    restarts = 0
    if earlier is not None and noted.warm_ups == event.warm_ups:
        found = restart(earlier, noted, event.now, commands=ports.commands, instances=ports.instances)
        if found.away_since is not None:
            record.note_interrupted(noted, found.away_since)
        if not found.is_due:
            return earlier
        restarts = found.restarts
    elif earlier is not None:
        # The volume is warmed up again, and a command that hangs would still hold the device.
        ports.commands.cancel(earlier.command_id, earlier.instance_id)
    key = progress_key(event.restore_id, event.volume.index, warm_ups=event.warm_ups, restarts=restarts)
    first_key, hot = _put_first(event, ports.artifacts)
    command = _command(event, key, first_key, hot)
    turn = f"{event.warm_ups}.{restarts}"
    target = agent_command.AgentTarget(event.volume, event.volume_id, event.restore_id, turn)
    command_id = agent_command.send(command, target, ports)
    result = DispatchWarmerResult(
        command_id=command_id,
        instance_id=event.volume.instance_id or "",
        progress_key=command.progress_key or "",
        started_at=event.now,
        read_ops_before=earlier.read_ops_before if earlier else _level_before(event, ports.metrics),
        hot_blocks=hot.block_count,
    )
    record.note_sent(result, volumeId=event.volume_id, warmUps=event.warm_ups, restarts=restarts)
    return result


def _level_before(event: DispatchWarmerEvent, metrics: Metrics) -> float:
    since = event.now - LOOK_BACK
    return read_ops_level(metrics.read_activity(event.volume_id, since=since, until=event.now))


def warm_arguments(request: RestoreRequest, polite_ms: float | None, hot: HotSet) -> str:
    """Flags of `warmer warm` beside its files. It is polite after what is asked for or recorded."""
    wanted = request.warm_up
    flags = [f"--depth {wanted.depth}"]
    if len(hot.blocks) > hot.most_blocks:
        flags.append(f"--first-most {hot.most_blocks + sum(extent.block_count for extent in wanted.first)}")
    if wanted.scope is not Scope.WRITTEN:
        flags.append(f"--scope {wanted.scope}")
    if wanted.order is not None:
        looked_for = [name for name in dict.fromkeys(wanted.order) if name != "changed"]
        flags.append(f"--order {','.join(looked_for) or 'none'}")
    if wanted.max_mib_per_second is not None:
        flags.append(f"--max-mib-s {wanted.max_mib_per_second}")
    if polite_ms is not None:
        flags.append(f"--polite-latency-ms {agent_command.plain_number(polite_ms)}")
        flags += ["--first-unlimited"] if hot.blocks or wanted.first else []
    return " ".join(flags)


def _polite_ms(event: DispatchWarmerEvent) -> float | None:
    return event.volume.politeness(event.request.warm_up.polite_latency_ms)


def cold_arguments(event: DispatchWarmerEvent) -> str:
    """Flags of `warmer verify` for the reads before the warm-up; empty if none are wanted."""
    wanted = event.request.verify
    if wanted.samples == 0 or event.measured_before or event.warm_ups:
        return ""
    limit_ms = p99_limit_ms(wanted.max_p99_ms, event.volume.volume.settings())
    samples = min(SAMPLES_BEFORE, wanted.samples)
    return f"--samples {samples} --max-p99-ms {agent_command.plain_number(limit_ms)}"


def _command(event: DispatchWarmerEvent, key: str, first_key: str | None, hot: HotSet) -> AgentCommand:
    return AgentCommand(
        "warm",
        warm_arguments(event.request, _polite_ms(event), hot),
        _execution_seconds(event),
        key,
        first_key=first_key,
        has_map=event.request.warm_up.scope is not Scope.WHOLE,
        cold_arguments=cold_arguments(event),
    )


def _put_first(event: DispatchWarmerEvent, artifacts: Artifacts) -> tuple[str | None, HotSet]:
    """Writes what to read first: the request's extents, then the hot set.

    Without both it is what has changed since the snapshot before, which `Select Snapshot` wrote. `--first`
    accepts any order, and repetitions. Without a key nothing is read first.
    """
    first = Runs(Extent(extent.start_block, extent.block_count) for extent in event.request.warm_up.first)
    hot = read_hot_set(event.request, event.volume, artifacts)
    key = first_map_key(event.restore_id, event.volume.index)
    if not first and not hot.blocks:
        return key if event.volume.changed is not None else None, hot
    try:
        artifacts.put_map(key, [first, hot.extents])
    except RestoreError:
        if first:
            raise
        return None, HotSet()
    return key, hot


def _execution_seconds(event: DispatchWarmerEvent) -> int:
    wanted = event.request.warm_up
    if _polite_ms(event) is not None:
        return agent_command.MAX_EXECUTION_SECONDS
    mib = bytes_to_read(event.request, event.volume) / MIB
    slowest = min(SLOWEST_MIB_S, wanted.max_mib_per_second or SLOWEST_MIB_S)
    return round(mib / slowest) + agent_command.MIN_EXECUTION_SECONDS


class Restart(Value):
    """Whether to send the command again; `restarts` counts this time, too."""

    is_due: bool = False
    restarts: int = 0
    away_since: datetime | None = None
    """Since when the instance has been away."""


def restart(
    earlier: DispatchWarmerResult,
    noted: KnownCommand,
    now: datetime,
    *,
    commands: Commands,
    instances: Instances,
) -> Restart:
    """Due if the command was interrupted and its instance is back.

    Raises AgentFailedError, AgentUnreachableError, TargetNotFoundError.
    """
    status = commands.status(earlier.command_id, earlier.instance_id)
    if status is None or not status.finished or not agent_output.is_interrupted(status):
        return Restart()
    restarts = noted.restarts + 1
    if restarts > MOST_RESTARTS:
        raise AgentFailedError(_too_often(earlier, restarts, status))
    instance = instances.get(earlier.instance_id)
    since = noted.interrupted_at or now
    if is_reachable(instance, away=now - since):
        return Restart(is_due=True, restarts=restarts)
    return Restart(away_since=since)


def _too_often(earlier: DispatchWarmerResult, times: int, status: CommandStatus) -> str:
    ending = agent_output.ending(status)
    return f"the warm-up agent on {earlier.instance_id} was interrupted {times} times, at last: {ending}"
