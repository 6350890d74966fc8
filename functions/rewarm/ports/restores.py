"""The table of restores: a record of each restore, one of each of its volumes, and what they measured.

It also has what keeps restores out of each other's way.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple, Protocol

from rewarm.domain.time.measured import Measured
from rewarm.domain.volume.holds import AlarmStart, Running, TargetHolds
from rewarm.domain.volume.leftovers import FastRestoreClaim
from rewarm.ports import JsonObject

VOLUME_COUNT = "volumeCount"
"""The attribute of the restore that says how many volumes it has, before anything is known of them."""
RUNBOOK, RULE, NOTED, BOOST = "runbook", "rule", "adoption", "boost"
"""Statuses of what shares the index of restores: runbooks, rules, what rules will look at, and adopted
volumes that were raised for their warm-up.
"""
LISTED = (
    "acceptedAt", "alarmName", "deadlineAt", "failure", "finishedAt", "request", "trigger", VOLUME_COUNT,
)  # fmt: skip
"""Attributes that a list has; the table's index holds a copy of them (template.yaml)."""
FIRST, LAST = "0", "9999-12-31T23:59:59Z"
"""Times before and after those of all records, for lists."""
MOST_ROUNDS = 10
"""Optimistic-lock retries: a competitor wins each round. DynamoDB is asked no more often than this."""

OVER = ("sweptAt", "finishedAt")
"""Attributes of a restore that is over: the sweeper ends it, or it has ended by itself."""


class Standing(NamedTuple):
    """What a step reads of a restore before it does anything."""

    is_cancelled: bool
    """A caller cancelled it, or the sweeper ended what its execution had left."""
    status: str | None
    was_swept: bool = False
    """Only the sweeper ended it; no caller cancelled it."""


class Listed(NamedTuple):
    """One entry of a list, as the table's index has it."""

    at: str
    """When the restore was started, or the runbook or rule written."""
    name: str
    """The restore's id, the runbook's alarm, or the rule's name."""
    record: JsonObject
    """Not all attributes: those that are LISTED."""

    @property
    def place(self) -> tuple[str, str]:
        """Where a list continues after this entry."""
        return self.at, self.name


