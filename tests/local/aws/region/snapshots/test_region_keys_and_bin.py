"""KMS keys and the Recycle Bin of the Region."""

from __future__ import annotations

from typing import Any

import pytest

from local.aws.region import ApiError, RegionSettings
from local.aws.region.settings import SnapshotSettings
from tests.local.aws.region.region_lab import Lab

KEY = "11111111-2222-3333-4444-555555555555"


def key(lab: Lab, key_id: str = KEY) -> dict[str, Any]:
    found: dict[str, Any] = lab.region.call("kms", "DescribeKey", {"KeyId": key_id})["KeyMetadata"]
    return found


class TestKeys:
    def test_a_key_that_a_snapshot_names_is_an_ordinary_one(self) -> None:
        lab = Lab()
        with pytest.raises(ApiError, match="does not exist"):
            key(lab)
        lab.snapshot(encrypted=True, kms_key_id=KEY)
        assert (key(lab)["KeyState"], key(lab)["Enabled"]) == ("Enabled", True)
        assert key(lab, f"arn:aws:kms:us-east-1:123456789012:key/{KEY}")["KeyId"] == KEY
        assert key(lab, "alias/aws/ebs")["KeyState"] == "Enabled"

    def test_shows_the_state_that_it_was_given(self) -> None:
        lab = Lab()
        lab.region.put_key(KEY, state="PendingDeletion", deletion_date=1_800_000_000.0)
        found = key(lab)
        assert (found["KeyState"], found["Enabled"]) == ("PendingDeletion", False)
        assert found["DeletionDate"].timestamp() == 1_800_000_000.0

    def test_a_key_of_others_may_not_even_be_looked_at(self) -> None:
        lab = Lab()
        lab.region.put_key(KEY, allowed=False)
        with pytest.raises(ApiError, match="not authorized") as refused:
            key(lab)
        assert refused.value.code == "AccessDeniedException"

    @pytest.mark.parametrize("fields", [{"state": "Disabled"}, {"allowed": False}])
    def test_a_volume_fails_later_and_without_a_word(self, fields: dict[str, Any]) -> None:
        lab = Lab()
        lab.region.put_key(KEY, **fields)
        snapshot = lab.snapshot(encrypted=True, kms_key_id=KEY)
        created = lab.ec2("CreateVolume", SnapshotId=snapshot, AvailabilityZone="us-east-1a")
        assert created["State"] == "creating"
        lab.wait(5)
        assert lab.shown(created["VolumeId"])["State"] == "error"
        lab.region.put_key(KEY)
        assert lab.shown(lab.volume(SnapshotId=snapshot))["State"] == "available"


class TestRecycleBin:
    def test_a_deleted_snapshot_is_there_and_nowhere_else(self) -> None:
        lab = Lab()
        one, other = lab.snapshot(volume_id="vol-0123456789abcdef0"), lab.snapshot()
        lab.region.delete_snapshot(one, retention_days=3)
        (held,) = lab.ec2("ListSnapshotsInRecycleBin")["Snapshots"]
        assert (held["SnapshotId"], held["VolumeId"]) == (one, "vol-0123456789abcdef0")
        assert (held["RecycleBinExitTime"] - held["RecycleBinEnterTime"]).days == 3
        assert [found["SnapshotId"] for found in lab.ec2("DescribeSnapshots")["Snapshots"]] == [other]
        for operation in ("DescribeSnapshots", "ListSnapshotsInRecycleBin"):
            with pytest.raises(ApiError) as refused:
                lab.ec2(operation, SnapshotIds=[one if operation == "DescribeSnapshots" else other])
            assert refused.value.code == "InvalidSnapshot.NotFound"
        with pytest.raises(ApiError, match="recoverable"):
            lab.volume(SnapshotId=one)

    def test_comes_back(self) -> None:
        lab = Lab()
        one = lab.snapshot()
        lab.region.delete_snapshot(one)
        assert lab.ec2("RestoreSnapshotFromRecycleBin", SnapshotId=one)["State"] == "completed"
        assert lab.ec2("ListSnapshotsInRecycleBin")["Snapshots"] == []
        assert lab.shown(lab.volume(SnapshotId=one))["State"] == "available"

    def test_may_be_shown_as_recoverable(self) -> None:
        lab = Lab(RegionSettings(snapshot=SnapshotSettings(recycle_bin_shown=True)))
        one = lab.snapshot()
        lab.region.delete_snapshot(one)
        (found,) = lab.ec2("DescribeSnapshots", SnapshotIds=[one])["Snapshots"]
        assert found["State"] == "recoverable"
