"""The agent that writes: `warmer apply` takes a volume, so that nobody else can, and waits for packs.

It says what it has written. An account may be lost with its agent, so each says whether its count is exact or
a minimum. Counts of writes are kept in the bucket under the volume's id, so they outlive the record. They
show the next rewind whether somebody has written since.
"""

from __future__ import annotations

import re
from contextlib import suppress

from rewarm.contracts.base import JsonObject
from rewarm.contracts.rewinding import BlocksWritten, RewindEvent, RewindResult
from rewarm.contracts.values import DispatchWarmerResult
from rewarm.domain.errors import (
    AgentFailedError,
    AgentInterruptedError,
    AgentUnreachableError,
    RestoreError,
    VolumeInUseError,
)
from rewarm.domain.model import CommandStatus
from rewarm.domain.ready import agent_output
from rewarm.domain.ready.agent_output import IN_USE, WROTE_NOTHING, AgentExit, is_one_of
from rewarm.domain.snapshots import unusable
from rewarm.domain.units import count_text, iso
from rewarm.domain.value import Value
from rewarm.domain.volume.proof import wrong_volume
from rewarm.ports.artifacts import Artifacts
from rewarm.ports.instances import APPLY
from rewarm.ports.snapshots import SnapshotCatalog
from rewarm.steps.record.bucket import agent_parameters, delta_address, part_key, progress_key, rewound_key
from rewarm.steps.record.volume import VolumeNotes
from rewarm.steps.rewind.ways import arguments, undone_log
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
"""How long the agent waits for each part: the snapshot of a busy volume is pending for hours."""
RUNS_NAMED = 5
_BOOT_ID = re.compile(r"[0-9a-f-]{8,64}")


class Writer(Value):
    """What is known of the agent: its last account, and how its command ended; None while it runs."""

    account: JsonObject | None
    ended: CommandStatus | None
    wrong: str | None = None
    """Which other volume its account is about, as a clause; that account counts for nothing."""

    @property
    def has_taken(self) -> bool:
        """Whether the agent has the volume, so that nobody else can mount it.

        The agent's result, perhaps a refusal, arrives before Run Command says that the command has ended.
        """
        return self.account is not None and self.account.get("event") != "result" and self.ended is None

    @property
    def is_done(self) -> bool:
        """Whether all blocks are written and read back, and the samples of the others are right."""
        ended_well = self.ended is not None and self.ended.status == "Success"
        return ended_well and (self.account or {}).get("verdict") == "applied"

    def was_interrupted(self, *, matters_before_writing: bool) -> bool:
        """Whether an earlier run of the attempt was interrupted; others may have written to the volume since.

        Run Command runs a document again after a restart, and the agent starts itself again after a kill.
        """
        account = self.account or {}
        taken_before = matters_before_writing and account.get("takenBefore") is True
        return taken_before or bool(agent_output.figures(account).blocks_resumed)


def send(event: RewindEvent, attempt: int, first_part: int, ports: AgentPorts) -> DispatchWarmerResult:
    """Sends the command once for each attempt; the record has it, because SendCommand has no client token.

    Raises AgentUnreachableError, TargetNotUsableError.
    """
    restore_id = event.restore_id
    index = event.volume.index
    instance_id = event.volume.instance_id or ""
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


def watch(sent: DispatchWarmerResult, volume_id: str, ports: AgentPorts) -> Writer:
    """What the agent says now of that volume."""
    status = ports.commands.status(sent.command_id, sent.instance_id)
    account = ports.artifacts.get_json(sent.progress_key)
    if status is None or not status.finished:
        return _of_volume(volume_id, account, None)
    return _of_volume(volume_id, agent_output.result(status) or account, status)


def _of_volume(volume_id: str, account: JsonObject | None, ended: CommandStatus | None) -> Writer:
    """The agent names its volume when it has taken it and at its end, but not in between."""
    names_it = account is not None and account.get("event") in {"armed", "result"}
    wrong = wrong_volume(account or {}, volume_id) if names_it else None
    return Writer(account if wrong is None else None, ended, wrong)


def failure(writer: Writer, event: RewindEvent, *, writing: bool) -> RestoreError:
    """Why the agent ended without having put the volume back; `writing` if blocks may be written."""
    status = writer.ended
    instance_id = event.volume.instance_id
    if writer.wrong is not None:
        return AgentFailedError(f"what the agent on {instance_id} says counts for nothing: {writer.wrong}")
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
    """The error that the volume is in use, with what helps."""
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


