"""The record of a restore: what belongs to it as a whole, and beside that what belongs to each volume.

An attribute of a volume has the volume's index at the end of its name (`initialization3`), here and there.
Every method may raise ThrottledError, ServiceUnavailableError, AccessDeniedError and RequestRefusedError.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

JsonObject = dict[str, Any]
VOLUME_COUNT = "volumeCount"
"""The attribute of the restore that says how many volumes it has, before anything is known of them."""
VOLUME_EVENTS = "events"
"""The list of what was told of a volume, with its index behind it."""

OVER = ("sweptAt", "finishedAt")
"""Attributes of a restore that is over: the sweeper ends it, or it has ended by itself."""


class Standing(NamedTuple):
    """What a step asks of a restore before it does anything."""

    is_cancelled: bool
    """Somebody asked for it to be cancelled."""
    status: str | None


class RestoreRecords(Protocol):
    """Each volume has a place of its own, so that it has room, and its writers meet nobody else's.

    What must hold together is on the restore itself: `cancelRequested`, and the marks `attached<index>` and
    `settled<index>`, of which at most one comes first. Everything else of a volume has one writer at a time,
    its execution or, once that is over, the sweeper; no two places are written as one.
    """

    def put_new(self, restore_id: str, record: JsonObject) -> bool:
        """False where the restore is known already."""

    def get(self, restore_id: str) -> JsonObject | None:
        """The restore itself, with the marks of its volumes and nothing else of them; or None."""

    def get_whole(self, restore_id: str) -> JsonObject | None:
        """The restore with all that is known of its volumes, never older than the restore itself; or None."""

    def standing(self, restore_id: str) -> Standing:
        """Where the restore is; of one that is not known, nothing."""

    def update(self, restore_id: str, changes: JsonObject) -> None:
        """Sets the given attributes; creates the record where it is missing."""

    def advance(self, restore_id: str, status: str) -> None:
        """Sets the status, unless the restore is over (one of OVER): a function may outlive its execution."""

    def append_event(self, restore_id: str, event: JsonObject) -> None:
        """Adds to the list `events` of the restore."""

    def get_volume(self, restore_id: str, index: int) -> JsonObject:
        """What is known of one volume, but for its marks; empty where that is nothing."""

    def update_volume(self, restore_id: str, index: int, changes: JsonObject) -> None:
        """Sets the given attributes of one volume."""

    def append_volume_event(self, restore_id: str, index: int, event: JsonObject) -> None:
        """Adds to the list `events<index>` of one volume."""

    def request_cancel(self, restore_id: str, *, unless: Sequence[str] = ()) -> bool:
        """Marks it as to be cancelled; False where it has all marks of `unless`.

        Raises RestoreNotFoundError.
        """

    def set_unless_cancelled(self, restore_id: str, name: str, value: Any) -> bool:
        """Sets a mark; False where the restore was cancelled before that."""
