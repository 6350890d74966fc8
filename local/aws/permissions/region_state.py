"""What permissions depend on, of the Region: tags, keys and attachments."""

from __future__ import annotations

from collections.abc import Mapping

from local.aws.region import Region


class RegionState:
    """Implements requests.State."""

    def __init__(self, region: Region) -> None:
        self._tables = region._tables
        self._documents = region._documents
        self._neighbours = region.neighbours

    def tags(self, resource_id: str) -> Mapping[str, str]:
        """Of a volume, snapshot, instance or document."""
        for table in (self._tables.volumes, self._tables.snapshots, self._tables.instances):
            if resource_id in table:
                return table[resource_id].tags
        return self._documents.tags(resource_id)

    def key(self, resource_id: str) -> str | None:
        """Of an encrypted volume or snapshot."""
        for table in (self._tables.volumes, self._tables.snapshots):
            if resource_id in table and table[resource_id].encrypted:
                return table[resource_id].kms_key_id
        for neighbour in self._neighbours.values():
            snapshot = neighbour._tables.snapshots.get(resource_id)
            if snapshot is not None and snapshot.encrypted:
                return snapshot.kms_key_id
        return None

    def volume_at(self, instance_id: str, device: str) -> str | None:
        """By the attachments."""
        for volume_id, volume in self._tables.volumes.items():
            attachment = volume.attachments.get(instance_id)
            if attachment is not None and attachment.device == device:
                return volume_id
        return None

    def volumes_of(self, instance_id: str) -> list[str]:
        """By the attachments."""
        volumes = self._tables.volumes.items()
        return [volume_id for volume_id, volume in volumes if instance_id in volume.attachments]

    def instance_of(self, volume_id: str) -> str | None:
        """The first one; a volume with Multi-Attach may have more."""
        volume = self._tables.volumes.get(volume_id)
        return next(iter(volume.attachments), None) if volume is not None else None
