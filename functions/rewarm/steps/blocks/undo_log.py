"""Undo logs in manifests: packs that are written back, and where the agent keeps what it overwrites."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rewarm.contracts.copying import Delta, UndoLogId
from rewarm.domain.blocks.packs import Line, LogPack, LogShare, pack_line
from rewarm.domain.errors import BlockDamagedError
from rewarm.ports.artifacts import Artifacts
from rewarm.ports.snapshots import PackStore
from rewarm.steps.record.bucket import (
    delta_address,
    undo_address,
    undo_pack_attempt,
    undo_pack_key,
    undo_prefix,
)


def log_packs(log: UndoLogId, packs: PackStore) -> list[LogPack]:
    """The packs of a log.

    Raises BlockDamagedError, also where S3 or somebody has deleted packs since the log was chosen.
    """
    keys = packs.keys(undo_prefix(log.restore_id, log.index))
    attempts = {key: attempt for key in keys if (attempt := undo_pack_attempt(key)) is not None}
    if len(attempts) < log.packs:
        raise BlockDamagedError(
            f"the undo log of {log.restore_id} has {len(attempts):,} of {log.packs:,} packs left; the others "
            "are deleted"
        )
    found = zip(attempts.items(), packs.indices(attempts), strict=True)
    return [LogPack(key, attempt, index) for (key, attempt), index in found]


def log_lines(found: Iterable[LogShare], artifacts: Artifacts) -> Iterator[Line]:
    """Lines for the packs that are written back whole, from where the log has them."""
    for share in found:
        if share.is_whole:
            yield pack_line(delta_address(share.pack.key, artifacts), share.pack.index.facts)


def with_undo(
    lines: Sequence[Line], restore_id: str, delta: Delta, part: int, artifacts: Artifacts
) -> list[Line]:
    """The lines of a part, each with its own address where the agent keeps what it overwrites.

    If a snapshot is the way back, the lines stay unchanged.
    """
    attempt = delta.undo_attempt
    if attempt is None:
        return list(lines)
    keys = (undo_pack_key(restore_id, delta.index, attempt, part=part, line=at) for at in range(len(lines)))
    return [{**line, "undo": undo_address(key, artifacts)} for line, key in zip(lines, keys, strict=True)]
