"""The ports of EBS volumes, and of their performance.

What CloudWatch shows belongs to it, and changes of type, IOPS and throughput.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Protocol

from rewarm.domain.blocks.rewind_facts import WrittenSince
from rewarm.domain.model import InitializationStatus, ReadActivity, Volume, VolumeSettings, WantedTags
from rewarm.domain.volume.performance import Activity, PerformanceSettings, VolumeModification


class VolumeStore(Protocol):
    """EBS volumes of this account in the Region."""

    def create(
        self,
        snapshot_id: str | None,
        zone: str,
        settings: VolumeSettings,
        rate_mib_s: int | None,
        client_token: str,
    ) -> str:
        """Creates an empty volume, or one of a snapshot, initialized at `rate_mib_s` if given.

        Returns its id. The same token gives the same volume.

        Raises InitializationRateUnavailableError, CapacityUnavailableError, QuotaExceededError,
        SnapshotNotFoundError.
        """

    def copy(self, source_volume_id: str, settings: VolumeSettings, *, client_token: str) -> str:
        """Copies a volume (CopyVolumes) and returns the copy's id. The same token gives the same copy.

        Raises VolumeCopyUnavailableError (also if the source is gone), CapacityUnavailableError,
        QuotaExceededError.
        """

    def get(self, volume_id: str) -> Volume:
        """Returns the volume with its attachments. Raises VolumeNotFoundError."""

    def existing(self, volume_ids: Sequence[str]) -> Iterator[Volume]:
        """Yields those of the volumes that exist, with their attachments."""

    def on_instances(self, instance_ids: Sequence[str]) -> Iterator[Volume]:
        """Yields the volumes that are attached to any of the instances."""

    def with_tags(self, tags: WantedTags) -> Iterator[Volume]:
        """Yields the volumes that carry every one of the tags, without those that are being deleted."""

    def of_snapshots(self, snapshot_ids: Sequence[str]) -> Iterator[Volume]:
        """Yields the volumes that were made of these snapshots, without those that are being deleted."""

    def created_by(self, restore_id: str) -> list[Volume]:
        """Returns the volumes that carry this restore's tag."""

    def attach(self, volume_id: str, instance_id: str, device: str, card: int | None = None) -> None:
        """Attaches the volume. Does nothing if it is attached so already.

        `card` is the index of an EBS card, for an instance with more than one; without it EC2 takes card 0.

        Raises DeviceInUseError, TargetNotUsableError.
        """

    def detach(self, volume_id: str, instance_id: str) -> None:
        """Detaches the volume, never by force. Does nothing if it is not attached there."""

    def delete(self, volume_id: str) -> None:
        """Deletes the volume. Does nothing if it is gone.

        Raises RequestRefusedError while it is attached.
        """

    def tag(self, volume_id: str, tags: Mapping[str, str]) -> None:
        """Adds the tags, or replaces their values. Raises VolumeNotFoundError."""

    def untag(self, volume_id: str, *keys: str) -> None:
        """Removes the tags of these keys in one call. Does nothing if the volume or the tags are gone."""

    def initialization_status(self, volume_id: str) -> InitializationStatus:
        """Returns what EC2 shows of the initialization, up to 5 minutes late. Raises VolumeNotFoundError."""

    def of_stack(self, stack_name: str) -> list[Volume]:
        """Returns the volumes that carry the stack's tag, without those that are being deleted."""

    def boosted(self, stack_name: str) -> list[Volume]:
        """Returns the volumes of the stack that still carry the tag `rewarm:boost`."""

    def product_codes(self, volume_id: str) -> list[str]:
        """Returns the volume's product codes of AWS Marketplace. Raises VolumeNotFoundError."""

    def set_delete_on_termination(self, instance_id: str, device: str, *, delete: bool) -> None:
        """Sets whether the volume that is attached there is deleted with the instance."""

    def replaced(self, stack_name: str) -> list[Volume]:
        """Returns the volumes out of their place for any restore of the stack, which may have to go back."""


class VolumeModifications(Protocol):
    """EC2's ModifyVolume, and what became of it."""

    def latest(self, volume_id: str) -> VolumeModification | None:
        """Returns the latest change; None if the volume was never changed. Raises VolumeNotFoundError."""

    def start(self, volume_id: str, target: PerformanceSettings) -> None:
        """Starts a change. Not idempotent. Raises ModificationPostponedError, VolumeNotFoundError."""


class PerformanceLog(Protocol):
    """Our notes of each volume's changes: EC2 shows the latest one only."""

    def starts(self, volume_id: str) -> list[datetime]:
        """Returns when changes of the last days started, the oldest first."""

    def note_start(self, volume_id: str, started_at: datetime) -> None:
        """Notes when a change started. Noting the same time again changes nothing."""

    def change_id(self, volume_id: str) -> str | None:
        """Returns the id of the latest change that was asked of this stack; None if there was none."""

    def begin(self, volume_id: str, change_id: str) -> None:
        """Notes the id of a change that was asked of this stack."""


class CallTrail(Protocol):
    """CloudTrail's history of calls."""

    def modifications(self, volume_id: str, *, since: datetime) -> list[datetime]:
        """Returns when ModifyVolume was called for the volume and accepted, the oldest first.

        CloudTrail shows a call some minutes late.
        """


class Metrics(Protocol):
    """What CloudWatch shows of a volume (namespace AWS/EBS, a minute a datapoint)."""

    def read_activity(self, volume_id: str, *, since: datetime, until: datetime) -> list[ReadActivity]:
        """Returns the reads of each minute, the oldest first. A minute without a datapoint is left out."""

    def activity(self, volume_id: str, *, since: datetime, until: datetime) -> list[Activity]:
        """Returns reads and writes together of each minute, the oldest first.

        A minute counts if both its numbers of operations are there.
        """

    def written(self, volume_id: str, *, since: datetime, until: datetime) -> WrittenSince | None:
        """Returns what was written to the volume, hourly if the time is long; None without a datapoint."""
