"""The Recycle Bin for snapshots (botocore; EBS user guide, "Recycle Bin")."""

from __future__ import annotations

from local import Json
from local.aws.region.core import Core, optional_stamp
from local.aws.region.errors import snapshot_not_found
from local.aws.region.filters import page
from local.aws.region.operations import operation
from local.aws.region.resources import Snapshot
from local.aws.region.tables import Tables


class RecycleBin:
    """Deleted snapshots until their retention ends."""

    def __init__(self, core: Core, tables: Tables) -> None:
        self._core = core
        self._tables = tables

    @operation("ec2", "ListSnapshotsInRecycleBin")
    def list_snapshots(self, params: Json) -> Json:
        """Those that are in it, all or by id."""
        wanted = params.get("SnapshotIds")
        held = [snapshot for snapshot in self._tables.snapshots.values() if is_binned(snapshot)]
        items = [self._held(one) for one in wanted] if wanted else held
        items, token = page(items, params, scope="recycle-bin")
        return {"Snapshots": [_describe(item) for item in items], "NextToken": token}

    @operation("ec2", "RestoreSnapshotFromRecycleBin")
    def restore_snapshot(self, params: Json) -> Json:
        """Take one out again."""
        one = self._held(params["SnapshotId"])
        one.state, one.bin_entered, one.bin_leaves = "completed", None, None
        return {"SnapshotId": one.snapshot_id, "State": one.state, "VolumeId": one.volume_id}

    def _held(self, snapshot_id: str) -> Snapshot:
        found = self._tables.snapshot(snapshot_id)
        if not is_binned(found):
            raise snapshot_not_found(snapshot_id)
        return found


def is_binned(snapshot: Snapshot) -> bool:
    """Deleted, and recoverable."""
    return snapshot.state == "recoverable"


def _describe(one: Snapshot) -> Json:
    return {
        "SnapshotId": one.snapshot_id,
        "RecycleBinEnterTime": optional_stamp(one.bin_entered),
        "RecycleBinExitTime": optional_stamp(one.bin_leaves),
        "Description": one.description,
        "VolumeId": one.volume_id,
    }
