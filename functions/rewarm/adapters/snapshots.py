"""Snapshots and images from EC2, their written blocks from the EBS direct APIs, and their keys from KMS.

CreateVolume accepts a key that cannot be used, and the volume then fails (botocore, ec2 CreateVolume
KmsKeyId: "authenticates the KMS key asynchronously ... the action can appear to complete, but eventually
fails"). States of keys: KMS developer guide, "Key states of AWS KMS keys".
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol

from botocore.exceptions import ClientError

from rewarm.adapters.aws_errors import code_of, in_our_words, naming_errors
from rewarm.adapters.blocks.snapshot_blocks import BlockLister
from rewarm.adapters.tags import tag_filters, tags_of
from rewarm.adapters.volumes import in_batches
from rewarm.domain.errors import (
    AccessDeniedError,
    RequestRefusedError,
    SnapshotNotFoundError,
    SnapshotNotUsableError,
)
from rewarm.domain.model import ArchiveRestore, BinnedSnapshot, CopyOrder, ImageVolume, Snapshot, WantedTags
from rewarm.domain.tags import has_tags
from rewarm.domain.units import clock_text
from rewarm.domain.volume.extents import Runs
from rewarm.domain.volume.leftovers import (
    CALIBRATION_TAG,
    COPY_TAG,
    EVIDENCE_TAG,
    INDEX_TAG,
    RESTORE_TAG,
    STACK_TAG,
)
from rewarm.domain.volume.proof import evidence_description
from rewarm.ports.snapshots import SnapshotCatalog

if TYPE_CHECKING:
    from mypy_boto3_ebs.client import EBSClient
    from mypy_boto3_ec2.client import EC2Client
    from mypy_boto3_ec2.type_defs import (
        EbsBlockDeviceTypeDef,
        FilterTypeDef,
        SnapshotRecycleBinInfoTypeDef,
        SnapshotTypeDef,
    )

LOG = logging.getLogger(__name__)
_PAGE = 1_000
_VOLUME_OF_COPIES = "vol-ffffffff"
"""What EC2 shows of copies in published outputs; AWS documents only that their volume id is arbitrary."""
_RESTORING_STATUSES = frozenset({"temporary-restore-in-progress", "permanent-restore-in-progress"})
"""botocore: ec2 TieringOperationStatus."""
_KEY_ACTIONS = "kms:DescribeKey, kms:Decrypt, kms:GenerateDataKey*, kms:ReEncrypt* and kms:CreateGrant"
"""EBS user guide, "Share the KMS key used to encrypt a shared Amazon EBS snapshot"."""
_USABLE_KEY_STATES = frozenset({"Enabled", "Updating"})


class Ec2TaggedSnapshots:
    """The port TaggedSnapshots."""

    def __init__(self, ec2: EC2Client) -> None:
        self._ec2 = ec2

    def of_stack(self, stack_name: str) -> list[Snapshot]:
        kinds: FilterTypeDef = {"Name": "tag-key", "Values": [CALIBRATION_TAG, COPY_TAG]}
        return list(_pages(self._ec2, *tag_filters({STACK_TAG: stack_name}), kinds, OwnerIds=["self"]))

    def delete(self, snapshot_id: str) -> None:
        with suppress(SnapshotNotFoundError), naming_errors():
            self._ec2.delete_snapshot(SnapshotId=snapshot_id)


class Ec2SnapshotCopies:
    """The port SnapshotCopies. CopySnapshot has no idempotency token, so its client tries once (botocore)."""

    def __init__(self, ec2: EC2Client, copying: EC2Client) -> None:
        self._ec2 = ec2
        self._copying = copying

    def start(self, order: CopyOrder) -> str:
        key: dict[str, Any] = {}
        if order.kms_key_id is not None:
            key = {"Encrypted": True, "KmsKeyId": order.kms_key_id}
        with naming_errors():
            answer = self._copying.copy_snapshot(
                SourceRegion=order.region,
                SourceSnapshotId=order.snapshot_id,
                CompletionDurationMinutes=order.minutes,
                Description=order.description,
                TagSpecifications=[
                    {
                        "ResourceType": "snapshot",
                        "Tags": [{"Key": name, "Value": value} for name, value in order.tags.items()],
                    }
                ],
                **key,
            )
        return answer["SnapshotId"]

    def of_restore(self, restore_id: str, index: int) -> list[Snapshot]:
        return list(_of_restore(self._ec2, restore_id, index, COPY_TAG))

    def delete(self, snapshot_id: str) -> None:
        with suppress(SnapshotNotFoundError), naming_errors():
            self._ec2.delete_snapshot(SnapshotId=snapshot_id)


class Ec2EvidenceSnapshots:
    """The port EvidenceSnapshots. CreateSnapshot has no token, so its client tries once (botocore)."""

    def __init__(self, ec2: EC2Client, creating: EC2Client) -> None:
        self._ec2 = ec2
        self._creating = creating

    def create(self, volume_id: str, tags: Mapping[str, str]) -> str:
        with naming_errors():
            answer = self._creating.create_snapshot(
                VolumeId=volume_id,
                Description=evidence_description(volume_id, tags),
                TagSpecifications=[
                    {
                        "ResourceType": "snapshot",
                        "Tags": [{"Key": name, "Value": value} for name, value in tags.items()],
                    }
                ],
            )
        return answer["SnapshotId"]

    def of_restore(self, restore_id: str, index: int) -> list[Snapshot]:
        found = _of_restore(self._ec2, restore_id, index, EVIDENCE_TAG)
        return sorted(found, key=lambda snapshot: snapshot.started_at)


class Ec2SnapshotCatalog:
    """The port SnapshotCatalog."""

    def __init__(
        self,
        ec2: EC2Client,
        ebs: EBSClient,
        kms: DescribesKeys,
        elsewhere: Callable[[str], SnapshotCatalog] | None = None,
    ) -> None:
        self._ec2 = ec2
        self._blocks = BlockLister(ebs)
        self._keys = KmsKeys(kms)
        self._elsewhere = elsewhere

    def in_region(self, region: str | None) -> SnapshotCatalog:
        if region is None or region == self._ec2.meta.region_name or self._elsewhere is None:
            return self
        return self._elsewhere(region)

    def get(self, snapshot_id: str) -> Snapshot:
        """EC2 refuses unknown ids, and leaves out those without access (botocore, DescribeSnapshots)."""
        with naming_errors():
            found = self._ec2.describe_snapshots(SnapshotIds=[snapshot_id])["Snapshots"]
        if not found:
            raise SnapshotNotUsableError(
                f"{snapshot_id} cannot be restored: it belongs to another account, which does not share it "
                "with this one; its owner can: aws ec2 modify-snapshot-attribute --snapshot-id "
                f"{snapshot_id} --attribute createVolumePermission"
            )
        return _snapshot(found[0])

    def in_recycle_bin(self, snapshot_id: str | None = None) -> list[BinnedSnapshot]:
        paginator = self._ec2.get_paginator("list_snapshots_in_recycle_bin")
        wanted = {"SnapshotIds": [snapshot_id]} if snapshot_id is not None else {"MaxResults": _PAGE}
        try:
            with naming_errors():
                pages = paginator.paginate(**wanted)
                return [_binned(found) for page in pages for found in page["Snapshots"]]
        except (AccessDeniedError, RequestRefusedError, SnapshotNotFoundError) as error:
            LOG.info("the Recycle Bin could not be looked into: %s", error)
            return []

    def archive_restore(self, snapshot_id: str) -> ArchiveRestore | None:
        with naming_errors():
            answer = self._ec2.describe_snapshot_tier_status(
                Filters=[{"Name": "snapshot-id", "Values": [snapshot_id]}]
            )
        for found in answer["SnapshotTierStatuses"]:
            if found.get("LastTieringOperationStatus", "") in _RESTORING_STATUSES:
                return ArchiveRestore(found["LastTieringStartTime"], found.get("LastTieringProgress", 0))
        return None

    def key_problem(self, kms_key_id: str) -> str | None:
        return self._keys.problem(kms_key_id)

    def of_volume(self, volume_id: str, owner_id: str | None = None) -> list[Snapshot]:
        owner = owner_id or "self"
        return list(_pages(self._ec2, {"Name": "volume-id", "Values": [volume_id]}, OwnerIds=[owner]))

    def of_volumes(self, volume_ids: Sequence[str]) -> Iterator[Snapshot]:
        for batch in in_batches(volume_ids):
            yield from _pages(self._ec2, {"Name": "volume-id", "Values": batch}, OwnerIds=["self"])

    def restorable(self, snapshot_ids: Sequence[str]) -> Iterator[Snapshot]:
        """RestorableByUserIds keeps EC2 from looking through all public snapshots."""
        for batch in in_batches(snapshot_ids):
            yield from _pages(
                self._ec2, {"Name": "snapshot-id", "Values": batch}, RestorableByUserIds=["self"]
            )

    def with_tags(self, tags: WantedTags) -> Iterator[Snapshot]:
        found = _pages(self._ec2, *tag_filters(tags), OwnerIds=["self"])
        return (snapshot for snapshot in found if has_tags(tags, snapshot.tags))

    def of_image(self, image_id: str) -> dict[str, ImageVolume]:
        with naming_errors():
            images = self._ec2.describe_images(ImageIds=[image_id])["Images"]
        if not images:
            raise SnapshotNotFoundError(f"there is no image {image_id} that this account may use")
        return {
            mapping["DeviceName"]: _image_volume(mapping["Ebs"])
            for mapping in images[0].get("BlockDeviceMappings", [])
            if "SnapshotId" in mapping.get("Ebs", {})
        }

    def written_extents(self, snapshot_id: str, size_gib: int, full_size_bytes: int | None) -> Iterator[Runs]:
        return self._blocks.extents(snapshot_id, size_gib=size_gib, full_size_bytes=full_size_bytes)


def _of_restore(ec2: EC2Client, restore_id: str, index: int, kind: str) -> Iterator[Snapshot]:
    return _pages(
        ec2,
        *tag_filters({RESTORE_TAG: restore_id, INDEX_TAG: str(index)}),
        {"Name": "tag-key", "Values": [kind]},
        OwnerIds=["self"],
    )


def _pages(ec2: EC2Client, *filters: FilterTypeDef, **scope: Any) -> Iterator[Snapshot]:
    # Unpaginated calls share a tighter request limit (EC2 API reference, request throttling).
    paginator = ec2.get_paginator("describe_snapshots")
    with naming_errors():
        for page in paginator.paginate(**scope, Filters=list(filters), PaginationConfig={"PageSize": _PAGE}):
            yield from map(_snapshot, page["Snapshots"])


def _snapshot(found: SnapshotTypeDef) -> Snapshot:
    return Snapshot(
        snapshot_id=found["SnapshotId"],
        state=found["State"],
        state_message=found.get("StateMessage") or None,
        storage_tier=found.get("StorageTier", "standard"),
        volume_id=found.get("VolumeId"),
        size_gib=found["VolumeSize"],
        full_size_bytes=found.get("FullSnapshotSizeInBytes"),
        started_at=found["StartTime"],
        completed_at=found.get("CompletionTime"),
        encrypted=found.get("Encrypted", False),
        kms_key_id=found.get("KmsKeyId"),
        owner_id=found.get("OwnerId", ""),
        progress_percent=_percent(found.get("Progress", "")),
        tags=tags_of(found.get("Tags")),
        description=found.get("Description", ""),
        is_copy=found.get("VolumeId", _VOLUME_OF_COPIES) == _VOLUME_OF_COPIES
        or found.get("TransferType") == "time-based",
        outpost_arn=found.get("OutpostArn") or None,
        zone=found.get("AvailabilityZone") or None,
    )


def _image_volume(found: EbsBlockDeviceTypeDef) -> ImageVolume:
    return ImageVolume(
        snapshot_id=found["SnapshotId"],
        volume_type=found.get("VolumeType"),
        size_gib=found.get("VolumeSize"),
        iops=found.get("Iops"),
        throughput_mib_s=found.get("Throughput"),
        delete_on_termination=found.get("DeleteOnTermination", False),
    )


def _binned(found: SnapshotRecycleBinInfoTypeDef) -> BinnedSnapshot:
    return BinnedSnapshot(
        snapshot_id=found["SnapshotId"],
        volume_id=found.get("VolumeId"),
        entered_at=found["RecycleBinEnterTime"],
        leaves_at=found["RecycleBinExitTime"],
    )


def _percent(text: str) -> int:
    """`Progress` is text such as `37%`, and empty before the first byte."""
    digits = text.removesuffix("%")
    return int(digits) if digits.isdecimal() else 0


class DescribesKeys(Protocol):
    """As much of boto3's KMS client as is needed."""

    def describe_key(self, **request: str) -> dict[str, Any]:
        """botocore: kms DescribeKey."""


