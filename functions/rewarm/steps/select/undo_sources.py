"""What the undo logs of a restore say: which volumes go back, and over which snapshots the logs are laid."""

from __future__ import annotations

from rewarm.domain.blocks.rewind_facts import MOST_REWOUND
from rewarm.domain.errors import InvalidRequestError
from rewarm.ports import JsonObject
from rewarm.ports.artifacts import Artifacts
from rewarm.ports.snapshots import SnapshotCatalog
from rewarm.steps.record.bucket import undo_head_key, undo_pack_attempt, undo_prefix
from rewarm.steps.select.sources import Chosen, named_snapshot

FIELD = "source.undoOf"
MOST_COUNTED = 10_000
"""Packs of a log: 2.4 TiB. A larger log is counted as one of so many."""


def sources_of_undo(restore_id: str, snapshots: SnapshotCatalog, artifacts: Artifacts) -> list[Chosen]:
    """Each volume of the restore that has an undo log, with the snapshot that it was put back to.

    Raises InvalidRequestError, and every error of the snapshots, with the field source.undoOf.
    """
    chosen = []
    for index in range(MOST_REWOUND):
        head = artifacts.get_json(undo_head_key(restore_id, index))
        found = None if head is None else _undone(restore_id, index, head, snapshots, artifacts)
        if found is not None:
            chosen.append(found)
    if not chosen:
        raise InvalidRequestError(
            f"found {restore_id}, which has no undo log: it never rewound a volume with one, or the log is "
            "deleted. A snapshot of the volume as it was undoes a rewind too: name it in source.snapshotId",
            field=FIELD,
        )
    return chosen


def _undone(
    restore_id: str, index: int, head: JsonObject, snapshots: SnapshotCatalog, artifacts: Artifacts
) -> Chosen | None:
    """What its head says of a log; None where the rewind did not get as far as to overwrite a block."""
    volume_id, completed = str(head["volumeId"]), head.get("completedAt") is not None
    keys = artifacts.written(undo_prefix(restore_id, index), most=MOST_COUNTED)
    attempts = [attempt for key in keys if (attempt := undo_pack_attempt(key)) is not None]
    found, packs = len(attempts), int(head.get("packs") or 0)
    if completed and found < min(packs, MOST_COUNTED - 1):
        raise InvalidRequestError(
            f"found {restore_id}, whose undo log of {volume_id} has {found:,} of {packs:,} packs left: the "
            "others are deleted, so it cannot be undone any more",
            field=FIELD,
        )
    if not completed and not found:
        return None
    return Chosen(
        named_snapshot(snapshots, str(head["snapshotId"]), FIELD),
        _because(restore_id, head, tries=len(set(attempts))),
        volume_id=volume_id,
        undo_index=index,
        undo_packs=found,
        undo_blocks=head.get("blocks"),
        undo_alone=not completed or head.get("undoOf") is not None,
    )


def _because(restore_id: str, head: JsonObject, *, tries: int) -> str:
    """Why the snapshot is the one; `tries` is how many agents have written to the log."""
    volume_id = head["volumeId"]
    because = f"{restore_id} has put {volume_id} back to it"
    if head.get("completedAt") is None:
        because = (
            f"{restore_id} began to put {volume_id} back to it and did not complete that; only the blocks "
            "that it has overwritten are written, and the others stay as they are"
        )
    elif head.get("undoOf"):
        because = (
            f"{restore_id} has undone {head['undoOf']} on {volume_id}; only the blocks that it has "
            "overwritten are written, and the others stay as they are"
        )
    if tries > 1:
        because += (
            "; its agent had to take the volume again, and each block becomes what it had before the first "
            "write to it, also where somebody has written in between"
        )
    return because
