"""The agent that writes: `warmer apply` takes a volume, so that nobody else can, and waits for packs."""

from __future__ import annotations

import re
from dataclasses import dataclass

from rewarm.contracts.base import JsonObject
from rewarm.contracts.results import DispatchWarmerResult
from rewarm.contracts.rewinding import RewindEvent
from rewarm.domain.errors import (
    AgentFailedError,
    AgentInterruptedError,
    AgentUnreachableError,
    RestoreError,
    VolumeInUseError,
)
from rewarm.domain.model import CommandStatus
from rewarm.domain.ready import agent_output
from rewarm.domain.ready.agent_exit import IN_USE, AgentExit, is_one_of
from rewarm.ports.instances import APPLY
from rewarm.steps.record.bucket import agent_parameters, delta_address, part_key, progress_key
from rewarm.steps.record.volume import VolumeNotes
from rewarm.steps.rewind.rewound import rewound_before
from rewarm.steps.rewind.ways import arguments
from rewarm.steps.warm.agent_command import (
    DELIVERY_SECONDS,
    MAX_EXECUTION_SECONDS,
    MAX_URL_SECONDS,
    AgentPorts,
    about_to_send,
    plain_number,
    sent_before,
)

_NOT_IN_A_NAME = re.compile("[^a-z0-9-]")
WAIT_SECONDS = 86_400
"""The agent waits so long for each part: a snapshot of a busy volume is pending for hours."""


@dataclass(frozen=True, slots=True)
class Writer:
    """What is known of the agent: its last account, and how its command ended; None while it runs."""

    account: JsonObject | None
    ended: CommandStatus | None

    @property
    def has_taken(self) -> bool:
        """The agent has the volume, and nobody else can mount it.

        Its last word, a refusal perhaps, is there before Run Command says that the command has ended.
        """
        return self.account is not None and self.account.get("event") != "result" and self.ended is None

    @property
    def is_done(self) -> bool:
        """All blocks are written and read back, and the samples of the others are as they must be."""
        ended_well = self.ended is not None and self.ended.status == "Success"
        return ended_well and (self.account or {}).get("verdict") == "applied"

    def was_interrupted(self, *, matters_before_writing: bool) -> bool:
        """It is the second one of its attempt, before which others may have written to the volume.

        Run Command runs a document again after a restart, and the agent starts itself again after a kill.
        """
        account = self.account or {}
        taken_before = matters_before_writing and account.get("takenBefore") is True
        return taken_before or bool(agent_output.whole_number(account, "blocksResumed"))


def send(event: RewindEvent, attempt: int, first_part: int, ports: AgentPorts) -> DispatchWarmerResult:
    """Sends the command once for each attempt; the table remembers it, as SendCommand has no client token.

    Raises AgentUnreachableError, TargetNotUsableError.
    """
    restore_id, index, instance_id = event.restore_id, event.volume.index, event.volume.instance_id or ""
    record = VolumeNotes(ports.table, restore_id, index)
    known = record.read()
    noted = known.command
    if noted.attempt == attempt and noted.result is not None:
        return noted.result
    comment = f"rewarm apply {event.written_id} {attempt} for {restore_id}"[:100]
    key = progress_key(restore_id, index, warm_ups=0, restarts=attempt)
    command_id = sent_before(known.sending, comment, ports.commands)
    if command_id is None:
        note = {"comment": comment, "instanceId": instance_id, "platform": APPLY}
        parameters = _parameters(event, attempt, first_part, key, ports)
        with about_to_send(restore_id, index, note, commands=ports.commands, table=ports.table):
            command_id = ports.commands.send(
                instance_id, parameters, platform=APPLY, comment=comment, timeout_seconds=DELIVERY_SECONDS
            )
    sent = DispatchWarmerResult(
        command_id=command_id,
        instance_id=instance_id,
        progress_key=key,
        started_at=event.now,
        read_ops_before=0.0,
    )
    record.note_sent(sent, attempt=attempt)
    return sent


def watch(sent: DispatchWarmerResult, ports: AgentPorts) -> Writer:
    """What the agent says now."""
    status = ports.commands.status(sent.command_id, sent.instance_id)
    account = ports.artifacts.get_json(sent.progress_key)
    if status is None or not status.finished:
        return Writer(account, None)
    return Writer(agent_output.result(status) or account, status)


def failure(writer: Writer, event: RewindEvent, *, writing: bool) -> RestoreError:
    """Why the agent ended without having put the volume back; `writing` where blocks may be written."""
    status, instance_id = writer.ended, event.volume.instance_id
    if status is None:
        return AgentUnreachableError(f"{instance_id} said nothing")
    ending = agent_output.ending(status)
    if agent_output.is_unreachable(status):
        return AgentUnreachableError(f"the command never reached {instance_id}: {ending}")
    if is_one_of(status.exit_code, IN_USE):
        return in_use(
            event,
            f"cannot be taken: {ending}",
            is_mounted=status.exit_code == AgentExit.MOUNTED,
            writing=writing,
        )
    if agent_output.is_interrupted(status):
        return AgentInterruptedError(f"the agent on {instance_id} was interrupted: {ending}")
    return AgentFailedError(f"the agent on {instance_id} did not write {event.written_id}: {ending}")


def in_use(
    event: RewindEvent, why: str, *, is_mounted: bool = False, writing: bool = False
) -> VolumeInUseError:
    """The agent was not sent, or refused the volume; with what helps."""
    can_unmount = is_mounted and not event.request.target.unmount
    hint = "; target.unmount true lets Rewarm unmount it" if can_unmount else ""
    untouched = "" if writing else " Nothing was written."
    return VolumeInUseError(
        f"{event.written_id} on {event.volume.instance_id} {why}.{untouched} Stop what uses it, unmount it, "
        f"and send the request again{hint}",
        field="target.unmount",
    )


def _parameters(
    event: RewindEvent, attempt: int, first_part: int, key: str, ports: AgentPorts
) -> dict[str, str]:
    instance = ports.instances.get(event.volume.instance_id or "")
    if not instance.ssm_online:
        raise AgentUnreachableError(instance.reach_in_words)
    first = part_key(event.restore_id, event.volume.index, first_part)
    return {
        "volumeId": event.written_id,
        "attempt": _NOT_IN_A_NAME.sub("-", f"{event.restore_id}-{event.volume.index}-{attempt}".lower())[
            -80:
        ],
        "manifestUrl": delta_address(first, ports.artifacts),
        "progressUrl": ports.artifacts.upload_url(key, expires_seconds=MAX_URL_SECONDS),
        **agent_parameters(instance, ports.artifacts, expires_seconds=MAX_URL_SECONDS),
        "arguments": _arguments(event, ports),
        "executionTimeout": str(MAX_EXECUTION_SECONDS),
    }


def _arguments(event: RewindEvent, ports: AgentPorts) -> str:
    wanted = event.request.warm_up
    rewound = rewound_before(event, ports.artifacts)
    flags = [f"--wait-seconds {WAIT_SECONDS}", *arguments(event, rewound)]
    if wanted.max_mib_per_second is not None:
        flags.append(f"--max-mib-s {wanted.max_mib_per_second}")
    if wanted.polite_latency_ms is not None:
        flags.append(f"--polite-latency-ms {plain_number(wanted.polite_latency_ms)}")
    return " ".join(flags)