class KmsKeys:
    """What KMS says of keys."""

    def __init__(self, kms: DescribesKeys) -> None:
        self._kms = kms

    def problem(self, key_id: str) -> str | None:
        """Why the key cannot be used now; None if it can."""
        with naming_errors():
            try:
                found = self._kms.describe_key(KeyId=key_id)["KeyMetadata"]
            except ClientError as error:
                if code_of(error) in ("NotFoundException", "InvalidArnException"):
                    return f"there is no KMS key {key_id} (any more)"
                if isinstance(in_our_words(error), AccessDeniedError):
                    return (
                        f"its KMS key {key_id} may not be used from here; its policy must allow this account "
                        f"{_KEY_ACTIONS}"
                    )
                raise
        return _state_problem(key_id, found)


def _state_problem(key_id: str, found: dict[str, Any]) -> str | None:
    state = found.get("KeyState", "Enabled")
    if state in _USABLE_KEY_STATES:
        return None
    if state == "Disabled":
        return f"its KMS key {key_id} is disabled; enable it first: aws kms enable-key --key-id {key_id}"
    if state in ("PendingDeletion", "PendingReplicaDeletion"):
        until = f" at {clock_text(found['DeletionDate'])}" if "DeletionDate" in found else ""
        return (
            f"its KMS key {key_id} is to be deleted{until}; keep it: aws kms cancel-key-deletion "
            f"--key-id {key_id}, then aws kms enable-key --key-id {key_id}"
        )
    return f"its KMS key {key_id} cannot be used, its state is {state}"
