"""How a rewind continues or ends where its agent has ended: with a further attempt, or as a failure.

A further attempt follows if the cause of the end may be over. A rewind that fails after its gate was opened
stops the agent and reads its account. If a block was written, the volume is mixed. If the agent is lost, the
volume may be mixed.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from rewarm.contracts.rewinding import BlockCounts, BlocksWritten, RewindEvent, RewindResult
from rewarm.contracts.values import Failure
from rewarm.domain import errors
from rewarm.domain.errors import (
    TEMPORARY,
    AgentFailedError,
    BlocksUnavailableError,
    RestoreError,
    RewindIncompleteError,
    VolumeInUseError,
)
from rewarm.domain.ready import agent_output
from rewarm.domain.ready.agent_output import IN_USE, MAY_PASS, AgentExit, is_one_of
from rewarm.steps.record.volume import VolumeNotes
from rewarm.steps.rewind.gate import RewindPorts, close_gate, end_manifest, note_way_back, other_instances
from rewarm.steps.rewind.ways import compares_device, target_in_words, undone_log
from rewarm.steps.rewind.writer import Writer, failure, in_all, in_words, so_far

END_PATIENCE, STOP_PATIENCE = timedelta(minutes=1), timedelta(minutes=3)
"""At the end of its manifest, or when it is cancelled, an agent ends within seconds. An unreachable one says
nothing."""
STOP_SECONDS = 2
MOST_ATTEMPTS = 5
"""The attempts after which a rewind gives up: an agent interrupted so often will be interrupted again."""
PAUSE_SECONDS = (2, 15, 30, 60)
"""Pauses before further attempts: a killed agent frees its device, and S3 or a user may take a while."""
LONGEST_ARMED = timedelta(hours=5)
"""The manifest's address expires with the credentials of the function that signed it (S3 user guide, "Sharing
objects with presigned URLs"), which a role has for 12 hours at most (IAM user guide). Before the last blocks
are copied, a new agent with a new address replaces one that is older than this."""


def stop(
    event: RewindEvent, pending: RewindResult, writer: Writer, error: RestoreError, ports: RewindPorts
) -> RewindResult:
    """Stops the agent, and waits for its last account. Raises `outcome` if it has ended already."""
    sent = pending.dispatch
    if pending.phase != "write" or sent is None or writer.ended is not None:
        raise outcome(event, pending, writer, error, ports) from error
    try:
        if isinstance(error, BlocksUnavailableError):
            end_manifest(event, pending, ports)
        else:
            ports.commands.cancel(sent.command_id, sent.instance_id)
    except TEMPORARY:
        raise
    except RestoreError:
        raise outcome(event, pending, writer, error, ports) from error
    stopped_by = Failure(error=type(error).__name__, cause=str(error))
    changes = {"phase": "stop", "stopped_by": stopped_by, "asked_at": event.now, "wait_seconds": STOP_SECONDS}
    return pending.model_copy(update=changes)


def stopped(event: RewindEvent, pending: RewindResult, writer: Writer, ports: RewindPorts) -> RewindResult:
    """Waits for the agent's end, and raises `outcome` then."""
    waited = event.now - (pending.asked_at or event.now)
    sent = pending.dispatch
    if writer.ended is None and waited <= STOP_PATIENCE:
        if waited > END_PATIENCE and sent is not None:
            ports.commands.cancel(sent.command_id, sent.instance_id)
        wait = max(STOP_SECONDS, int(waited.total_seconds() / 10))
        seen = so_far(pending, writer)
        return pending.model_copy(update={"wait_seconds": wait, "seen": seen})
    raise outcome(event, pending, writer, _named(pending.stopped_by), ports)


def outcome(
    event: RewindEvent, pending: RewindResult, writer: Writer, error: RestoreError, ports: RewindPorts
) -> RestoreError:
    """The error itself if nothing was written; RewindIncompleteError if something was, or may be."""
    written = in_all(pending, writer)
    if written.is_none:
        return unwritten(event, error, but=close_gate(event, ports))
    found = _mixed(event, written)
    _note(event, pending, found, written, ports)
    return RewindIncompleteError(
        f"{found}: {error}. Send the request again, which writes what is missing; or put a new volume in "
        "its place, with target.mode replace"
    )


