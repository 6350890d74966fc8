"""CopySnapshot from another Region (botocore; EBS user guide, "Time-based copies").

A time-based copy takes its whole duration here: AWS says "within".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from local import Json
from local.aws.region.core import Core, new_id, refuse_dry_run
from local.aws.region.errors import ApiError, invalid
from local.aws.region.filters import tag_list
from local.aws.region.operations import operation
from local.aws.region.resources import Snapshot
from local.aws.region.tables import Tables
from local.aws.region.volumes.volume_requests import key_arn, tags_for

STEP_MINUTES = 15
MOST_MINUTES = 2_880
MOST_COPIES = 20
"""At a time to one Region (EBS user guide, "Considerations for copying snapshots")."""


class Elsewhere(Protocol):
    """Another Region's snapshots."""

    def snapshot_to_copy(self, snapshot_id: str) -> Snapshot:
        """The snapshot, if this account may copy it. Raises ApiError."""


class SnapshotCopies:
    """Copies that are made in this Region."""

    def __init__(self, core: Core, tables: Tables, neighbours: Mapping[str, Elsewhere]) -> None:
        self._core = core
        self._tables = tables
        self._neighbours = neighbours

    @operation("ec2", "CopySnapshot")
    def copy_snapshot(self, params: Json) -> Json:
        """The copy is `pending` at once; a key that cannot be used shows only when it fails."""
        minutes = params.get("CompletionDurationMinutes")
        if minutes is not None and (minutes % STEP_MINUTES or not STEP_MINUTES <= minutes <= MOST_MINUTES):
            raise invalid(f"CompletionDurationMinutes {minutes} is invalid")
        region = params["SourceRegion"]
        if region not in self._neighbours:
            raise invalid(f"Invalid source region: {region}")
        source = self._neighbours[region].snapshot_to_copy(params["SourceSnapshotId"])
        if (
            sum(one.copied and one.state == "pending" for one in self._tables.snapshots.values())
            >= MOST_COPIES
        ):
            raise ApiError("ResourceLimitExceeded", "Too many snapshot copies are in progress")
        tags = tags_for(params.get("TagSpecifications"), "snapshot")
        refuse_dry_run(params)
        made = self._begin(source, params, tags)
        seconds = 60 * minutes if minutes else self._core.settings.snapshot.copy_seconds
        self._core.at(self._core.now() + seconds, lambda due: self._completed(made, due))
        return {"SnapshotId": made.snapshot_id, "Tags": tag_list(tags)}

    def _begin(self, source: Snapshot, params: Json, tags: dict[str, str]) -> Snapshot:
        encrypted = source.encrypted or bool(params.get("Encrypted"))
        key = key_arn(params.get("KmsKeyId") or "alias/aws/ebs", self._core) if encrypted else None
        made = Snapshot(
            new_id("snap"), source.size_gib, source.extents, source.path, self._core.settings.account_id,
            self._core.now(), state="pending", progress=0, volume_id="vol-ffffffff", tags=tags,
            description=params.get("Description") or "", encrypted=encrypted, kms_key_id=key, copied=True,
            copy_minutes=params.get("CompletionDurationMinutes"), layers=source.image.layers,
            copied_lineage=source.lineage, lineage=self._lineage(source, key),
        )  # fmt: skip
        self._tables.snapshots[made.snapshot_id] = made
        return made

    def _lineage(self, source: Snapshot, key: str | None) -> str:
        """That of the last copy which the new one is an increment of; "" for a full copy.

        EBS user guide, "Copy an Amazon EBS snapshot", "Incremental snapshot copying".
        """
        copies = [
            one
            for one in self._tables.snapshots.values()
            if one.copied_lineage == source.lineage and one.state == "completed"
        ]
        last = max(copies, key=lambda one: one.start_time, default=None)
        if last is None or last.storage_tier == "archive" or last.kms_key_id != key:
            return ""
        return last.lineage

    def _completed(self, made: Snapshot, due: float) -> None:
        key = self._tables.keys.get(made.kms_key_id or "")
        if made.state != "pending":
            return
        if key is not None and not key.usable:
            made.state, made.state_message = "error", "The KMS key cannot be used"
            return
        made.state, made.progress, made.completion_time = "completed", 100, due
