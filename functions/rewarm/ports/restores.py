"""The table of restores: the record of a restore as a whole, and beside that a record of each volume."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple, Protocol

from rewarm.domain.volume.leftovers import FastRestoreClaim
from rewarm.ports import JsonObject

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


class RestoreTable(Protocol):
    """Restores and their volumes, runbooks, alarm events, and who uses which fast snapshot restore.

    Each volume has a record beside the restore's, in which attributes end with the volume's index
    (`initialization3`). It has room there, and its writer never meets the writers of other volumes.

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

    def claim_event(self, event_id: str, restore_id: str) -> str:
        """The id of the restore that owns this event: ours, or the one that came first."""

    def runbook(self, alarm_name: str) -> JsonObject | None:
        """The restore request for an alarm."""

    def put_runbook(self, alarm_name: str, request: JsonObject) -> None:
        """Writes or replaces it."""

    def delete_runbook(self, alarm_name: str) -> bool:
        """False where there was none."""

    def claim_fast_snapshot_restore(
        self, snapshot_id: str, availability_zone: str, user: str, *, asked_at: datetime | None
    ) -> None:
        """Notes that `user` (restore id and volume index) relies on it, and whether it enables it now."""

    def note_fast_snapshot_restore(
        self, snapshot_id: str, availability_zone: str, *, asked_at: datetime, enabling_time: datetime | None
    ) -> None:
        """What came of enabling it: EC2's time where it was our doing, else None."""

    def take_fast_snapshot_restore_credit(
        self,
        snapshot_id: str,
        availability_zone: str,
        user: str,
        *,
        credit_count: int,
        now: datetime,
        window: timedelta,
    ) -> bool:
        """True where `user` may create a volume with one of the `credit_count` credits that CloudWatch shows.

        CloudWatch may not know yet of credits that others took within `window`; they are taken off. Asking
        again gives the same user the same credit.
        """

    def release_fast_snapshot_restore(
        self, snapshot_id: str, availability_zone: str, user: str
    ) -> FastRestoreClaim | None:
        """Where nobody relies on it any more: what shows that it is ours, to be disabled now, and again."""

    def forget_fast_snapshot_restore(self, snapshot_id: str, availability_zone: str, user: str) -> None:
        """It is disabled, as its last user was told to do."""

    def claim(self, snapshot_id: str, availability_zone: str) -> FastRestoreClaim | None:
        """None where nobody of us has to do with it."""
