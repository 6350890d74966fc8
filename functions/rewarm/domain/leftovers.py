"""What a restore that is over may have left, and what must never be taken for that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rewarm.domain.model import Volume

STACK_TAG, RESTORE_TAG, INDEX_TAG = "rewarm:stack", "rewarm:restore-id", "rewarm:volume-index"
FAILED_TAG = "rewarm:failed"
"""On a volume that stays though its restore failed; nothing removes it any more but its owner."""
REPLACED_TAG = "rewarm:replaced-by-restore"
"""On a volume whose place a restored one has taken; it is somebody's data, and never deleted."""
SNAPSHOT_TAG, SOURCE_TAG = "rewarm:snapshot-id", "rewarm:source-volume-id"
"""What we made the volume of."""

_WORDS = {
    "ABORTED": "its execution was stopped",
    "TIMED_OUT": "its execution ran into its time limit",
    "FAILED": "its execution ended without an account",
    "GONE": "its execution, or the state machine, was deleted",
}


@dataclass(frozen=True, slots=True)
class ExecutionEnd:
    """Step Functions' status, or GONE where it knows nothing of the execution."""

    status: str
    error: str = ""
    cause: str = ""

    @property
    def runs(self) -> bool:
        """It is still at work."""
        return self.status in {"RUNNING", "PENDING_REDRIVE"}

    @property
    def without_account(self) -> bool:
        """No state of the machine can have told how the restore ended."""
        return self.status in _WORDS

    @property
    def in_words(self) -> str:
        """For the message."""
        said = ": ".join(part for part in (self.error, self.cause) if part)
        return f"{_WORDS[self.status]}{f' ({said})' if said else ''}"


@dataclass(frozen=True, slots=True)
class FastRestoreClaim:
    """Who relies on a fast snapshot restore, as `restore id/volume index`; whether one of us enabled it."""

    enabled_by_us: bool
    users: frozenset[str] = frozenset()
    last_user: str | None = None
    """Nobody relies on it any more, and disabling it did not succeed."""


def untouchable(tags: Mapping[str, str]) -> str | None:
    """Why nobody but its owner deletes the volume, whatever else is known of it."""
    if REPLACED_TAG in tags:
        return f"it was replaced by the restore {tags[REPLACED_TAG]}"
    if FAILED_TAG in tags:
        return f"it was kept when the restore {tags[FAILED_TAG]} failed"
    return None


def is_made_by_us(volume: Volume) -> bool:
    """False where our tags came with a copy: what we made is made of what its own tags name.

    Backups and policies copy a volume's tags to its snapshots, and from there to volumes that somebody makes
    of them (EBS user guide, "Amazon Data Lifecycle Manager"; AWS Backup restores tags).
    """
    tags = volume.settings.tags
    if SOURCE_TAG in tags:
        return volume.source_volume_id == tags[SOURCE_TAG]
    return volume.snapshot_id is not None and volume.snapshot_id == tags.get(SNAPSHOT_TAG)


def restore_and_index(user: str) -> tuple[str, int] | None:
    """Of a user of a fast snapshot restore; None where the text is not ours."""
    restore_id, _, index = user.rpartition("/")
    return (restore_id, int(index)) if restore_id and index.isdecimal() else None


def restore_of(execution_name: str, *, of_volume: bool) -> str:
    """The restore's id; the execution of a volume has the index behind it."""
    name, dash, index = execution_name.rpartition("-")
    return name if of_volume and dash and index.isdecimal() else execution_name
