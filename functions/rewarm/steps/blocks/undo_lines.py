"""Lines of a manifest that say where the agent keeps what it overwrites."""

from __future__ import annotations

from collections.abc import Sequence

from rewarm.contracts.copying import Delta
from rewarm.domain.blocks.packs import Line
from rewarm.ports.artifacts import Artifacts
from rewarm.steps.record.bucket import undo_address, undo_pack_key


def with_undo(
    lines: Sequence[Line], restore_id: str, delta: Delta, part: int, artifacts: Artifacts
) -> list[Line]:
    """The lines of a part, each with an address of its own in the undo log; as they are without one."""
    attempt = delta.undo_attempt
    if attempt is None:
        return list(lines)
    keys = (undo_pack_key(restore_id, delta.index, attempt, part=part, line=at) for at in range(len(lines)))
    return [{**line, "undo": undo_address(key, artifacts)} for line, key in zip(lines, keys, strict=True)]
