"""An undo log: packs of what blocks had before a rewind wrote them, which undo it.

Each attempt of a rewind has packs of its own. Between two attempts somebody may have written to the volume,
and a block may be in the packs of both: what it had before the rewind is in the pack of the earlier one. That
is what undoing writes, as the other blocks are of that time too. What the later pack has stays in the log.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from rewarm.domain.blocks.packs import PackIndex

UNDO_FORMAT = "rewarm-undo-1"
"""Of a log's head."""


@dataclass(frozen=True, slots=True)
class LogPack:
    """A pack of an undo log."""

    key: str
    attempt: int
    index: PackIndex

    @property
    def indices(self) -> list[int]:
        """Its blocks, in the order of the pack."""
        return [block.index for block in self.index.blocks]


@dataclass(frozen=True, slots=True)
class LogShare:
    """The blocks of a pack that undo the rewind; no other pack has them."""

    pack: LogPack
    indices: list[int]

    @property
    def is_whole(self) -> bool:
        """All blocks of the pack."""
        return len(self.indices) == len(self.pack.index.blocks)


def shares(packs: Iterable[LogPack]) -> Iterator[LogShare]:
    """The packs with the blocks that no earlier attempt has, the earliest attempt first."""
    taken = set[int]()
    for pack in sorted(packs, key=lambda one: (one.attempt, one.key)):
        own = [index for index in pack.indices if index not in taken]
        taken.update(own)
        if own:
            yield LogShare(pack, own)


def changed_between(packs: Iterable[LogPack]) -> int:
    """Blocks of which a later attempt has kept other bytes: the write before was torn, or somebody wrote."""
    kept: dict[int, set[str]] = {}
    for block in (block for pack in packs for block in pack.index.blocks):
        kept.setdefault(block.index, set()).add(block.sha256)
    return sum(len(found) > 1 for found in kept.values())


def expires_at(written_at: datetime, days: int) -> datetime:
    """When S3 begins to delete an object: at the midnight (UTC) after so many days (Amazon S3 user guide,
    "Lifecycle rules: based on an object's age").
    """
    whole = written_at.astimezone(UTC) + timedelta(days=days)
    midnight = whole.replace(hour=0, minute=0, second=0, microsecond=0)
    return midnight if midnight == whole else midnight + timedelta(days=1)