def check_alone_at_end(event: RewindEvent, pending: RewindResult, writer: Writer, ports: RewindPorts) -> None:
    """Raises RewindIncompleteError if another instance has the volume too, and may have written to it."""
    others = [] if event.is_direct else other_instances(event, ports)
    if not others:
        return
    found = (
        f"{event.written_id} may differ from {target_in_words(event)}: its blocks are written and read "
        f"back, but it is attached to {', '.join(others)} too, where anybody may have written to it meanwhile"
    )
    _note(event, pending, found, in_all(pending, writer), ports)
    raise RewindIncompleteError(
        f"{found}. Detach it from all but one instance and send the request again, which compares it anew"
    )


def unwritten(event: RewindEvent, error: RestoreError, *, but: str | None = None) -> RestoreError:
    """The same error, with the words that nothing was written."""
    text = str(error)
    if "othing was written" in text and but is None:
        return error
    if "othing was written" not in text:
        text = f"{text}. Nothing was written to {event.written_id}"
    return type(error)(f"{text}; but {but}" if but else text)


def _note(
    event: RewindEvent, pending: RewindResult, found: str, written: BlocksWritten, ports: RewindPorts
) -> None:
    """Records what became of the volume and what undoes it, for the message."""
    VolumeNotes(ports.table, event.restore_id, event.volume.index).note_rewound(found, written.blocks)
    note_way_back(event, pending, ports)


def _mixed(event: RewindEvent, written: BlocksWritten) -> str:
    volume_id = event.written_id
    log = undone_log(event)
    became = f"those of {event.volume.snapshot_id}" if log is None else f"as before {log.restore_id}"
    if not written.blocks:
        return (
            f"{volume_id} may be mixed: the agent was lost after it was allowed to write, so some of its "
            f"blocks may be {became}"
        )
    return f"{volume_id} is mixed: {in_words(written)} are {became}, and the others are as they were"


def _named(failure: Failure | None) -> RestoreError:
    found = getattr(errors, failure.error, None) if failure else None
    kind = found if isinstance(found, type) and issubclass(found, RestoreError) else errors.AgentFailedError
    return kind(failure.cause if failure else "")


def sent_at(pending: RewindResult, now: datetime) -> datetime:
    """When the agent of this attempt was sent; now if none was."""
    return pending.dispatch.started_at if pending.dispatch else now


def again(event: RewindEvent, pending: RewindResult, writer: Writer) -> RewindResult:
    """Begins a further attempt, which compares the volume again. Raises errors that will not pass."""
    error = failure(writer, event, writing=pending.writing)
    if not _may_pass(event, pending, writer):
        raise error
    return next_attempt(event, pending, writer, error)


def next_attempt(
    event: RewindEvent, pending: RewindResult, writer: Writer, error: RestoreError
) -> RewindResult:
    """Begins a further attempt. Raises the error after the last one.

    Once blocks may be written, the first evidence is the way back; before that, the newest. Between two
    attempts anybody may write to the device, and only the next snapshot has those writes.
    """
    if pending.attempt + 1 >= MOST_ATTEMPTS:
        if isinstance(error, VolumeInUseError):
            raise error
        raise AgentFailedError(f"{MOST_ATTEMPTS} times: {error}") from error
    written = in_all(pending, writer)
    return RewindResult(
        wait_seconds=PAUSE_SECONDS[pending.attempt],
        phase="look",
        attempt=pending.attempt + 1,
        writing=pending.writing,
        written=written,
        evidence_id=None if written.is_none else pending.evidence_id,
        armed_at=pending.armed_at,
        next_part=pending.next_part,
        counts=BlockCounts() if event.is_direct or compares_device(event) else pending.counts,
        initialization=pending.initialization,
    )


def _may_pass(event: RewindEvent, pending: RewindResult, writer: Writer) -> bool:
    status = writer.ended
    is_too_old = pending.phase == "wait" and event.now - sent_at(pending, event.now) > LONGEST_ARMED
    if writer.is_done or is_too_old:
        return True
    if writer.wrong is not None or status is None or status.status != "Failed":
        return False
    if is_one_of(status.exit_code, IN_USE):
        return pending.writing or _was_killed_before(pending, writer, status.exit_code)
    return agent_output.is_interrupted(status) or is_one_of(status.exit_code, MAY_PASS)


def _was_killed_before(pending: RewindResult, writer: Writer, exit_code: int | None) -> bool:
    """Whether an agent of this attempt had the device, which the kernel may still hold for the killed one."""
    has_taken = pending.phase != "arm" or (writer.account or {}).get("takenBefore") is True
    return has_taken or (pending.attempt > 0 and exit_code == AgentExit.HELD)
