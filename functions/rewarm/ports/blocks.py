"""The ports of the blocks of snapshots, through the EBS direct APIs, and of the packs that they travel in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Protocol

from rewarm.domain.blocks.changed import ChangedBlock, ChangedPage
from rewarm.domain.blocks.packs import PackedBlock, PackFacts, PackIndex
from rewarm.domain.blocks.shards import ListedRange, ReadRates


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


class BlockLists(Protocol):
    """What there is to copy of completed snapshots of any Region."""

    def listed(
        self, snapshot_id: str, *, against: str | None, volume_bytes: int, region: str, start_block: int = 0
    ) -> Iterator[ListedRange]:
        """Yields all blocks, ascending, that differ in the snapshot `against`; without one, all that are
        written. The first token is the one of `snapshot_id`.

        Raises SnapshotNotFoundError; SnapshotNotUsableError, also where they are of different volumes;
        AccessDeniedError, ThrottledError.
        """

    def some(
        self, snapshot_id: str, start_blocks: Iterable[int], *, region: str
    ) -> Iterator[list[ChangedBlock]]:
        """Yields up to a hundred written blocks from each of `start_blocks` on, by one request each, several
        at once. Raises as `listed` does.
        """

    def rates(self, region: str) -> ReadRates:
        """Returns how fast blocks may be read; EBS's usual quotas where nobody says."""


class BlockReader(Protocol):
    """The blocks themselves."""

    def read(
        self,
        snapshot_id: str,
        blocks: Sequence[ChangedBlock],
        *,
        volume_bytes: int,
        region: str,
        rates: ReadRates,
    ) -> Iterator[PackedBlock]:
        """Yields each block, whole and compressed, in the same order, at the pace that all readers share.

        Raises BlockTokenError: a token has expired; BlockDamagedError; SnapshotNotFoundError,
        SnapshotNotUsableError, AccessDeniedError, ThrottledError, ServiceUnavailableError.
        """


class PackStore(Protocol):
    """The artifacts bucket, for packs, manifests and block lists."""

    def put_text(self, key: str, lines: Iterable[str]) -> None:
        """Writes lines, each with its end, while they are made."""

    def texts(self, keys: Sequence[str]) -> Iterator[str | None]:
        """Yields the text of each object, in order; None where there is none."""

    def put_pack(self, key: str, data: bytes, facts: PackFacts, *, made_at: datetime) -> None:
        """Writes a pack with what a manifest says of it."""

    def claim(self, key: str, owner: str, *, claimed_at: datetime, claimed_after: datetime) -> bool:
        """Whether the owner makes the pack. Somebody else does where that is said, and not too long ago."""

    def pack(self, key: str, *, made_after: datetime) -> PackFacts | None:
        """Returns what a manifest says of the pack; None where there is none, or an older one."""

    def keys(self, prefix: str) -> Iterator[str]:
        """Yields the keys of all objects whose keys begin so, ascending."""

    def indices(self, keys: Iterable[str]) -> Iterator[PackIndex]:
        """Yields the index of each pack, in order, of which just the beginning is read.

        Raises BlockDamagedError: an object is gone, or is no pack.
        """

    def bytes_of(self, key: str) -> bytes:
        """Returns a whole pack. Raises BlockDamagedError: it is gone."""
