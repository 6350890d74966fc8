"""The words of the way back: what undoes what a restore has done to a volume, as a look has found it.

Anybody may delete a way back at any time. So a message names one only as far as the look before it goes, and
has no command that needs what is gone.
"""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Literal

from rewarm.domain.units import clock_text, size_text, usd_text
from rewarm.domain.value import Value
from rewarm.domain.volume.replacing import REPLACED_TAG


class Presence(Value):
    """What a look at a way back has found: it is there, it is gone, or nobody knows as the look failed.

    `reason` follows the name of what is gone, as in "is gone: …"; of a failed look it says why it failed.
    """

    found: Literal["there", "gone", "unknown"] = "there"
    reason: str = ""
    shown: str = ""
    """The state of what is shown, even if it can undo nothing; empty if nothing is shown."""

    @property
    def is_gone(self) -> bool:
        """Whether the look has shown that it is not there."""
        return self.found == "gone"

    @property
    def is_nowhere(self) -> bool:
        """Whether nothing is left that costs money or could be deleted."""
        return self.is_gone and not self.shown

    def doubt(self, name: str) -> str:
        """A further sentence if the look has failed; else nothing."""
        if self.found != "unknown":
            return ""
        return f" Nobody could look whether {name} is still there ({self.reason.rstrip('.')})."


PRESENT = Presence()


def by_snapshot(snapshot_id: str, volume_id: str, presence: Presence, *, equalled: bool = False) -> str:
    """The sentence of a snapshot; `equalled`: it was there before, and the volume still had its data."""
    if presence.is_gone:
        what = f"{snapshot_id}, which had {volume_id} as it was"
        return f"There is no way back: {what}, {presence.reason}. {_else(volume_id)}"
    volume = f"{volume_id}, to which nobody had written since its last rewind," if equalled else volume_id
    there = f"{snapshot_id} has {volume} as it was: a rewind to it undoes this one."
    return there + presence.doubt(snapshot_id)


class LogSize(Value):
    """What an undo log has, what it costs, and when S3 deletes it."""

    size_bytes: int
    usd_per_month: Decimal
    expires_at: datetime


def by_log(restore_id: str, volume_id: str, presence: Presence, size: LogSize | None) -> str:
    """The sentence of the undo log of a restore; `size` is None if nobody could count its packs."""
    if presence.is_gone:
        return f"There is no way back: the undo log of {restore_id} {presence.reason}. {_else(volume_id)}"
    there = f"A rewind with source.undoOf {restore_id} undoes this one"
    if size is not None:
        there += (
            f"; its undo log has {size_text(size.size_bytes)} ({usd_text(size.usd_per_month)} a month) until "
            f"{clock_text(size.expires_at)}, unless it is deleted sooner (rewarm undo-log delete "
            f"{restore_id})"
        )
    return f"{there}.{presence.doubt('the undo log')}"


def by_volume(old_id: str, new_id: str, presence: Presence) -> str:
    """The sentence of a volume that was replaced."""
    taken = f"{new_id} has taken the place of {old_id}"
    if presence.is_gone:
        return (
            f"{taken}. There is no way back: {old_id} {presence.reason}. Only its snapshots have what it had."
        )
    return f"{taken}, which is detached, kept and tagged {REPLACED_TAG}.{presence.doubt(old_id)}"


def nothing_kept(volume_id: str) -> str:
    """The sentence of a rewind that is done, and has neither snapshot nor log."""
    return f"Nothing of {volume_id} is in an undo log: no block was overwritten, or it was deleted."


def not_known(volume_id: str) -> str:
    """The sentence of a rewind that has written, and whose record names no way back."""
    return f"There is no way back to what {volume_id} was that is known."


def not_read(restore_id: str) -> str:
    """The sentence of a rewind whose record could not be read."""
    return (
        "Nobody could read what undoes this rewind. Once the record can be read again, "
        f"GET /restores/{restore_id} names it."
    )


def _else(volume_id: str) -> str:
    return (
        f"If {volume_id} is not what you need, put a volume of another snapshot in its place, with "
        "target.mode replace."
    )
