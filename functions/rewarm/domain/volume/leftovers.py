"""What a restore that is over may have left, and what must never be taken for that."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Literal

from rewarm.domain.errors import TEMPORARY, RestoreError
from rewarm.domain.model import Volume
from rewarm.domain.value import Value

STACK_TAG, RESTORE_TAG, INDEX_TAG = "rewarm:stack", "rewarm:restore-id", "rewarm:volume-index"
FAILED_TAG = "rewarm:failed"
"""On a volume that stays though its restore failed; nothing removes it any more but its owner."""
INCOMPLETE_TAG = "rewarm:incomplete"
"""On such a volume where not all blocks of the snapshot in its value were written to it."""
REPLACED_TAG = "rewarm:replaced-by-restore"
"""On a volume whose place a restored one has taken; it is somebody's data, and never deleted."""
SNAPSHOT_TAG = "rewarm:snapshot-id"
"""What we made the volume of."""
STRATEGY_TAG = "rewarm:strategy"
"""The strategy that made it; the volume of a direct write is made of nothing."""
CALIBRATION_TAG = "rewarm:calibration"
"""On what `rewarm calibrate` makes: which calibration. Its lease says what the sweeper may end."""
COPY_TAG = "rewarm:copy-of"
"""On the copy of another Region's snapshot. No volume has it, so no backup of a volume has it either."""
ATTEMPT_TAG = "rewarm:attempt"
"""Which plan of the restore made the volume: 0 for the first, 1 for the one that took over."""
EVIDENCE_TAG = "rewarm:evidence"
"""On the snapshot of a volume before a rewind; its value is the snapshot to which the rewind goes."""
REWINDING_TAG, REWINDING_STACK_TAG = "rewarm:rewinding", "rewarm:rewinding-by-stack"
"""On a volume from before a rewind's first write to its end: the restore, and the stack that may untag it."""
DRILL_TAG = "rewarm:drill"
"""Value true: a drill made the volume. The roles of drills may change no other volume."""
DELETED = frozenset({"deleting", "deleted"})
"""States in which a volume is gone for good."""

CLOCKS_AGREE = timedelta(seconds=1)
"""By how much EC2 may cut its times. Only times of EC2 are compared: other clocks may be seconds away."""
ASK_LASTS = timedelta(minutes=2)
"""A function that enables it has a minute; a call without an answer took effect by then, or never."""

_WORDS = {
    "ABORTED": "its execution was stopped",
    "TIMED_OUT": "its execution ran into its time limit",
    "FAILED": "its execution ended without an account",
    "GONE": "Step Functions has no execution of it: none began, or it or the state machine was deleted",
}


class ExecutionEnd(Value):
    """Step Functions' status, or GONE where it knows nothing of the execution."""

    status: str
    error: str = ""
    cause: str = ""
    output: str = ""
    """JSON, where it succeeded."""

    @property
    def runs(self) -> bool:
        """Whether the execution still runs."""
        return self.status in {"RUNNING", "PENDING_REDRIVE"}

    @property
    def without_account(self) -> bool:
        """Whether the execution ended so that no state could report how the restore ended."""
        return self.status in _WORDS

    @property
    def in_words(self) -> str:
        """For the message."""
        said = ": ".join(part for part in (self.error, self.cause) if part)
        return f"{_WORDS[self.status]}{f' ({said})' if said else ''}"


class ExecutionStart(Value):
    """What an execution was started with, and its status by now."""

    input: Mapping[str, Any]
    started_at: datetime
    status: str

    @property
    def runs(self) -> bool:
        """Whether the execution still runs."""
        return ExecutionEnd(self.status).runs


class FastRestoreClaim(Value):
    """Who relies on a fast snapshot restore, as `restore id/volume index`; and what shows that we enabled it.

    EC2 says when it was enabled, but not by whom in the account (botocore EnableFastSnapshotRestores and
    DescribeFastSnapshotRestores: EnablingTime). AWS does not document that enabling it again keeps that time
    or is refused.
    """

    users: frozenset[str] = frozenset()
    last_user: str | None = None
    """Nobody relies on it any more, and disabling it did not succeed."""
    asked_at: frozenset[datetime] = frozenset()
    """EC2's time just before we asked for it, if we never got an answer, or it was not ours."""
    enabling_times: frozenset[datetime] = frozenset()
    """EC2's own, of what we enabled."""

    @property
    def may_be_on(self) -> bool:
        """Whether we have enabled it, or may have."""
        return bool(self.asked_at or self.enabling_times)

    def is_ours(self, enabling_time: datetime) -> bool:
        """Whether the one that EC2 shows now is ours."""
        known = any(abs(enabling_time - enabled) < CLOCKS_AGREE for enabled in self.enabling_times)
        return known or any(
            came_of(asked, enabling_time) and enabling_time - asked <= ASK_LASTS for asked in self.asked_at
        )


def came_of(asked_at: datetime, enabling_time: datetime) -> bool:
    """False where it was enabled before we began to. Both times are EC2's."""
    return enabling_time >= asked_at - CLOCKS_AGREE


SweepState = Literal["ended", "ending", "left"]
"""`ending`: the next sweep looks again; `left`: somebody must see to it."""


class SweptResource(Value):
    """What a sweep did about one leftover: `sweep` is the name of the sweep, `resource` an id or a name."""

    sweep: str
    resource: str
    state: SweepState
    reason: str = ""

    def to_json(self) -> dict[str, Any]:
        """Returns the object for the log and for the function's answer."""
        return {"sweep": self.sweep, "resource": self.resource, "state": self.state, "reason": self.reason}


def failed_sweep(sweep: str, resource: str, error: Exception) -> SweptResource:
    """Returns `left`; or `ending` if AWS throttled or did not answer, for then nothing is known yet.

    An error that is not from AWS is named with its type: it is a defect, or an item that somebody changed.
    """
    is_temporary = isinstance(error, TEMPORARY)
    words = " ".join(str(error).split())
    reason = words if isinstance(error, RestoreError) else f"{type(error).__name__}: {words}"
    return SweptResource(sweep, resource, "ending" if is_temporary else "left", reason)


def untouchable(tags: Mapping[str, str]) -> str | None:
    """Why nobody but its owner deletes the volume, whatever else is known of it."""
    if REPLACED_TAG in tags:
        return f"it was replaced by the restore {tags[REPLACED_TAG]}"
    if FAILED_TAG in tags:
        return f"it was kept when the restore {tags[FAILED_TAG]} failed"
    return None


def is_written_in_part(volume: Volume, *, announced: bool) -> bool:
    """Whether it is the empty volume of a direct write, whose blocks were not all written and read back.

    EC2 made it of nothing, and it is announced when it has all of them.
    """
    return not announced and volume.snapshot_id is None and volume.source_volume_id is None


def restore_and_index(user: str) -> tuple[str, int] | None:
    """Restore and index of a user of a fast snapshot restore; None where the text is not ours."""
    restore_id, _, index = user.rpartition("/")
    return (restore_id, int(index)) if restore_id and index.isdecimal() else None


def volume_execution(restore_id: str, index: int) -> str:
    """Name of the execution of one volume, of the state machine `restore-volume`."""
    return f"{restore_id}-{index}"


def restore_of(execution_name: str, *, of_volume: bool) -> str:
    """The restore's id; the execution of a volume has the index behind it."""
    name, dash, index = execution_name.rpartition("-")
    return name if of_volume and dash and index.isdecimal() else execution_name
