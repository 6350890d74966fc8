"""A further attempt of the agent, where what has ended the one before may be over."""

from __future__ import annotations

from datetime import datetime, timedelta

from rewarm.contracts.rewinding import BlockCounts, RewindEvent, RewindResult
from rewarm.domain.errors import AgentFailedError, RestoreError, VolumeInUseError
from rewarm.domain.ready import agent_output
from rewarm.domain.ready.agent_output import IN_USE, MAY_PASS, AgentExit, is_one_of
from rewarm.steps.rewind.accounts import in_all
from rewarm.steps.rewind.ways import compares_device
from rewarm.steps.rewind.writer import Writer, failure

MOST_ATTEMPTS = 5
"""What interrupts the agent this often will do it again."""
PAUSE_SECONDS = (2, 15, 30, 60)
"""Before each further attempt: what was killed lets go of its device, and S3 or a user may take a while."""
LONGEST_ARMED = timedelta(hours=5)
"""The manifest's address ends with the credentials of the function that signed it (S3 user guide, "Sharing
objects with presigned URLs"), and those of a role last 12 hours at most (IAM user guide). Before the last
blocks are copied, an older agent takes the volume again, with a new address."""


def sent_at(pending: RewindResult, now: datetime) -> datetime:
    """When the agent of this attempt was sent; now where none was."""
    return pending.dispatch.started_at if pending.dispatch else now


def again(event: RewindEvent, pending: RewindResult, writer: Writer) -> RewindResult:
    """The agent takes the volume once more, and compares it anew. Raises what has ended it for good."""
    error = failure(writer, event, writing=pending.writing)
    if not _may_pass(event, pending, writer):
        raise error
    return next_attempt(event, pending, writer, error)


def next_attempt(
    event: RewindEvent, pending: RewindResult, writer: Writer, error: RestoreError
) -> RewindResult:
    """The first evidence is the way back once blocks may have been written; before, the newest one is.

    Between two attempts the device is free, and whoever writes to it then is in the next snapshot only.
    Raises the error where there were enough attempts.
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
    if status is None or status.status != "Failed":
        return False
    if is_one_of(status.exit_code, IN_USE):
        return pending.writing or _was_killed_before(pending, writer, status.exit_code)
    return agent_output.is_interrupted(status) or is_one_of(status.exit_code, MAY_PASS)


def _was_killed_before(pending: RewindResult, writer: Writer, exit_code: int | None) -> bool:
    """It had the device in this attempt, so the kernel may still hold that for the one that was killed."""
    has_taken = pending.phase != "arm" or (writer.account or {}).get("takenBefore") is True
    return has_taken or (pending.attempt > 0 and exit_code == AgentExit.HELD)
