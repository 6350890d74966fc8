"""How far the copying of blocks is, by the parts of the manifest that are there, and when it will be done.

A part is written as soon as all blocks of its shard are in a pack. So the parts tell it whoever has made
them, in whichever order and at which try.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from rewarm.domain.model import BLOCK_BYTES, MIB

RECENT = timedelta(minutes=1)
"""The rate is that of the last minute: pauses and what was there before do not count."""


@dataclass(frozen=True, slots=True)
class BlocksProgress:
    """What is copied of the blocks that were listed."""

    blocks_copied: int
    bytes_copied: int
    """Before they are compressed."""
    mib_per_second: float | None
    """None before the first shard is copied."""
    remaining_seconds: int | None


def blocks_progress(
    blocks: int, shards: int, written_at: Sequence[datetime], started_at: datetime
) -> BlocksProgress:
    """`written_at` has the time of each part that is there; a shard counts as the mean of all."""
    done = len(written_at)
    copied = blocks * done // shards if shards else 0
    latest = max(written_at, default=started_at)
    since = max(started_at, latest - RECENT)
    seconds = (latest - since).total_seconds()
    recent = blocks / shards * sum(one > since for one in written_at) if shards else 0.0
    rate = recent / seconds if seconds > 0 else 0.0
    remaining = 0 if copied == blocks else None
    if rate and copied < blocks:
        remaining = round((blocks - copied) / rate)
    return BlocksProgress(
        blocks_copied=copied,
        bytes_copied=copied * BLOCK_BYTES,
        mib_per_second=round(rate * BLOCK_BYTES / MIB, 1) if rate else None,
        remaining_seconds=remaining,
    )
