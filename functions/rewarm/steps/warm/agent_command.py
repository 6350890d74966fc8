"""The command that runs the warm-up agent: parameters of the SSM document, for warming and for measuring.

It is sent once, even if the function that sends it ends before it can say so: SendCommand has no client
token. So a note that a command is about to be sent, and its comment, are written before it is sent. Where
that note still stands, nobody knows what came of it, and Run Command is asked.

Its instance may go away. Run Command shows the command of such an instance as in progress. Where the instance
comes back, its SSM agent runs the document again (amazon-ssm-agent, processor.go).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

from rewarm.contracts.request import RestoreRequest
from rewarm.contracts.values import VolumeAssignment
from rewarm.domain.errors import (
    AgentUnreachableError,
    InstanceAwayError,
    RestoreError,
    ServiceUnavailableError,
    TargetNotFoundError,
    TargetNotUsableError,
    VolumeFailedError,
)
from rewarm.domain.model import Instance, Volume
from rewarm.domain.ready.readiness import misplaced
from rewarm.domain.units import duration_text, iso
from rewarm.domain.volume.extents import most_bytes
from rewarm.ports import JsonObject
from rewarm.ports.artifacts import Artifacts
from rewarm.ports.instances import Commands, Instances
from rewarm.ports.restores import RestoreTable
from rewarm.steps.record.volume import Sending, VolumeNotes

DELIVERY_SECONDS = 300
"""SSM tries for so long to reach the instance (botocore: ssm SendCommand TimeoutSeconds, at least 30)."""
MIN_EXECUTION_SECONDS = 600
MAX_EXECUTION_SECONDS = 172_800
"""Systems Manager user guide, aws:runShellScript: at most 48 h; more silently becomes 3,600 s."""
NO_URL = "none"
"""What the document takes for an address where there is nothing to load."""
MAX_URL_SECONDS = 604_800
"""Amazon S3 user guide, "Presigned URLs": seven days at most."""

ANSWER_AFTER = timedelta(seconds=19)
"""A command may be sent so long after its note: connecting and the answer take it (adapters/clients.py)."""
SHOWN_AFTER = timedelta(seconds=15)
"""SSM shows a new command a little late; how late is not documented. After this time it was never sent."""
NOTED_WITHIN = timedelta(seconds=5)
"""A note that took longer to write has too early a time, and is written again."""
PATIENCE = timedelta(minutes=10)
"""EC2 user guide, "Reboot your instance": a few minutes; Windows with updates takes longer."""
SHORTEST_STALL = timedelta(minutes=30)
"""First reads of more than a minute were seen, DescribeVolumeStatus lags by 5: half an hour is safe."""
LOOK_AFTER = timedelta(minutes=2)
"""An agent that has been silent for so long is looked for: it reports every two seconds."""


@dataclass(frozen=True, slots=True)
class AgentCommand:
    """What the agent is to do. Without `progress_key` it reports nothing before its end.

    `first_key` is a list of extents that it reads before the others.
    """

    action: str
    arguments: str
    execution_seconds: int
    progress_key: str | None = None
    first_key: str | None = None
    has_map: bool = True
    cold_arguments: str = ""
    """Flags of the measurement before a warm-up; empty for none."""


@dataclass(frozen=True, kw_only=True)
class AgentPorts:
    """The ports that a command of the agent needs."""

    commands: Commands
    instances: Instances
    artifacts: Artifacts
    table: RestoreTable


@dataclass(frozen=True, slots=True)
class AgentTarget:
    """The volume that the agent works on, and for whom. `turn` distinguishes commands of one action."""

    volume: VolumeAssignment
    volume_id: str
    restore_id: str
    turn: str

    def comment(self, action: str) -> str:
        """What the command is called; botocore SendCommand: Comment has at most 100 characters."""
        return f"rewarm {action} {self.volume_id} {self.turn} for {self.restore_id}"[:100]


def send(command: AgentCommand, target: AgentTarget, ports: AgentPorts) -> str:
    """The command's id; once for each action and turn. Whoever notes the id takes `sending` away.

    Raises AgentUnreachableError, InstanceAwayError, TargetNotUsableError.
    """
    volume, comment = target.volume, target.comment(command.action)
    standing = VolumeNotes(ports.table, target.restore_id, volume.index).read().sending
    known = sent_before(standing, comment, ports.commands)
    return known if known is not None else _send(command, target, comment, ports)


def _send(command: AgentCommand, target: AgentTarget, comment: str, ports: AgentPorts) -> str:
    volume = target.volume
    instance_id, platform, architecture = volume.instance_id, volume.platform, volume.architecture
    if instance_id is None or platform is None or architecture is None:
        raise TargetNotUsableError(
            "there is no instance on which the agent could run", field="target.instanceId"
        )
    if not ports.instances.is_online(instance_id):
        instance = ports.instances.get(instance_id)
        kind = AgentUnreachableError if instance.is_gone else InstanceAwayError
        raise kind(instance.reach_in_words)
    key, sha256 = ports.artifacts.agent(platform, architecture)
    execution_seconds = max(MIN_EXECUTION_SECONDS, min(MAX_EXECUTION_SECONDS, command.execution_seconds))
    expires = min(MAX_URL_SECONDS, DELIVERY_SECONDS + execution_seconds)
    map_key = volume.map_key if command.has_map else None
    progress_url = NO_URL
    if command.progress_key is not None:
        progress_url = ports.artifacts.upload_url(command.progress_key, expires_seconds=expires)
    parameters = {
        "action": command.action,
        "volumeId": target.volume_id,
        "agentUrl": ports.artifacts.download_url(key, expires_seconds=expires),
        "agentSha256": sha256,
        "mapUrl": _download(map_key, expires, ports),
        "firstUrl": _download(command.first_key, expires, ports),
        "progressUrl": progress_url,
        "arguments": command.arguments,
        "coldArguments": command.cold_arguments,
        "executionTimeout": str(execution_seconds),
    }
    note = {"comment": comment, "instanceId": instance_id, "platform": platform}
    with about_to_send(target.restore_id, volume.index, note, commands=ports.commands, table=ports.table):
        return ports.commands.send(
            instance_id, parameters, platform=platform, comment=comment, timeout_seconds=DELIVERY_SECONDS
        )


def _download(key: str | None, expires_seconds: int, ports: AgentPorts) -> str:
    return NO_URL if key is None else ports.artifacts.download_url(key, expires_seconds=expires_seconds)


@contextmanager
def ended_unless_noted(command_id: str, instance_id: str, commands: Commands) -> Iterator[None]:
    """Around the note of a command that was sent without `send`: one of which nobody knows, nobody would end.

    A retried state sends another one, as SendCommand has no client token. What `send` has sent is never
    cancelled so: the retried state finds it, and Run Command may list it as running for a while yet.
    """
    try:
        yield
    except RestoreError:
        with suppress(RestoreError):
            commands.cancel(command_id, instance_id)
        raise


def plain_number(value: float) -> str:
    """The agent takes no exponent, and `g` writes one, and cuts to six digits."""
    return f"{value:.3f}".rstrip("0").rstrip(".")


def bytes_to_read(request: RestoreRequest, volume: VolumeAssignment) -> int:
    """Returns how many bytes the agent reads of the volume: at most, if the scope is `used`."""
    size_gib = volume.volume.size_gib
    return most_bytes(request.warm_up.scope, written_blocks=volume.written_blocks, size_gib=size_gib)


@contextmanager
def about_to_send(
    restore_id: str, index: int, note: JsonObject, *, commands: Commands, table: RestoreTable
) -> Iterator[None]:
    """Around SendCommand, which may have its effect from `since` to `until`.

    Whoever notes the command's id takes the note away.
    """
    record = VolumeNotes(table, restore_id, index)

    def noted(since: datetime, until: datetime) -> None:
        record.note_sending({**note, "since": iso(since), "until": iso(until)})

    since = commands.time()
    noted(since, since + ANSWER_AFTER)
    if commands.time() - since > NOTED_WITHIN:
        since = commands.time()
        noted(since, since + ANSWER_AFTER)
    try:
        yield
    except ServiceUnavailableError:
        # It may have been sent all the same, but no later than now.
        with suppress(RestoreError):
            noted(since, commands.time())
        raise
    except RestoreError:
        with suppress(RestoreError):
            record.note_sending(None)
        raise


def sent_before(standing: Sending, comment: str | None, commands: Commands) -> str | None:
    """The command with this comment that nobody noted; others that nobody noted are cancelled.

    Raises ServiceUnavailableError while SSM may not show it yet.
    """
    if standing.since is None:
        return None
    sent = commands.find(standing.comment, platform=standing.platform, since=standing.since)
    found = [command for command in sent if not command.is_cancelled]
    until = standing.until or standing.since
    if not found and commands.time() - until < SHOWN_AFTER:
        raise ServiceUnavailableError(f'whether "{standing.comment}" was sent, SSM may not show yet')
    kept = None
    if found and standing.comment == comment:
        kept = next((command for command in found if not command.is_over), found[0])
    for command in found:
        if command is not kept and not command.is_over:
            commands.cancel(command.command_id, standing.instance_id)
    return kept.command_id if kept else None


def stall_patience(request: RestoreRequest, usual: timedelta = SHORTEST_STALL) -> timedelta:
    """How long nothing may move; the request may say otherwise."""
    wanted = request.readiness.stalled_after_minutes
    return usual if wanted is None else timedelta(minutes=wanted)


def is_reachable(instance: Instance, *, away: timedelta) -> bool:
    """Whether a command reaches the instance now. `away` is how long none did.

    Raises AgentUnreachableError where none ever will, or where it was waited for long enough.
    """
    _check_not_gone(instance)
    if instance.state == "running" and instance.ssm_online:
        return True
    if away > PATIENCE:
        waited = duration_text(away.total_seconds())
        raise AgentUnreachableError(f"the agent was interrupted: {instance.reach_in_words}, for {waited}")
    return False


def check_silent_agent(instance_id: str, instances: Instances, *, silence: timedelta) -> None:
    """Looks for the instance of a warm-up command that still runs and has reported nothing for a while.

    Raises AgentUnreachableError where the instance is away for too long, or for good.
    """
    if silence > LOOK_AFTER:
        is_reachable(_found(instance_id, instances), away=silence)


def check_not_terminated(instance_id: str, instances: Instances, *, silence: timedelta) -> None:
    """The same for a command that says nothing before its end. Raises AgentUnreachableError."""
    if silence > LOOK_AFTER:
        _check_not_gone(_found(instance_id, instances))


def _check_not_gone(instance: Instance) -> None:
    if instance.is_gone:
        raise AgentUnreachableError(f"the agent was interrupted: {instance.reach_in_words}")


def _found(instance_id: str, instances: Instances) -> Instance:
    try:
        return instances.get(instance_id)
    except TargetNotFoundError as error:
        raise AgentUnreachableError(f"the agent was interrupted: {error}") from error


def check_in_place(volume: Volume, instance_id: str | None, instances: Instances) -> None:
    """Checks that the volume is where the restore put it: anybody may have detached it or ended its instance.

    Raises VolumeFailedError.
    """
    problem = misplaced(volume, instance_id)
    if problem is not None:
        ended = None if instance_id is None else _end_of_instance(instance_id, instances)
        raise VolumeFailedError(problem if ended is None else f"{problem}: {ended}")


def _end_of_instance(instance_id: str, instances: Instances) -> str | None:
    try:
        instance = instances.get(instance_id)
    except TargetNotFoundError:
        return "EC2 no longer shows the instance, so it was terminated"
    return f"the instance is {instance.state}" if instance.is_gone else None
