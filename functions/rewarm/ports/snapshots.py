"""The ports of EC2 snapshots and images, and of fast snapshot restore.

Also those of the blocks of snapshots, through the EBS direct APIs, and of the packs that they travel in.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Protocol

from rewarm.domain.blocks.packs import PackedBlock, PackFacts, PackIndex
from rewarm.domain.blocks.shards import ChangedBlock, ChangedPage, ListedRange, ReadRates
from rewarm.domain.model import (
    ArchiveRestore,
    BinnedSnapshot,
    CopyOrder,
    FastSnapshotRestore,
    ImageVolume,
    Snapshot,
    WantedTags,
)
from rewarm.domain.volume.extents import Runs


class SnapshotCatalog(Protocol):
    """Snapshots and images that this account may use, and the KMS keys that encrypt them."""

    def in_region(self, region: str | None) -> SnapshotCatalog:
        """Returns the catalog of another Region; itself for None and for its own Region."""

    def get(self, snapshot_id: str) -> Snapshot:
        """Returns the snapshot.

        Raises SnapshotNotFoundError; SnapshotNotUsableError if it is another account's, and not shared.
        """

    def in_recycle_bin(self, snapshot_id: str | None = None) -> list[BinnedSnapshot]:
        """Returns what the Recycle Bin holds of one snapshot or all; nothing without permission."""

    def archive_restore(self, snapshot_id: str) -> ArchiveRestore | None:
        """Returns the restore of an archived snapshot; None if no RestoreSnapshotTier is at work."""

    def key_problem(self, kms_key_id: str) -> str | None:
        """Returns why no volume can be encrypted or decrypted with the KMS key now; None if one can."""

    def of_volume(self, volume_id: str, owner_id: str | None = None) -> list[Snapshot]:
        """Returns all snapshots of a volume, in any state: this account's, or those that the owner shares."""

    def of_volumes(self, volume_ids: Sequence[str]) -> Iterator[Snapshot]:
        """Yields all snapshots of these volumes that this account owns, in any state and order."""

    def restorable(self, snapshot_ids: Sequence[str]) -> Iterator[Snapshot]:
        """Yields those of the snapshots that this account owns, or that are shared with it."""

    def with_tags(self, tags: WantedTags) -> Iterator[Snapshot]:
        """Yields all snapshots of this account that carry every one of the tags, in any state."""

    def of_image(self, image_id: str) -> dict[str, ImageVolume]:
        """Returns the volumes with a snapshot in an AMI's block device mapping, by the device's name.

        Raises SnapshotNotFoundError.
        """

    def written_extents(self, snapshot_id: str, size_gib: int, full_size_bytes: int | None) -> Iterator[Runs]:
        """Yields the written blocks in parts: ascending, disjoint, merged. Raises SnapshotNotFoundError."""


class SnapshotCopies(Protocol):
    """Copies of other Regions' snapshots that restores make in this Region."""

    def start(self, order: CopyOrder) -> str:
        """Starts a copy and returns its id. A second call makes a second copy.

        Raises QuotaExceededError, and every error of CopySnapshot.
        """

    def of_restore(self, restore_id: str, index: int) -> list[Snapshot]:
        """Returns the copies that carry the tags of this volume of the restore, in any state."""

    def delete(self, snapshot_id: str) -> None:
        """Deletes the copy. Does nothing if it is gone."""


class EvidenceSnapshots(Protocol):
    """Snapshots of volumes as they are before a rewind writes to them."""

    def create(self, volume_id: str, tags: Mapping[str, str]) -> str:
        """Starts a snapshot of the volume as it is now, and returns its id. A second call makes a second one.

        Raises VolumeNotFoundError, QuotaExceededError, AccessDeniedError.
        """

    def of_restore(self, restore_id: str, index: int) -> list[Snapshot]:
        """Returns those that carry the tags of this volume of the restore, in any state, the oldest first."""


class TaggedSnapshots(Protocol):
    """Snapshots with the tags of calibrations, and of copies for restores."""

    def of_stack(self, stack_name: str) -> list[Snapshot]:
        """Returns those with the stack's tag, in any state."""

    def delete(self, snapshot_id: str) -> None:
        """Deletes the snapshot. Does nothing if it is gone."""