class RestoreTable(Protocol):
    """Restores and their volumes, runbooks, rules, alarm events, and who uses which fast snapshot restore.

    Each volume has a record beside the restore's. It has room there, and its writer never meets the writers
    of other volumes.

    What must hold together is on the restore itself: `cancelRequested`, and the marks `attached<index>` and
    `settled<index>`. Everything else of a volume has one writer at a time: its execution or, once that has
    ended, the sweeper. No write spans two items.
    """

    def put_new(self, restore_id: str, record: JsonObject) -> bool:
        """Writes the record of a new restore; returns False if the restore is known already."""

    def get(self, restore_id: str) -> JsonObject | None:
        """Returns the restore's own record, with the marks of its volumes; None if it is not known."""

    def get_whole(self, restore_id: str) -> tuple[JsonObject | None, dict[int, JsonObject]]:
        """Returns the restore's own record, and those of its volumes by index, which are never older.

        Where its own is lost its volumes are counted by theirs.
        """

    def standing(self, restore_id: str) -> Standing:
        """Returns status and cancellation without the rest of the record; neither if it is not known."""

    def get_each(self, restore_ids: Sequence[str], names: Sequence[str]) -> dict[str, JsonObject]:
        """Returns these attributes of each restore that is known, by its id."""

    def note_volume(self, volume_id: str, restore_id: str) -> None:
        """Notes that the restore makes, adopts or rewinds this volume. Noting it again changes nothing."""

    def restores_of(self, volume_id: str) -> list[Listed]:
        """Returns the restores that were noted for this volume, the newest first."""

    def update(self, restore_id: str, changes: JsonObject) -> None:
        """Sets the given attributes of the restore, and creates the record if it is missing."""

    def advance(self, restore_id: str, status: str) -> None:
        """Sets the status, unless the restore is over (one of OVER): a function may outlive its execution."""

    def append_event(self, restore_id: str, event: JsonObject) -> None:
        """Adds to the list `events` of the restore."""

    def get_volume(self, restore_id: str, index: int) -> JsonObject:
        """Returns the record of one volume, without its marks; empty if there is none."""

    def update_volume(self, restore_id: str, index: int, changes: JsonObject) -> None:
        """Sets the given attributes of one volume, and creates its record if it is missing."""

    def begin_creation(self, restore_id: str, index: int, attempt: int, creation: JsonObject) -> JsonObject:
        """Adds to the volume's `creations` what the attempt asks EC2 for, with a chance value as its `key`.

        An attempt that is there already stays as it is. Returns the volume's record.
        """

    def append_volume_event(self, restore_id: str, index: int, event: JsonObject) -> None:
        """Adds to the list `events` of one volume."""

    def request_cancel(
        self, restore_id: str, *, by: JsonObject | None = None, unless: Sequence[str] = ()
    ) -> bool:
        """Marks the restore as to be cancelled; returns False if it has all marks of `unless`.

        Raises RestoreNotFoundError.
        """

    def set_unless_cancelled(self, restore_id: str, name: str, value: Any) -> bool:
        """Sets a mark; returns False if the restore was cancelled before the mark was set."""

    def replace_value(self, restore_id: str, name: str, value: JsonObject, *, was: JsonObject | None) -> bool:
        """Sets an attribute if it is `was` (None: missing) and nobody has cancelled; else returns False."""

    def claim_event(self, event_id: str, restore_id: str) -> str:
        """Returns the id of the restore that owns this event: ours, or the one that claimed it first."""

    def claim_message(self, message: str, sender: str, *, seconds: int) -> bool:
        """Claims the sending of a message for so many seconds; returns False while another sender has it.

        The sender that has it may claim it again, and gives it back with 0 seconds.
        """

    def runbook(self, alarm_name: str) -> JsonObject | None:
        """Returns the restore request for an alarm; None if the alarm has none."""

    def stored(self, kind: str, name: str) -> JsonObject | None:
        """Returns a runbook, rule or boost (`request`), `trigger` (who wrote it) and `startedAt` (when)."""

    def store(self, kind: str, name: str, request: JsonObject, *, trigger: JsonObject | None = None) -> None:
        """Writes or replaces a runbook, a rule or a boost."""

    def replace(
        self,
        kind: str,
        name: str,
        request: JsonObject,
        *,
        trigger: JsonObject | None = None,
        was: JsonObject | None,
    ) -> bool:
        """Writes a runbook, a rule or a boost if `was` (None: nothing) is stored; else returns False."""

    def discard(self, kind: str, name: str) -> bool:
        """Deletes a runbook, a rule or a boost; returns False if there was none."""

    def listed(
        self, status: str, *, since: str, until: str, after: tuple[str, str] | None, limit: int
    ) -> tuple[list[Listed], bool]:
        """Returns the newest restores that have this status, and whether there may be more of them.

        `since` and `until` are times as the records have them; both are part of the list. `after` is the
        place of the last entry that is known already. RUNBOOK and RULE list what is stored, NOTED what waits.
        The list follows the records a moment later.
        """

    def claim_fast_snapshot_restore(
        self,
        snapshot_id: str,
        zone: str,
        user: str,
        *,
        asked_at: datetime | None = None,
        enabling_time: datetime | None = None,
    ) -> None:
        """Notes that `user` (restore id and volume index) relies on it.

        `asked_at` is EC2's time before the user asks to enable it, `enabling_time` that of what this stack
        has enabled.
        """

    def note_fast_snapshot_restore(
        self, snapshot_id: str, zone: str, *, asked_at: datetime, enabling_time: datetime | None
    ) -> None:
        """Notes what came of enabling it: EC2's time if this stack enabled it, None if nothing did."""

    def take_fast_snapshot_restore_credit(
        self, snapshot_id: str, zone: str, user: str, *, credit_count: int, now: datetime, window: timedelta
    ) -> bool:
        """Returns whether `user` may create a volume with one of the `credit_count` credits that CloudWatch
        shows.

        Credits that others took within `window` are taken off, for CloudWatch may not know of them yet.
        Asking again gives the same user the same credit.
        """

    def release_fast_snapshot_restore(
        self, snapshot_id: str, zone: str, user: str
    ) -> FastRestoreClaim | None:
        """Notes that `user` no longer relies on it.

        Returns the claim if nobody else does and this stack may have enabled it: then it is to be
        disabled. Returns the same again to the last user, whose call to disable it may have failed.
        """

    def forget_fast_snapshot_restore(self, snapshot_id: str, zone: str, user: str) -> None:
        """Drops the claim once its last user has disabled the fast snapshot restore."""

    def claim(self, snapshot_id: str, zone: str) -> FastRestoreClaim | None:
        """Returns who relies on the fast snapshot restore; None if no restore of this stack ever did."""


