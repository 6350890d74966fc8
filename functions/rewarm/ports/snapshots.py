"""EC2 snapshots and images."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Protocol

from rewarm.domain.model import ArchiveRestore, BinnedSnapshot, Snapshot
from rewarm.domain.volume.extents import Runs


class SnapshotCatalog(Protocol):
    """EC2 snapshots and images."""

    def get(self, snapshot_id: str) -> Snapshot:
        """Raises SnapshotNotFoundError; SnapshotNotUsableError where it is another account's, not shared."""

    def in_recycle_bin(self, snapshot_id: str | None = None) -> list[BinnedSnapshot]:
        """What the Recycle Bin holds, of this snapshot or of all; nothing where we may not look."""

    def archive_restore(self, snapshot_id: str) -> ArchiveRestore | None:
        """None where no RestoreSnapshotTier is at work."""

    def key_problem(self, kms_key_id: str) -> str | None:
        """Why no volume can be encrypted or decrypted with the KMS key now; None where one can."""

    def of_volume(self, volume_id: str) -> list[Snapshot]:
        """All snapshots of a volume that this account owns, in any state."""

    def with_tags(self, tags: Mapping[str, str]) -> list[Snapshot]:
        """All snapshots of this account that carry every one of the tags, in any state."""

    def of_image(self, image_id: str) -> dict[str, str]:
        """Device name to snapshot id of an AMI. Raises SnapshotNotFoundError."""

    def written_extents(self, snapshot_id: str, size_gib: int, full_size_bytes: int | None) -> Iterator[Runs]:
        """Written blocks, ascending, disjoint, merged, a part at a time. Raises SnapshotNotFoundError."""
