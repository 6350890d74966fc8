"""CreateSnapshot and DeleteSnapshot (botocore; EBS user guide, "Create Amazon EBS snapshots")."""

from __future__ import annotations

from local import Json
from local.aws.machines.dataplane import BLOCK_BYTES, DataPlaneError, SnapshotImage
from local.aws.region.core import Core, new_id, refuse_dry_run, stamp
from local.aws.region.errors import ApiError
from local.aws.region.faults import Faults
from local.aws.region.filters import tag_list
from local.aws.region.operations import operation
from local.aws.region.resources import Snapshot, Volume
from local.aws.region.settings import MIB_BYTES, RegionSettings
from local.aws.region.snapshots.contents import changed_blocks
from local.aws.region.snapshots.fast_restore import ACTIVE, LIFECYCLE, FastRestores
from local.aws.region.snapshots.recycle_bin import is_binned
from local.aws.region.tables import Tables
from local.aws.region.volumes.volume_requests import tags_for


class SnapshotMaking:
    """Snapshots that this account makes, with the bytes that a volume has at that moment."""

    def __init__(self, core: Core, tables: Tables, fast_restores: FastRestores, faults: Faults) -> None:
        self._core = core
        self._tables = tables
        self._fast_restores = fast_restores
        self._faults = faults

    @operation("ec2", "CreateSnapshot")
    def create_snapshot(self, params: Json) -> Json:
        """The bytes are those of now; the snapshot is `pending` until what has changed is copied."""
        volume = self._tables.volume(params["VolumeId"])
        if volume.state not in ("available", "in-use"):
            raise ApiError("IncorrectState", f"The volume '{volume.volume_id}' is '{volume.state}'")
        self._check_limits(volume)
        tags = tags_for(params.get("TagSpecifications"), "snapshot")
        refuse_dry_run(params)
        now = self._core.now()
        before = self._newest(volume)
        made = Snapshot(
            new_id("snap"), volume.size_gib, (), None, self._core.settings.account_id, now,
            state="pending", progress=0, volume_id=volume.volume_id, tags=tags,
            description=params.get("Description") or "", encrypted=volume.encrypted,
            kms_key_id=volume.kms_key_id, lineage=lineage_of(volume, self._core.settings),
        )  # fmt: skip
        self._tables.snapshots[made.snapshot_id] = made
        self._core.later(lambda: self._take(volume, made, before))
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

    def _check_limits(self, volume: Volume) -> None:
        """EC2 API reference, "Error codes"; EBS user guide, "Quotas for Amazon EBS"."""
        settings = self._core.settings.snapshot
        pending = [
            one for one in self._tables.snapshots.values() if one.state == "pending" and not one.copied
        ]
        if len(pending) >= settings.pending_of_account:
            raise ApiError("PendingSnapshotLimitExceeded", "Too many snapshots of the account are pending")
        own = [one.start_time for one in pending if one.volume_id == volume.volume_id]
        is_hdd = volume.performance.volume_type in ("st1", "sc1")
        if len(own) >= (settings.pending_of_hdd if is_hdd else settings.pending_of_volume):
            raise ApiError("ConcurrentSnapshotLimitExceeded", f"Too many snapshots of '{volume.volume_id}'")
        if own and self._core.now() - max(own) < settings.creation_pause_seconds:
            raise ApiError(
                "SnapshotCreationPerVolumeRateExceeded",
                f"The rate limit for concurrent snapshots of '{volume.volume_id}' has been exceeded",
            )

    def _newest(self, volume: Volume) -> SnapshotImage | None:
        """The volume's last snapshot so far, which a new one is an increment of."""
        own = [
            one
            for one in self._tables.snapshots.values()
            if one.volume_id == volume.volume_id and one.state in ("pending", "completed")
        ]
        return max(own, key=lambda one: one.start_time).image if own else None

    def _take(self, volume: Volume, made: Snapshot, before: SnapshotImage | None) -> None:
        """Copy the bytes before the call is answered; without a lock, since it takes its time."""
        changed_mib = 0.0
        if volume.has_data:
            try:
                image = self._core.dataplane.snapshot_volume(volume.volume_id, made.snapshot_id)
                changed_mib = changed_blocks(before, image) * BLOCK_BYTES / MIB_BYTES
            except (DataPlaneError, OSError) as error:
                made.state, made.state_message = "error", str(error)
                return
            made.extents, made.path, made.layers = image.extents, image.path, image.layers
        settings = self._core.settings.snapshot
        made.completes = made.start_time + settings.creation_seconds + changed_mib / settings.creation_mib_s
        with self._core.transaction():
            self._core.at(made.completes, lambda due: self._completed(made, due))

    def _completed(self, made: Snapshot, due: float) -> None:
        rule = self._faults.take(
            "snapshot:creation", {"VolumeId": made.volume_id}, effects=("snapshot-error", "stall")
        )
        if rule is not None and rule.effect == "stall":
            made.completes = None
        elif rule is not None:
            made.state, made.state_message = "error", rule.message
        elif made.state == "pending":
            made.state, made.progress, made.completion_time = "completed", 100, due


def lineage_of(volume: Volume, settings: RegionSettings) -> str:
    """Which snapshots those of a volume can be compared with: also with the one that it was made from.

    EBS user guide, "Write Amazon EBS snapshots with EBS direct APIs": a snapshot of a volume that was made
    from snapshot A is an incremental snapshot of A.
    """
    if volume.source is not None and settings.snapshot.volume_copies_keep_lineage:
        return lineage_of(volume.source, settings)
    return volume.volume_id if volume.snapshot is None else volume.snapshot.lineage
