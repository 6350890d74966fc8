"""The command that runs the warm-up agent: parameters of the SSM document, for warming and for measuring.

SendCommand has no client token, but the command must be sent once, even if the function that sends it ends
too early. So before a command is sent, the record notes that, with the command's comment. If that note is
still there later, Run Command is asked what became of the command.

Its instance may go away. Run Command shows the command of such an instance as in progress. When the instance
is back, its SSM agent runs the document again (amazon-ssm-agent, processor.go).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
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
    VolumeNotFoundError,
)
from rewarm.domain.model import Instance, Volume
from rewarm.domain.ready.readiness import misplaced
from rewarm.domain.time.patience import LEAST
from rewarm.domain.units import duration_text, iso
from rewarm.domain.value import Value
from rewarm.domain.volume.extents import most_bytes
from rewarm.ports import JsonObject
from rewarm.ports.artifacts import Artifacts
from rewarm.ports.instances import Commands, Instances
from rewarm.ports.restores import RestoreTable
from rewarm.ports.volumes import VolumeStore
from rewarm.steps.record.volume import Sending, VolumeNotes

DELIVERY_SECONDS = 300
"""How long SSM tries to reach the instance (botocore: ssm SendCommand TimeoutSeconds, at least 30)."""
MIN_EXECUTION_SECONDS = 600
MAX_EXECUTION_SECONDS = 172_800
"""Systems Manager user guide, aws:runShellScript: at most 48 h; more silently becomes 3,600 s."""
NO_URL = "none"
"""The document's value for no address."""
MAX_URL_SECONDS = 604_800
"""Amazon S3 user guide, "Presigned URLs": seven days at most."""

ANSWER_AFTER = timedelta(seconds=19)
"""How long after its note a command may be sent, by the time limits of the call (adapters/clients.py)."""
SHOWN_AFTER = timedelta(seconds=15)
"""SSM shows a new command late; how late is not documented. After this time it was never sent."""
NOTED_WITHIN = timedelta(seconds=5)
"""A note that took longer to write has a wrong time, and is written again."""
SHORTEST_STALL = timedelta(minutes=30)
"""First reads of over a minute were seen, and DescribeVolumeStatus lags by 5, so half an hour is safe."""
LOOK_AFTER = timedelta(minutes=2)
"""After so long without a report, which comes every two seconds, the agent's instance is checked."""


class AgentCommand(Value):
    """What the agent has to do. Without `progress_key` it reports only its end.

    `first_key` is a list of extents that it reads first.
    """

    action: str
    arguments: str
    execution_seconds: int
    progress_key: str | None = None
    first_key: str | None = None
    has_map: bool = True
    cold_arguments: str = ""
    """Flags of the measurement before a warm-up; empty for none."""


class AgentPorts(Value, kw_only=True):
    """The ports that a command of the agent needs."""

    commands: Commands
    instances: Instances
    artifacts: Artifacts
    table: RestoreTable


class AgentTarget(Value):
    """The agent's volume and restore. `turn` distinguishes commands of one action."""

    volume: VolumeAssignment
    volume_id: str
    restore_id: str
    turn: str

    def comment(self, action: str) -> str:
        """The command's comment; botocore SendCommand: Comment has at most 100 characters."""
        return f"rewarm {action} {self.volume_id} {self.turn} for {self.restore_id}"[:100]


def send(command: AgentCommand, target: AgentTarget, ports: AgentPorts) -> str:
    """Sends the command once for each action and turn; returns its id. Noting the id removes `sending`.

    Raises AgentUnreachableError, InstanceAwayError, TargetNotUsableError.
    """
    volume = target.volume
    comment = target.comment(command.action)
    standing = VolumeNotes(ports.table, target.restore_id, volume.index).read().sending
    known = sent_before(standing, comment, ports.commands)
    return known if known is not None else _send(command, target, comment, ports)


def _send(command: AgentCommand, target: AgentTarget, comment: str, ports: AgentPorts) -> str:
    volume = target.volume
    instance_id = volume.instance_id
    platform = volume.platform
    architecture = volume.architecture
    if instance_id is None or platform is None or architecture is None:
        raise TargetNotUsableError(
            "there is no instance on which the agent could run", field="target.instanceId"
        )
    if not ports.instances.is_online(instance_id):
        instance = ports.instances.get(instance_id)
        kind = AgentUnreachableError if instance.is_gone else InstanceAwayError
        raise kind(instance.reach_in_words)
    key, sha256 = ports.artifacts.agent(platform, architecture)
    execution_seconds = _execution_seconds(command.execution_seconds)
    expires = min(MAX_URL_SECONDS, longest_seconds(command.execution_seconds))
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


def _execution_seconds(wanted: int) -> int:
    return max(MIN_EXECUTION_SECONDS, min(MAX_EXECUTION_SECONDS, wanted))


def longest_seconds(wanted: int) -> int:
    """The longest that a command with this time limit takes from its sending."""
    return DELIVERY_SECONDS + _execution_seconds(wanted)


