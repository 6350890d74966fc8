"""What exists in the Region, by id, with EC2's errors for what does not."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from local.aws.region.commands.instance_types import INSTANCE_TYPES, InstanceType
from local.aws.region.errors import ApiError, instance_not_found, snapshot_not_found, volume_not_found
from local.aws.region.resources import FastRestore, Image, Instance, Key, Snapshot, Volume


@dataclass(slots=True)
class Tables:
    """Every table of the Region; read and written only inside a transaction."""

    volumes: dict[str, Volume] = field(default_factory=dict)
    attachment_changes: int = 0
    """How often a volume was attached or detached."""
    gone_volumes: dict[str, Volume] = field(default_factory=dict)
    """Deleted volumes: they cost money while they lived."""
    snapshots: dict[str, Snapshot] = field(default_factory=dict)
    fast_restores: dict[tuple[str, str], FastRestore] = field(default_factory=dict)
    past_fast_restores: list[FastRestore] = field(default_factory=list)
    instances: dict[str, Instance] = field(default_factory=dict)
    images: dict[str, Image] = field(default_factory=dict)
    launch_templates: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Shape ResponseLaunchTemplateData of botocore, by id or name."""
    keys: dict[str, Key] = field(default_factory=dict)
    """KMS keys by ARN. A key that is not here is an ordinary one."""
    instance_types: dict[str, InstanceType] = field(default_factory=lambda: dict(INSTANCE_TYPES))

    def volume(self, volume_id: str) -> Volume:
        """The volume, or InvalidVolume.NotFound."""
        if volume_id not in self.volumes:
            _check_form(volume_id, "vol", "InvalidVolumeID.Malformed")
            raise volume_not_found(volume_id)
        return self.volumes[volume_id]

    def snapshot(self, snapshot_id: str) -> Snapshot:
        """The snapshot, or InvalidSnapshot.NotFound."""
        if snapshot_id not in self.snapshots:
            _check_form(snapshot_id, "snap", "InvalidSnapshotID.Malformed")
            raise snapshot_not_found(snapshot_id)
        return self.snapshots[snapshot_id]

    def instance(self, instance_id: str) -> Instance:
        """The instance, or InvalidInstanceID.NotFound."""
        if instance_id not in self.instances:
            _check_form(instance_id, "i", "InvalidInstanceID.Malformed")
            raise instance_not_found(instance_id)
        return self.instances[instance_id]

    def attachment_limit(self, instance_type: str) -> int:
        """How many volumes an instance of the type takes; 28 for a type that is not listed."""
        kind = self.instance_types.get(instance_type)
        return (kind.real_attachments or kind.maximum_attachments) if kind else 28

    def has_nvme(self, instance: Instance) -> bool:
        """Whether its volumes show their ids to programs."""
        kind = self.instance_types.get(instance.instance_type)
        return kind is None or kind.nvme

    def tags_of(self, resource_id: str) -> dict[str, str]:
        """The tags of any resource, or EC2's InvalidID."""
        for table in (self.volumes, self.snapshots, self.instances, self.images):
            if resource_id in table:
                return table[resource_id].tags
        raise ApiError("InvalidID", f"The ID '{resource_id}' is not valid")


def _check_form(resource_id: str, prefix: str, code: str) -> None:
    """Ids have 8 or 17 hexadecimal digits; anything else is refused in other words than an unknown id."""
    if not re.fullmatch(prefix + r"-([0-9a-f]{8}|[0-9a-f]{17})", resource_id):
        raise ApiError(code, f'Invalid id: "{resource_id}"')
