"""Changes of volumes that are in use."""

from __future__ import annotations

from typing import Protocol

from rewarm.domain.volume.performance import Performance, VolumeModification


class VolumeModifications(Protocol):
    """Changes of volumes that live on."""

    def latest(self, volume_id: str) -> VolumeModification | None:
        """None where the volume was never changed. Raises VolumeNotFoundError."""

    def start(self, volume_id: str, target: Performance) -> None:
        """ModifyVolume, not idempotent. Raises ModificationPostponedError, VolumeNotFoundError."""