def so_far(pending: RewindResult, writer: Writer) -> BlocksWritten:
    """What the agent of this attempt has written; nothing before its gate was opened."""
    if pending.phase not in ("write", "stop"):
        return BlocksWritten()
    account = writer.account or {}
    figures = agent_output.figures(account)
    count = figures.blocks_written
    resumed = figures.blocks_resumed or 0
    seen = pending.seen
    return BlocksWritten(
        blocks=max(seen.blocks, (count or 0) + resumed),
        is_exact=count is not None and _is_last_word(writer, account) and not resumed,
        runs=_runs(account) or seen.runs,
    )


def in_all(pending: RewindResult, writer: Writer) -> BlocksWritten:
    """What the agents of all attempts have written."""
    return pending.written.plus(so_far(pending, writer))


def in_words(written: BlocksWritten) -> str:
    """`160 blocks (0 to 99, 700)`, `at least 7 blocks`."""
    least = "" if written.is_exact else "at least "
    runs = ", ".join(
        f"{first:,}" if count == 1 else f"{first:,} to {first + count - 1:,}" for first, count in written.runs
    )
    more = ", …" if runs and sum(count for _, count in written.runs) < written.blocks else ""
    return f"{least}{count_text(written.blocks, 'block')}{f' ({runs}{more})' if runs else ''}"


def _is_last_word(writer: Writer, account: JsonObject) -> bool:
    """Whether the account is complete: the agent has ended with a result, and no run of it was killed."""
    if writer.ended is None or account.get("event") != "result" or account.get("takenBefore") is True:
        return False
    return not is_one_of(writer.ended.exit_code, WROTE_NOTHING)


def _runs(account: JsonObject) -> list[tuple[int, int]]:
    """The runs of written blocks; the instance wrote them, so malformed ones are ignored."""
    found = account.get("written")
    runs = [run for run in found if isinstance(run, list)] if isinstance(found, list) else []
    pairs = [run for run in runs if len(run) == 2 and all(type(number) is int for number in run)]
    return [(first, count) for first, count in pairs[:RUNS_NAMED]]


def note_rewound(event: RewindEvent, account: JsonObject, artifacts: Artifacts) -> None:
    """Writes what the agent's last account says. This rewind does not need it, so errors are ignored.

    Kernels before 5.15 do not distinguish two attachments of a volume. Their counts prove nothing, so the
    agent gives none.
    """
    boot_id = account.get("bootId")
    count = account.get("writeCount")
    if not isinstance(boot_id, str) or not _BOOT_ID.fullmatch(boot_id) or not isinstance(count, dict):
        return
    left: JsonObject = {
        "volumeId": event.written_id,
        "snapshotId": event.volume.snapshot_id if undone_log(event) is None else None,
        "restoreId": event.restore_id,
        "index": event.volume.index,
        "bootId": boot_id,
        "writeCount": count,
        "at": iso(event.now),
    }
    with suppress(RestoreError):
        artifacts.put_json(rewound_key(event.written_id), left)


def rewound_before(event: RewindEvent, artifacts: Artifacts) -> JsonObject | None:
    """What the last rewind of the volume has left, if that helps this one; else None.

    It helps to undo that rewind, and to go back to another snapshot.
    """
    log = undone_log(event)
    with suppress(RestoreError):
        found = artifacts.get_json(rewound_key(event.written_id)) or {}
        if log is not None and (found.get("restoreId"), found.get("index")) == (log.restore_id, log.index):
            return found
        if log is None and found.get("snapshotId") not in {None, event.volume.snapshot_id}:
            return found
    return None


def snapshot_on_it(event: RewindEvent, artifacts: Artifacts, snapshots: SnapshotCatalog) -> str | None:
    """The snapshot that the volume equals if nobody has written since; None if EBS cannot compare it.

    EBS compares only completed snapshots of the volume itself. An undo log is laid over the snapshot, so
    nothing is compared.
    """
    found = rewound_before(event, artifacts)
    if found is None or undone_log(event) is not None:
        return found.get("snapshotId") if found else None
    of_volume = snapshots.of_volume(event.written_id)
    usable = {made.snapshot_id for made in of_volume if not made.is_copy and not unusable(made)}
    known = str(found["snapshotId"])
    return known if {known, event.volume.snapshot_id} <= usable else None
