"""The snapshot of a volume as it is before a rewind: made once, kept, and compared with the good snapshot.

CreateSnapshot has no idempotency token (botocore). So the record says that we are about to ask, and a
snapshot whose id was lost is found by its tags. Its volume and its description, which no tag changes, prove
that it is ours. Only if none appears for two minutes a second one is made.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from rewarm.domain.errors import RestoreError, ServiceUnavailableError, SnapshotNotUsableError
from rewarm.domain.model import Snapshot
from rewarm.domain.value import Value
from rewarm.domain.volume.leftovers import ATTEMPT_TAG, EVIDENCE_TAG, INDEX_TAG, RESTORE_TAG, STACK_TAG
from rewarm.domain.volume.proof import evidence_description
from rewarm.ports.restores import RestoreTable
from rewarm.ports.snapshots import EvidenceSnapshots
from rewarm.steps.record.volume import Rewinding, VolumeNotes

APPEARANCE_PATIENCE = timedelta(minutes=2)
"""DescribeSnapshots may not show what CreateSnapshot has just made."""


class Wanted(Value):
    """The snapshot that an attempt of a rewind needs of its volume."""

    restore_id: str
    index: int
    attempt: int
    volume_id: str
    good_id: str
    known_id: str | None = None
    """The snapshot, once EC2 has shown it: blocks may be written since then, so no other one is made."""
    is_way_back: bool = True
    """Whether it is the evidence, because nothing was written before; else an earlier snapshot is."""

    def tags(self, stack_name: str) -> dict[str, str]:
        """Tags by which it is found, and distinguished from backups."""
        return {
            EVIDENCE_TAG: self.good_id,
            STACK_TAG: stack_name,
            RESTORE_TAG: self.restore_id,
            INDEX_TAG: str(self.index),
            ATTEMPT_TAG: str(self.attempt),
        }


def evidence(
    wanted: Wanted, *, snapshots: EvidenceSnapshots, table: RestoreTable, stack_name: str, now: datetime
) -> Snapshot | None:
    """The snapshot, which may be pending; None while EC2 does not show it. Raises SnapshotNotUsableError."""
    record = VolumeNotes(table, wanted.restore_id, wanted.index)
    known = record.read().rewind or Rewinding()
    asked_at = known.asked_at.get(str(wanted.attempt))
    made = _made(wanted, snapshots, stack_name) if asked_at else []
    found = _of_attempt(wanted, made)
    is_late = asked_at is None or now - asked_at > APPEARANCE_PATIENCE
    if found is None and is_late and wanted.known_id is not None:
        raise SnapshotNotUsableError(
            f"{wanted.known_id} of {wanted.volume_id} as it was is gone, or has lost its tags; without it "
            "nobody could undo the rewind"
        )
    if found is None and is_late:
        known = record.note_evidence_asked(known, wanted.attempt, now)
        _create(wanted, known, snapshots, record, stack_name)
        made = _made(wanted, snapshots, stack_name)
        found = _of_attempt(wanted, made)
    _note_forgotten(wanted, known, made, record)
    if found is not None:
        _note(wanted, found.snapshot_id, found.state, record)
    if found is not None and found.state == "error":
        raise SnapshotNotUsableError(
            f"{found.snapshot_id} of {wanted.volume_id} as it was failed: "
            f"{found.state_message or 'EC2 gives no reason'}; without it nobody could undo the rewind"
        )
    return found


def _made(wanted: Wanted, snapshots: EvidenceSnapshots, stack_name: str) -> list[Snapshot]:
    """Those that this rewind made of this volume: somebody may have put the tags on another snapshot."""
    tags = wanted.tags(stack_name)
    return [
        snapshot
        for snapshot in snapshots.of_restore(wanted.restore_id, wanted.index)
        if snapshot.volume_id == wanted.volume_id
        and snapshot.description == evidence_description(wanted.volume_id, {**tags, **snapshot.tags})
    ]


def _of_attempt(wanted: Wanted, made: Sequence[Snapshot]) -> Snapshot | None:
    of_attempt = (snapshot for snapshot in made if snapshot.tags.get(ATTEMPT_TAG) == str(wanted.attempt))
    return next((found for found in of_attempt if wanted.known_id in {None, found.snapshot_id}), None)


def _note_forgotten(wanted: Wanted, known: Rewinding, made: Sequence[Snapshot], record: VolumeNotes) -> None:
    """Notes snapshots of earlier attempts again, if somebody deleted the record's item."""
    earlier = [snapshot for snapshot in made if snapshot.tags.get(ATTEMPT_TAG) != str(wanted.attempt)]
    if any(snapshot.snapshot_id not in known.snapshots for snapshot in earlier):
        record.note_snapshots(earlier)


def _create(
    wanted: Wanted, known: Rewinding, snapshots: EvidenceSnapshots, record: VolumeNotes, stack_name: str
) -> None:
    """Makes the snapshot. After a permanent error none was made, so the next try need not wait."""
    try:
        made_id = snapshots.create(wanted.volume_id, wanted.tags(stack_name))
    except ServiceUnavailableError:
        raise
    except RestoreError:
        record.note_evidence_asked(known, wanted.attempt, None)
        raise
    _note(wanted, made_id, "pending", record)


def _note(wanted: Wanted, made_id: str, state: str, record: VolumeNotes) -> None:
    record.note_evidence(wanted.volume_id, made_id, state if wanted.is_way_back else None)
