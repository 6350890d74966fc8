"""What the undo logs of a restore say: which volumes go back, and over which snapshots the logs are laid."""

from __future__ import annotations

from rewarm.domain.blocks.rewindable import MOST_REWOUND
from rewarm.domain.errors import InvalidRequestError
from rewarm.ports.artifacts import Artifacts
from rewarm.ports.snapshots import SnapshotCatalog
from rewarm.steps.record.bucket import undo_head_key, undo_pack_attempt, undo_prefix
from rewarm.steps.select.sources import Chosen, named_snapshot

MOST_COUNTED = 10_000
"""Packs of a log: 2.4 TiB. A larger log is counted as one of so many."""


def sources_of_undo(restore_id: str, snapshots: SnapshotCatalog, artifacts: Artifacts) -> list[Chosen]:
    """Each volume of the restore that has an undo log, with the snapshot that it was put back to.

    Raises InvalidRequestError, and every error of the snapshots, with the field source.undoOf.
    """
    field, chosen = "source.undoOf", []
    for index in range(MOST_REWOUND):
        head = artifacts.get_json(undo_head_key(restore_id, index))
        if head is None:
            continue
        packs = artifacts.written(undo_prefix(restore_id, index), most=MOST_COUNTED)
        chosen.append(
            Chosen(
                named_snapshot(snapshots, str(head["snapshotId"]), field),
                f"{restore_id} has put {head['volumeId']} back to it",
                volume_id=str(head["volumeId"]),
                undo_index=index,
                undo_packs=sum(undo_pack_attempt(key) is not None for key in packs),
            )
        )
    if not chosen:
        raise InvalidRequestError(
            f"found {restore_id}, which has no undo log: it never rewound a volume with one, or the log is "
            "deleted. A snapshot of the volume as it was undoes a rewind too: name it in source.snapshotId",
            field=field,
        )
    return chosen
