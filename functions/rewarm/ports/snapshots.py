"""The port of EC2 snapshots and images."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Protocol

from rewarm.domain.model import ArchiveRestore, BinnedSnapshot, Snapshot
from rewarm.domain.volume.extents import Runs


class SnapshotCatalog(Protocol):
    """Snapshots and images that this account may use, and the KMS keys that encrypt them."""

    def get(self, snapshot_id: str) -> Snapshot:
        """Returns the snapshot.

        Raises SnapshotNotFoundError; SnapshotNotUsableError where it is another account's, and not shared.
        """

    def in_recycle_bin(self, snapshot_id: str | None = None) -> list[BinnedSnapshot]:
        """Returns what the Recycle Bin holds, of this snapshot or of all; nothing where the role may not
        look.
        """

    def archive_restore(self, snapshot_id: str) -> ArchiveRestore | None:
        """Returns the restore of an archived snapshot; None where no RestoreSnapshotTier is at work."""

    def key_problem(self, kms_key_id: str) -> str | None:
        """Returns why no volume can be encrypted or decrypted with the KMS key now; None where one can."""

    def of_volume(self, volume_id: str) -> list[Snapshot]:
        """Returns all snapshots of a volume that this account owns, in any state."""

    def with_tags(self, tags: Mapping[str, str]) -> list[Snapshot]:
        """Returns all snapshots of this account that carry every one of the tags, in any state."""

    def of_image(self, image_id: str) -> dict[str, str]:
        """Returns the snapshot's id by the device's name of an AMI. Raises SnapshotNotFoundError."""

    def written_extents(self, snapshot_id: str, size_gib: int, full_size_bytes: int | None) -> Iterator[Runs]:
        """Yields the written blocks in parts: ascending, disjoint, merged. Raises SnapshotNotFoundError."""