def _download(key: str | None, expires_seconds: int, ports: AgentPorts) -> str:
    return NO_URL if key is None else ports.artifacts.download_url(key, expires_seconds=expires_seconds)


@contextmanager
def ended_unless_noted(command_id: str, instance_id: str, commands: Commands) -> Iterator[None]:
    """Cancels a command that was sent without `send` if noting it fails: nobody else could end it.

    A retried state sends another one, because SendCommand has no client token. A command of `send` is not
    cancelled: the retried state finds it, and Run Command may still list it as running for a while.
    """
    try:
        yield
    except RestoreError:
        with suppress(RestoreError):
            commands.cancel(command_id, instance_id)
        raise


def plain_number(value: float) -> str:
    """The number without exponent, which the agent does not accept; `g` writes one and cuts to six digits."""
    return f"{value:.3f}".rstrip("0").rstrip(".")


def bytes_to_read(request: RestoreRequest, volume: VolumeAssignment) -> int:
    """How many bytes the agent reads of the volume; with the scope `used`, at most so many."""
    size_gib = volume.volume.size_gib
    return most_bytes(request.warm_up.scope, written_blocks=volume.written_blocks, size_gib=size_gib)


@contextmanager
def about_to_send(
    restore_id: str, index: int, note: JsonObject, *, commands: Commands, table: RestoreTable
) -> Iterator[None]:
    """Notes around SendCommand that it may take effect from `since` to `until`.

    Noting the command's id removes the note.
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
        # The command may have been sent nevertheless, but no later than now.
        with suppress(RestoreError):
            noted(since, commands.time())
        raise
    except RestoreError:
        with suppress(RestoreError):
            record.note_sending(None)
        raise


def sent_before(standing: Sending, comment: str | None, commands: Commands) -> str | None:
    """The command with this comment that was not noted; cancels other commands that were not noted.

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
    """How long there may be no progress, unless the request says otherwise."""
    wanted = request.readiness.stalled_after_minutes
    return usual if wanted is None else timedelta(minutes=wanted)


def is_reachable(instance: Instance, *, away: timedelta, longest: timedelta = LEAST) -> bool:
    """Whether a command reaches the instance now; `away` is how long it has been away.

    Raises AgentUnreachableError if it is gone, or is away for longer than `longest`.
    """
    _check_not_gone(instance)
    if instance.state == "running" and instance.ssm_online:
        return True
    if away > longest:
        waited = duration_text(away.total_seconds())
        raise AgentUnreachableError(f"the agent was interrupted: {instance.reach_in_words}, for {waited}")
    return False


def check_silent_agent(
    instance_id: str, instances: Instances, *, silence: timedelta, longest: timedelta = LEAST
) -> None:
    """Checks the instance of a running warm-up command that has reported nothing for a while.

    Raises AgentUnreachableError if the instance is away for longer than `longest`, or for good.
    """
    instance = _found(instance_id, instances) if silence > LOOK_AFTER else None
    if instance is not None:
        is_reachable(instance, away=silence, longest=longest)


def check_not_terminated(instance_id: str, instances: Instances, *, silence: timedelta) -> None:
    """The same for a command that reports only its end. Raises AgentUnreachableError."""
    instance = _found(instance_id, instances) if silence > LOOK_AFTER else None
    if instance is not None:
        _check_not_gone(instance)


def _check_not_gone(instance: Instance) -> None:
    if instance.is_gone:
        raise AgentUnreachableError(f"the agent was interrupted: {instance.reach_in_words}")


def _found(instance_id: str, instances: Instances) -> Instance | None:
    """The instance; None where AWS does not say. The look only explains a silence, so that ends nothing."""
    try:
        return instances.get(instance_id)
    except TargetNotFoundError as error:
        raise AgentUnreachableError(f"the agent was interrupted: {error}") from error
    except RestoreError:
        return None


def check_in_place(volume: Volume, instance_id: str | None, instances: Instances) -> None:
    """Checks that the volume is in its place: somebody may have detached it or terminated its instance.

    Raises VolumeFailedError.
    """
    problem = misplaced(volume, instance_id)
    if problem is not None:
        ended = None if instance_id is None else _end_of_instance(instance_id, instances)
        raise VolumeFailedError(problem if ended is None else f"{problem}: {ended}")


def check_still_there(adopted: VolumeAssignment, volumes: VolumeStore, instances: Instances) -> None:
    """As check_in_place for a volume of others, who may delete it. Raises VolumeFailedError.

    Nothing is known where EC2 does not say, and a later look will be answered.
    """
    try:
        volume = volumes.get(adopted.adopts or "")
    except VolumeNotFoundError as error:
        raise VolumeFailedError(f"{adopted.adopts} was deleted meanwhile") from error
    except RestoreError:
        return
    check_in_place(volume, adopted.instance_id, instances)


def _end_of_instance(instance_id: str, instances: Instances) -> str | None:
    try:
        instance = instances.get(instance_id)
    except TargetNotFoundError:
        return "EC2 no longer shows the instance, so it was terminated"
    except RestoreError:
        return None
    return f"the instance is {instance.state}" if instance.is_gone else None
