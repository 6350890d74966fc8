"""EBS volumes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from rewarm.domain.model import InitializationStatus, Volume, VolumeSettings


class VolumeStore(Protocol):
    """EBS volumes."""

    def create(
        self,
        snapshot_id: str,
        availability_zone: str,
        settings: VolumeSettings,
        *,
        initialization_rate_mib_s: int | None,
        client_token: str,
    ) -> str:
        """The volume's id; the same token gives the same volume.

        Raises InitializationRateUnavailableError, CapacityUnavailableError, QuotaExceededError,
        SnapshotNotFoundError.
        """

    def copy(self, source_volume_id: str, settings: VolumeSettings, *, client_token: str) -> str:
        """CopyVolumes; the copy's id. Raises VolumeCopyUnavailableError, CapacityUnavailableError, …"""

    def get(self, volume_id: str) -> Volume:
        """Raises VolumeNotFoundError."""

    def created_by(self, restore_id: str) -> list[Volume]:
        """Volumes that carry this restore's tag."""

    def attach(self, volume_id: str, instance_id: str, device: str) -> None:
        """Does nothing where it is attached so already. Raises DeviceInUseError, TargetNotUsableError."""

    def detach(self, volume_id: str, instance_id: str) -> None:
        """Does nothing where it is not attached there."""

    def delete(self, volume_id: str) -> None:
        """Does nothing where it is gone. Raises RequestRefusedError while it is attached."""

    def tag(self, volume_id: str, tags: Mapping[str, str]) -> None:
        """Raises VolumeNotFoundError."""

    def untag(self, volume_id: str, *keys: str) -> None:
        """All of the keys in one call. Does nothing where the volume or the tags are gone."""

    def initialization_status(self, volume_id: str) -> InitializationStatus:
        """What EC2 says of the initialization, up to 5 minutes late. Raises VolumeNotFoundError."""

    def of_stack(self, stack_name: str) -> list[Volume]:
        """All that carry its tag, but those that are being deleted."""

    def boosted(self, stack_name: str) -> list[Volume]:
        """Those of the stack that still carry the tag `rewarm:boost`."""

    def product_codes(self, volume_id: str) -> list[str]:
        """Those of AWS Marketplace. Raises VolumeNotFoundError."""

    def set_delete_on_termination(self, instance_id: str, device: str, *, delete: bool) -> None:
        """Of the volume that is attached there."""

    def replaced_by(self, restore_id: str) -> list[Volume]:
        """Volumes that are out of their place for this restore."""

    def replaced(self, stack_name: str) -> list[Volume]:
        """Those of all restores of the stack that may have to go back."""