class History(Protocol):
    """Measurements of this account's finished restores, from which estimates are made."""

    def records(self) -> list[Measured]:
        """Returns the latest records of every strategy, the oldest first."""

    def add(self, records: Sequence[Measured]) -> None:
        """Adds the records. The oldest ones of a strategy are dropped when it has too many."""

    def drills(self, runbook: str) -> list[JsonObject]:
        """Returns the results of the runbook's latest drills, the oldest first."""

    def add_drill(self, runbook: str, result: JsonObject) -> None:
        """Adds the result of a drill; one with the same `restoreId` is added once. The oldest are dropped."""

    def calibration(self) -> JsonObject | None:
        """Returns the stored calibration of this account; None if there is none."""

    def keep_calibration(self, calibration: JsonObject) -> None:
        """Keeps a calibration in the place of the one before."""

    def leases(self) -> JsonObject:
        """Returns the leases of calibrations, by their ids."""

    def keep_lease(self, calibration_id: str, lease: JsonObject) -> None:
        """Keeps the lease of a calibration in the place of its earlier one."""

    def end_lease(self, calibration_id: str) -> None:
        """Drops the lease. Does nothing without one."""


class Holds(Protocol):
    """Devices that restores work on, restores that run, and what alarms have started."""

    def on_target(self, instance_id: str) -> TargetHolds:
        """Returns the devices of the instance that restores hold."""

    def keep(self, before: TargetHolds, after: TargetHolds) -> bool:
        """Replaces all of `before` by `after`; returns False if it was changed meanwhile."""

    def enter(self, restore_id: str, *, instance_id: str | None, now: datetime) -> bool:
        """Records that the restore runs; returns False if it already was recorded."""

    def note_instance(self, running: Running) -> None:
        """Records on which instance a running restore holds devices, which was not known when it began."""

    def leave(self, restore_id: str) -> None:
        """Records that the restore has ended. Does nothing if it was not recorded as running."""

    def running(self) -> list[Running]:
        """Returns all restores of the stack that run, the one that began first in front."""

    def entry(self, restore_id: str) -> Running | None:
        """Returns the running restore; None if it is not recorded as running."""

    def alarm(self, alarm_name: str) -> AlarmStart | None:
        """Returns the last restore that the alarm started; None if there was none."""

    def keep_alarm(self, alarm_name: str, before: AlarmStart | None, after: AlarmStart) -> bool:
        """Replaces `before` by `after`; returns False if the alarm has started another restore."""


class Adoptions(Protocol):
    """What rules know: volumes that they will look at, those that they have dealt with, and one ledger."""

    def note(self, name: str) -> None:
        """Notes that rules will look at a volume, or at the volumes of an instance. Does nothing if known."""

    def forget(self, name: str) -> None:
        """Rules need not look at it any more. Does nothing to what they have dealt with."""

    def claim(self, volume_id: str, by: str) -> bool:
        """Marks the volume as dealt with, once in its life; True again only for the same `by`."""

    def claimed(self, volume_ids: Sequence[str]) -> set[str]:
        """Returns those of the volumes that are dealt with."""

    def ledger(self) -> tuple[JsonObject, str | None]:
        """Returns the ledger and its version; empty and None if nothing was kept yet."""

    def keep(self, ledger: JsonObject, version: str | None) -> bool:
        """Replaces the ledger; returns False if it was changed since it had this version."""

    def takes_turn(self, now: datetime, until: datetime) -> bool:
        """Whether this caller makes the next look, which begins at `until`; False if another one will."""

    def looked(self, at: datetime) -> None:
        """Notes that a look at everything that is new has ended well."""

    def looked_at(self) -> datetime | None:
        """When the latest of these looks was; None if there was none in the last days."""


class Pace(Protocol):
    """The describe calls that EC2 allows in a second, assigned in the order of the requests."""

    def due(self, calls: int, *, now: datetime) -> datetime:
        """Returns when this number of calls may begin, and reserves that time."""

    def seconds_of(self, calls: int) -> float:
        """Returns how many seconds this number of calls takes."""
