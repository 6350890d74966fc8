"""Every field of EC2's snapshots is read, or does not matter for a stated reason."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from botocore.session import get_session

from rewarm.adapters.snapshots import Ec2SnapshotCatalog
from rewarm.domain.model import Snapshot
from tests.contract.answers import Aws

AT = datetime(2026, 11, 21, 3, 0, tzinfo=UTC)
LATER = AT + timedelta(hours=1)
SNAPSHOT = "snap-0123456789abcdef0"
SHOWN: dict[str, Any] = {
    "SnapshotId": SNAPSHOT, "VolumeId": "vol-0fedcba9876543210", "State": "completed", "VolumeSize": 100,
    "StartTime": AT, "Progress": "100%", "OwnerId": "123456789012", "Encrypted": False,
}  # fmt: skip
OUTPOST = "arn:aws:outposts:us-east-1:123456789012:outpost/op-0123456789abcdef0"
KEY = "arn:aws:kms:us-east-1:123456789012:key/11111111-2222-3333-4444-555555555555"
READ: dict[str, tuple[Any, str]] = {
    # EC2's field: (another value, where the domain's Snapshot has it)
    "SnapshotId": ("snap-0fedcba9876543210", "snapshot_id"),
    "VolumeId": ("vol-0123456789abcdef0", "volume_id"),
    "State": ("pending", "state"),
    "StateMessage": ("no KMS grant", "state_message"),
    "StartTime": (LATER, "started_at"),
    "CompletionTime": (LATER, "completed_at"),
    "Progress": ("37%", "progress_percent"),
    "OwnerId": ("999999999999", "owner_id"),
    "Description": ("nightly", "description"),
    "VolumeSize": (200, "size_gib"),
    "FullSnapshotSizeInBytes": (7, "full_size_bytes"),
    "Encrypted": (True, "encrypted"),
    "KmsKeyId": (KEY, "kms_key_id"),
    "StorageTier": ("archive", "storage_tier"),
    "TransferType": ("time-based", "is_copy"),
    "OutpostArn": (OUTPOST, "outpost_arn"),
    "AvailabilityZone": ("us-east-1-atl-2a", "zone"),
    "Tags": ([{"Key": "a", "Value": "b"}], "tags"),
}
DOES_NOT_MATTER: dict[str, tuple[Any, str]] = {
    # EC2's field: (a value, why nobody reads it)
    "OwnerAlias": ("amazon", "OwnerId says whose it is, and DescribeSnapshots shows what may be used"),
    "DataEncryptionKeyId": ("7f1b", "CreateVolume takes the key of KmsKeyId, which is looked at"),
    "CompletionDurationMinutes": (15, "State and Progress say when a copy is completed"),
    "RestoreExpiryTime": (LATER, "until then it is in the standard tier, afterwards StorageTier is archive"),
    "SseType": ("sse-kms", "botocore: reserved for future use"),
}


def read(**changes: Any) -> Snapshot:
    ec2 = Aws("ec2").on("DescribeSnapshots", {"Snapshots": [SHOWN | changes]})
    return Ec2SnapshotCatalog(ec2.client, Aws("ebs").client, Aws("kms").client).get(SNAPSHOT)


def test_every_field_of_the_model_is_in_one_of_the_tables() -> None:
    shape = get_session().get_service_model("ec2").shape_for("Snapshot")
    assert set(shape.members) == READ.keys() | DOES_NOT_MATTER.keys()
    assert not READ.keys() & DOES_NOT_MATTER.keys()


@pytest.mark.parametrize("name", READ)
def test_a_field_that_is_read_changes_the_snapshot(name: str) -> None:
    value, attribute = READ[name]
    assert getattr(read(**{name: value}), attribute) != getattr(read(), attribute)


@pytest.mark.parametrize("name", DOES_NOT_MATTER)
def test_a_field_that_does_not_matter_changes_nothing(name: str) -> None:
    value, reason = DOES_NOT_MATTER[name]
    assert read(**{name: value}) == read(), reason