class FastSnapshotRestores(Protocol):
    """Fast snapshot restore of a snapshot in an Availability Zone."""

    def describe(
        self, snapshot_id: str, availability_zone: str, *, now: datetime
    ) -> FastSnapshotRestore | None:
        """Returns state and credits; None if it was never enabled, or is disabled."""

    def of_places(
        self, places: Collection[tuple[str, str]], *, now: datetime
    ) -> dict[tuple[str, str], FastSnapshotRestore | None]:
        """Returns the same for each snapshot and Availability Zone; of any number by one list."""

    def enabling_time(self, snapshot_id: str, availability_zone: str) -> datetime | None:
        """Returns when the one that is active was enabled; None if none is active."""

    def absent_at(self, snapshot_id: str, availability_zone: str) -> datetime | None:
        """Looks once more and returns EC2's own time of the answer; None if one is active meanwhile."""

    def enable(self, snapshot_id: str, availability_zone: str) -> datetime | None:
        """Enables it, and returns the time at which it was enabled: an earlier one if it was enabled
        before.

        Returns None if EC2 names no time. Raises FastSnapshotRestoreUnavailableError.
        """

    def disable(self, snapshot_id: str, availability_zone: str) -> None:
        """Disables it. Does nothing if it is not enabled, or if the snapshot is gone."""

    def enabled_places(self) -> list[tuple[str, str]]:
        """Returns snapshot and Availability Zone of all that are not disabled or about to be."""


class SnapshotBlocks(Protocol):
    """Blocks of 512 KiB of completed snapshots in the standard tier."""

    def changed(
        self, first_snapshot_id: str, second_snapshot_id: str, *, start_block: int = 0
    ) -> Iterator[ChangedPage]:
        """Yields the blocks that differ between two snapshots of one volume, from `start_block` on.

        Each page is one request, made when it is asked for; the last one says so.

        Raises SnapshotNotFoundError; SnapshotNotUsableError, also if they are of different volumes;
        AccessDeniedError.
        """


class BlockLists(Protocol):
    """What there is to copy of completed snapshots of any Region."""

    def listed(
        self, snapshot_id: str, *, against: str | None, volume_bytes: int, region: str, start_block: int = 0
    ) -> Iterator[ListedRange]:
        """Yields all blocks, ascending, that differ in the snapshot `against`; without one, all that are
        written. The first token is the one of `snapshot_id`.

        Raises SnapshotNotFoundError; SnapshotNotUsableError, also if they are of different volumes;
        AccessDeniedError, ThrottledError.
        """

    def some(
        self, snapshot_id: str, start_blocks: Iterable[int], *, region: str
    ) -> Iterator[list[ChangedBlock]]:
        """Yields up to 100 written blocks from each start on, by parallel requests. Raises as `listed`."""

    def rates(self, region: str) -> ReadRates:
        """Returns how fast blocks may be read; EBS's usual quotas if AWS does not say."""


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
        """Yields the text of each object, in order; None if there is none."""

    def put_pack(self, key: str, data: bytes, facts: PackFacts, *, made_at: datetime) -> None:
        """Writes a pack with what a manifest says of it."""

    def claim(self, key: str, owner: str, *, claimed_at: datetime, claimed_after: datetime) -> bool:
        """Returns whether the owner makes the pack: not if another owner claimed it after `claimed_after`."""

    def pack(self, key: str, *, made_after: datetime) -> PackFacts | None:
        """Returns what a manifest says of the pack; None if there is none, or an older one."""

    def keys(self, prefix: str) -> Iterator[str]:
        """Yields the keys of all objects whose keys begin so, ascending."""

    def indices(self, keys: Iterable[str]) -> Iterator[PackIndex]:
        """Yields the index of each pack, in order, reading only the pack's beginning.

        Raises BlockDamagedError: an object is gone, or is no pack.
        """

    def bytes_of(self, key: str) -> bytes:
        """Returns a whole pack. Raises BlockDamagedError: it is gone."""
