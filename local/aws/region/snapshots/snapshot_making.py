"""CreateSnapshot and DeleteSnapshot (botocore; EBS user guide, "Create Amazon EBS snapshots")."""

from __future__ import annotations

from local import Json
from local.aws.machines.dataplane import DataPlaneError
from local.aws.region.core import Core, new_id, refuse_dry_run, stamp
from local.aws.region.errors import ApiError
from local.aws.region.filters import tag_list
from local.aws.region.operations import operation
from local.aws.region.resources import Snapshot, Volume
from local.aws.region.snapshots.fast_restore import ACTIVE, LIFECYCLE, FastRestores
from local.aws.region.snapshots.recycle_bin import is_binned
from local.aws.region.tables import Tables
from local.aws.region.volumes.volume_requests import tags_for


class SnapshotMaking:
    """Snapshots that this account makes, with the bytes that a volume has at that moment."""

    def __init__(self, core: Core, tables: Tables, fast_restores: FastRestores) -> None:
        self._core = core
        self._tables = tables
        self._fast_restores = fast_restores

    @operation("ec2", "CreateSnapshot")
    def create_snapshot(self, params: Json) -> Json:
        """The bytes are those of now; the snapshot is `pending` until they are copied."""
        volume = self._tables.volume(params["VolumeId"])
        if volume.state not in ("available", "in-use"):
            raise ApiError("IncorrectState", f"The volume '{volume.volume_id}' is '{volume.state}'")
        tags = tags_for(params.get("TagSpecifications"), "snapshot")
        refuse_dry_run(params)
        now = self._core.now()
        made = Snapshot(
            new_id("snap"), volume.size_gib, (), None, self._core.settings.account_id, now,
            state="pending", progress=0, volume_id=volume.volume_id, tags=tags,
            description=params.get("Description") or "", encrypted=volume.encrypted,
            kms_key_id=volume.kms_key_id,
        )  # fmt: skip
        self._tables.snapshots[made.snapshot_id] = made
        if volume.has_data:
            self._core.later(lambda: self._take(volume, made))
        seconds = self._core.settings.snapshot.creation_seconds
        self._core.at(now + seconds, lambda due: self._completed(made, due))
        return {
            "SnapshotId": made.snapshot_id,
            "VolumeId": made.volume_id,
            "State": made.state,
            "StartTime": stamp(now),
            "Progress": "",
            "OwnerId": made.owner_id,
            "Description": made.description,
            "VolumeSize": made.size_gib,
            "Encrypted": made.encrypted,
            "KmsKeyId": made.kms_key_id,
            "Tags": tag_list(tags),
        }

    @operation("ec2", "DeleteSnapshot")
    def delete_snapshot(self, params: Json) -> Json:
        """Fast snapshot restore ends with it; volumes that were made of it stay."""
        one = self._tables.snapshot(params["SnapshotId"])
        if is_binned(one):
            raise ApiError("InvalidSnapshot.NotFound", f"The snapshot '{one.snapshot_id}' does not exist.")
        for image in self._tables.images.values():
            if any(device.snapshot_id == one.snapshot_id for device in image.devices):
                raise ApiError(
                    "InvalidSnapshot.InUse",
                    f"The snapshot {one.snapshot_id} is currently in use by {image.image_id}",
                )
        refuse_dry_run(params)
        for fast_restore in self._tables.fast_restores.values():
            if fast_restore.snapshot is one and fast_restore.state in ACTIVE:
                self._fast_restores.stop(fast_restore, LIFECYCLE)
        del self._tables.snapshots[one.snapshot_id]
        self._core.later(lambda: self._core.dataplane.delete_snapshot(one.snapshot_id))
        return {}

    def _take(self, volume: Volume, made: Snapshot) -> None:
        try:
            image = self._core.dataplane.snapshot_volume(volume.volume_id, made.snapshot_id)
        except DataPlaneError as error:
            made.state, made.state_message = "error", str(error)
            return
        made.extents, made.path = image.extents, image.path

    def _completed(self, made: Snapshot, due: float) -> None:
        if made.state == "pending":
            made.state, made.progress, made.completion_time = "completed", 100, due
