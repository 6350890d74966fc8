"""Boosts of adopted volumes: what each goes back to, noted before EC2 is asked to raise it.

A note stays until its boost is over, however the restore ends. The sweeper finds it by the index. The record
of the volume has a copy, from which the note is made again if somebody has deleted it.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta

from rewarm.contracts.base import Contract, Instant, Usd, parsed
from rewarm.domain.errors import RestoreError
from rewarm.domain.volume.performance import (
    COSTS,
    LOOKS_AGAIN,
    BoostOutcome,
    BoostState,
    ModificationRule,
    PerformanceSettings,
    VolumeModification,
    change_lasts,
    modify_command,
)
from rewarm.ports.restores import BOOST, FIRST, LAST, RestoreTable
from rewarm.steps.record.volume import VolumeNotes

CLOCKS = timedelta(seconds=30)
"""How much the clocks of EC2 and of Step Functions may differ."""
ASKED_WITHIN = timedelta(minutes=10)
"""How long the state that asks for the raise lasts at most, with retries (restore_volume.asl.yaml). What EC2
does not show by then was never asked for, or was refused."""
MOST_LISTED = 100


class NotedBoost(Contract):
    """The note that EC2 is asked to raise a volume, and what the volume goes back to."""

    volume_id: str
    restore_id: str
    index: int
    asked_at: Instant
    original: PerformanceSettings
    boosted: PerformanceSettings
    size_gib: int
    usd_per_hour: Usd
    rule: ModificationRule = ModificationRule.FOUR_IN_24_H
    refused: str = ""
    """What EC2 said instead of raising it."""

    def is_own(self, change: VolumeModification | None) -> bool:
        """Whether the latest change of the volume is the raise."""
        if change is None or change.started_at is None or not self.boosted.fits(change.target):
            return False
        earliest = self.asked_at - CLOCKS
        latest = self.asked_at + ASKED_WITHIN + CLOCKS
        return earliest <= change.started_at <= latest

    def has_grown(self, change: VolumeModification) -> bool:
        """Whether the latest change came after the raise, and left the performance as it was raised."""
        before = change.original
        is_kept = before is not None and self.boosted.fits(before) and self.boosted.fits(change.target)
        return is_kept and self.is_later(change)

    def is_later(self, change: VolumeModification) -> bool:
        """Whether the change came after the volume was to be raised."""
        return change.started_at is not None and change.started_at >= self.asked_at - CLOCKS

    def is_overdue(self, now: datetime) -> bool:
        """Whether EC2 should have finished the raise, and the sweeper lowered the volume."""
        return now > self.asked_at + change_lasts(self.size_gib, self.rule) + 2 * LOOKS_AGAIN

    def outcome(self, state: BoostState, reason: str = "") -> BoostOutcome:
        """What became of it."""
        usd = self.usd_per_hour if state in COSTS else None
        command = modify_command(self.volume_id, self.original) if state in COSTS else ""
        return BoostOutcome(state, self.boosted.in_words, self.original.in_words, reason, usd, command)


def note_boost(noted: NotedBoost, table: RestoreTable) -> None:
    """Writes the note, and its copy before that."""
    VolumeNotes(table, noted.restore_id, noted.index).note_raise(noted.to_json())
    table.store(BOOST, noted.volume_id, noted.to_json())


def noted_boost(volume_id: str, table: RestoreTable) -> NotedBoost | None:
    """The volume's boost that is not over; None without one."""
    stored = table.stored(BOOST, volume_id)
    return None if stored is None else _read(stored.get("request"))


def _read(noted: object) -> NotedBoost | None:
    """None for one that somebody has changed, so that it stops no sweep."""
    try:
        return parsed(NotedBoost, noted)
    except RestoreError:
        return None


def noted_boosts(table: RestoreTable) -> Iterator[NotedBoost]:
    """All that are not over."""
    after, more = None, True
    while more:
        entries, more = table.listed(BOOST, since=FIRST, until=LAST, after=after, limit=MOST_LISTED)
        for entry in entries:
            after = entry.place
            noted = _read(entry.record.get("request"))
            if noted is not None:
                yield noted


def boost_of(restore_id: str, index: int, volume_id: str | None, table: RestoreTable) -> NotedBoost | None:
    """The boost that this volume of the restore has or had; None without one.

    Writes a lost note again, so that the sweeper finds it. One that is over is lost as well; whoever lowers
    the volume then finds that it is lowered, or that somebody else has changed it since.
    """
    if volume_id is None:
        return None
    noted = noted_boost(volume_id, table)
    if noted is None:
        noted = _read(VolumeNotes(table, restore_id, index).read().raised)
        if noted is not None:
            # Another restore may have raised the volume meanwhile; its note stays.
            was_lost = table.replace(BOOST, volume_id, noted.to_json(), was=None)
            noted = noted if was_lost else noted_boost(volume_id, table)
    is_own = noted is not None and (noted.restore_id, noted.index) == (restore_id, index)
    return noted if is_own else None
