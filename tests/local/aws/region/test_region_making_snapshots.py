"""CreateSnapshot and DeleteSnapshot."""

from __future__ import annotations

import pytest

from local.aws.region import ApiError, RegionSettings, SnapshotSettings
from tests.local.aws.region.region_lab import ZONE, Lab

TAGS = [{"ResourceType": "snapshot", "Tags": [{"Key": "team", "Value": "orders"}]}]


def refused(lab: Lab, operation: str, **params: object) -> str:
    with pytest.raises(ApiError) as error:
        lab.ec2(operation, **params)
    return error.value.code


def shown(lab: Lab, snapshot: str) -> dict[str, object]:
    return dict(lab.ec2("DescribeSnapshots", SnapshotIds=[snapshot])["Snapshots"][0])


def test_a_snapshot_is_pending_until_its_blocks_are_copied() -> None:
    lab = Lab(RegionSettings(snapshot=SnapshotSettings(creation_seconds=40)))
    volume = lab.region.add_volume(size_gib=10, snapshot_id=lab.snapshot(size_gib=10, data_gib=4))
    made = lab.ec2("CreateSnapshot", VolumeId=volume, Description="now", TagSpecifications=TAGS)
    snapshot = str(made["SnapshotId"])
    assert (made["State"], made["VolumeId"], made["Tags"]) == ("pending", volume, TAGS[0]["Tags"])
    assert refused(lab, "CreateVolume", SnapshotId=snapshot, AvailabilityZone=ZONE) == "IncorrectState"
    lab.wait(39)
    assert shown(lab, snapshot)["State"] == "pending"
    lab.wait(1)
    found = shown(lab, snapshot)
    assert (found["State"], found["Progress"]) == ("completed", "100%")
    assert found["FullSnapshotSizeInBytes"] == 4 * 1024**3
    assert lab.ec2("CreateVolume", SnapshotId=snapshot, AvailabilityZone=ZONE)["State"] == "creating"


def test_a_snapshot_that_is_deleted_takes_its_fast_restore_along() -> None:
    lab = Lab()
    snapshot = lab.snapshot()
    lab.ec2("EnableFastSnapshotRestores", SourceSnapshotIds=[snapshot], AvailabilityZones=[ZONE])
    assert refused(lab, "DeleteSnapshot", SnapshotId=snapshot, DryRun=True) == "DryRunOperation"
    lab.ec2("DeleteSnapshot", SnapshotId=snapshot)
    (state,) = (one["State"] for one in lab.ec2("DescribeFastSnapshotRestores")["FastSnapshotRestores"])
    assert state in ("disabling", "disabled")
    assert refused(lab, "DeleteSnapshot", SnapshotId=snapshot) == "InvalidSnapshot.NotFound"


def test_a_volume_that_is_not_there_has_no_snapshot() -> None:
    lab = Lab()
    unknown = "vol-0123456789abcdef0"
    assert refused(lab, "CreateSnapshot", VolumeId=unknown) == "InvalidVolume.NotFound"
    volume = lab.region.add_volume(size_gib=10, snapshot_id=lab.snapshot(size_gib=10))
    assert refused(lab, "CreateSnapshot", VolumeId=volume, DryRun=True) == "DryRunOperation"
