"""The port of the blocks of snapshots, through the EBS direct APIs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from rewarm.domain.blocks.changed import ChangedPage


class SnapshotBlocks(Protocol):
    """Blocks of 512 KiB of completed snapshots in the standard tier."""

    def changed(
        self, first_snapshot_id: str, second_snapshot_id: str, *, start_block: int = 0
    ) -> Iterator[ChangedPage]:
        """Yields the blocks that differ between two snapshots of one volume, from `start_block` on.

        Each page is one request, made when it is asked for; the last one says so.

        Raises SnapshotNotFoundError; SnapshotNotUsableError, also where they are of different volumes;
        AccessDeniedError.
        """
