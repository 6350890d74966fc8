"""The port of changes of a volume's type, IOPS and throughput."""

from __future__ import annotations

from typing import Protocol

from rewarm.domain.volume.performance import Performance, VolumeModification


class VolumeModifications(Protocol):
    """EC2's ModifyVolume, and what became of it."""

    def latest(self, volume_id: str) -> VolumeModification | None:
        """Returns the latest change; None where the volume was never changed. Raises VolumeNotFoundError."""

    def start(self, volume_id: str, target: Performance) -> None:
        """Starts a change. Not idempotent. Raises ModificationPostponedError, VolumeNotFoundError."""
