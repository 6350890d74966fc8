"""DescribeSnapshots and the archive tier (botocore Snapshot; EBS user guide, "Archive EBS snapshots")."""

from __future__ import annotations

from local import Json
from local.aws.region.core import Core, optional_stamp, refuse_dry_run, stamp
from local.aws.region.errors import ApiError, invalid, missing, not_together, snapshot_not_found
from local.aws.region.filters import Getter, keep_matching, page, tag_list
from local.aws.region.operations import operation
from local.aws.region.resources import Snapshot
from local.aws.region.snapshots.recycle_bin import is_binned
from local.aws.region.tables import Tables

DAY_SECONDS = 86_400


class Snapshots:
    """Snapshots that this account may see."""

    def __init__(self, core: Core, tables: Tables) -> None:
        self._core = core
        self._tables = tables

    @operation("ec2", "DescribeSnapshots")
    def describe_snapshots(self, params: Json) -> Json:
        """Snapshots by id, owner, permission and filter, in pages."""
        refuse_dry_run(params)
        wanted = params.get("SnapshotIds")
        items = (
            [self._tables.snapshot(one) for one in wanted]
            if wanted
            else list(self._tables.snapshots.values())
        )
        if not self._core.settings.snapshot.recycle_bin_shown:
            hidden = [item.snapshot_id for item in items if is_binned(item)]
            if wanted and hidden:
                raise snapshot_not_found(hidden[0])
            items = [item for item in items if item.snapshot_id not in hidden]
        items = [item for item in items if self._visible(item, params)]
        for item in items:
            self._note_progress(item)
        items = keep_matching(items, params.get("Filters"), _FILTERS, lambda one: one.tags)
        items, token = page(items, params, scope="snapshots", low=self._core.settings.minimum_page)
        return {"Snapshots": [self._describe(item) for item in items], "NextToken": token}

    @operation("ec2", "RestoreSnapshotTier")
    def restore_snapshot_tier(self, params: Json) -> Json:
        """Bring an archived snapshot back, for some days or for good."""
        snapshot = self._tables.snapshot(params["SnapshotId"])
        days, permanent = params.get("TemporaryRestoreDays"), bool(params.get("PermanentRestore"))
        self._check_restore(snapshot, days, permanent=permanent)
        refuse_dry_run(params)
        now = self._core.now()
        snapshot.tiering_status = (
            "permanent-restore-in-progress" if permanent else "temporary-restore-in-progress"
        )
        snapshot.tiering_start, snapshot.tiering_progress = now, 0
        seconds = self._core.settings.snapshot.archive_restore_seconds
        self._core.at(now + seconds, lambda due: self._restored(snapshot, due, days))
        return {
            "SnapshotId": snapshot.snapshot_id,
            "RestoreStartTime": stamp(now),
            "RestoreDuration": days,
            "IsPermanentRestore": permanent,
        }

    @operation("ec2", "DescribeSnapshotTierStatus")
    def describe_snapshot_tier_status(self, params: Json) -> Json:
        """The storage tier of snapshots and how far the last move between tiers is."""
        refuse_dry_run(params)
        filters: dict[str, Getter[Snapshot]] = {
            "snapshot-id": lambda one: one.snapshot_id,
            "volume-id": lambda one: one.volume_id,
            "last-tiering-operation": lambda one: one.tiering_status,
        }
        owned = [
            snapshot
            for snapshot in self._tables.snapshots.values()
            if snapshot.owner_id == self._core.settings.account_id
        ]
        items = keep_matching(owned, params.get("Filters"), filters)
        items, token = page(items, params, scope="tier-status")
        return {"SnapshotTierStatuses": [self._tier_status(item) for item in items], "NextToken": token}

    def _check_restore(self, snapshot: Snapshot, days: int | None, *, permanent: bool) -> None:
        if days is not None and permanent:
            raise not_together("TemporaryRestoreDays and PermanentRestore must not be specified together")
        if days is None and not permanent:
            raise missing("TemporaryRestoreDays or PermanentRestore")
        if days is not None and not 1 <= days <= 180:
            raise invalid(f"TemporaryRestoreDays {days} is invalid: it must be 1 to 180")
        settings = self._core.settings.snapshot
        under_way = [one for one in self._tables.snapshots.values() if _restoring(one)]
        if snapshot.storage_tier != "archive" or snapshot in under_way:
            raise ApiError(
                settings.archive_state_error_code, f"The snapshot '{snapshot.snapshot_id}' is not archived"
            )
        if len(under_way) >= settings.restores_in_progress:
            raise ApiError(
                settings.restore_quota_error_code, "Too many snapshots are being restored from the archive"
            )

    def _restored(self, snapshot: Snapshot, due: float, days: int | None) -> None:
        snapshot.storage_tier, snapshot.tiering_progress = "standard", 100
        snapshot.tiering_status = (
            "permanent-restore-completed" if days is None else "temporary-restore-completed"
        )
        if days is not None:
            snapshot.restore_expiry = due + days * DAY_SECONDS
            self._core.at(snapshot.restore_expiry, lambda _due: self._archive_again(snapshot))

    def _archive_again(self, snapshot: Snapshot) -> None:
        snapshot.storage_tier, snapshot.restore_expiry = "archive", None

    def _visible(self, snapshot: Snapshot, params: Json) -> bool:
        account = self._core.settings.account_id
        mine = snapshot.owner_id == account
        if not (mine or snapshot.shared_with_me or snapshot.public):
            return False
        owners, users = params.get("OwnerIds"), params.get("RestorableByUserIds")
        names = {snapshot.owner_id, snapshot.owner_alias, "self" if mine else None}
        if owners and names.isdisjoint(owners):
            return False
        may = {"all" if snapshot.public else None}
        if mine or snapshot.shared_with_me:
            may |= {"self", account}
        return not users or not may.isdisjoint(users)

    def _note_progress(self, one: Snapshot) -> None:
        """How far one is that is being made; 100 % only once it is completed."""
        if one.state == "pending" and one.completes is not None:
            share = (self._core.now() - one.start_time) / (one.completes - one.start_time)
            one.progress = max(one.progress, min(99, int(100 * share)))

    def _describe(self, one: Snapshot) -> Json:
        return {
            "SnapshotId": one.snapshot_id,
            "VolumeId": one.volume_id,
            "State": one.state,
            "StateMessage": one.state_message,
            "StartTime": stamp(one.start_time),
            "CompletionTime": optional_stamp(one.completion_time),
            "Progress": f"{one.progress}%",
            "OwnerId": one.owner_id,
            "OwnerAlias": one.owner_alias,
            "Description": one.description,
            "VolumeSize": one.size_gib,
            "Encrypted": one.encrypted,
            "KmsKeyId": one.kms_key_id,
            "StorageTier": one.storage_tier,
            "RestoreExpiryTime": optional_stamp(one.restore_expiry),
            "OutpostArn": one.outpost_arn,
            "AvailabilityZone": one.availability_zone,
            "TransferType": _transfer_type(one),
            "CompletionDurationMinutes": one.copy_minutes,
            "FullSnapshotSizeInBytes": one.written_bytes if one.full_size_known else None,
            "Tags": tag_list(one.tags) if one.tags else None,
        }

    def _tier_status(self, one: Snapshot) -> Json:
        progress = one.tiering_progress
        if _restoring(one) and one.tiering_start is not None:
            passed = self._core.now() - one.tiering_start
            progress = min(99, int(100 * passed / self._core.settings.snapshot.archive_restore_seconds))
        return {
            "SnapshotId": one.snapshot_id,
            "VolumeId": one.volume_id,
            "Status": one.state,
            "OwnerId": one.owner_id,
            "Tags": tag_list(one.tags),
            "StorageTier": one.storage_tier,
            "LastTieringStartTime": optional_stamp(one.tiering_start),
            "LastTieringProgress": progress,
            "LastTieringOperationStatus": one.tiering_status,
            "ArchivalCompleteTime": optional_stamp(one.archival_complete),
            "RestoreExpiryTime": optional_stamp(one.restore_expiry),
        }


def _transfer_type(snapshot: Snapshot) -> str:
    return "standard" if snapshot.copy_minutes is None else "time-based"


def _restoring(snapshot: Snapshot) -> bool:
    return (snapshot.tiering_status or "").endswith("restore-in-progress")


_FILTERS: dict[str, Getter[Snapshot]] = {
    "description": lambda one: one.description,
    "encrypted": lambda one: one.encrypted,
    "owner-alias": lambda one: one.owner_alias,
    "owner-id": lambda one: one.owner_id,
    "progress": lambda one: f"{one.progress}%",
    "snapshot-id": lambda one: one.snapshot_id,
    "start-time": lambda one: stamp(one.start_time),
    "status": lambda one: one.state,
    "storage-tier": lambda one: one.storage_tier,
    "transfer-type": _transfer_type,
    "volume-id": lambda one: one.volume_id,
    "volume-size": lambda one: one.size_gib,
}
