"""Snapshots, images, the Recycle Bin, the archive and KMS keys, as AWS tells them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from local.aws.wire.inprocess import client
from rewarm.adapters.snapshots import Ec2SnapshotCatalog
from rewarm.domain import errors
from rewarm.domain.model import ImageVolume
from tests.contract.answers import ApiError, Aws
from tests.local.aws.region.region_lab import Lab

NOW = datetime(2026, 11, 21, 3, 0, tzinfo=UTC)
SNAPSHOT = "snap-0123456789abcdef0"
KEY = "11111111-2222-3333-4444-555555555555"


def catalog(ec2: Any, kms: Any = None) -> Ec2SnapshotCatalog:
    return Ec2SnapshotCatalog(ec2, Aws("ebs").client, kms or Aws("kms").client)


def of_region(lab: Lab) -> Ec2SnapshotCatalog:
    return Ec2SnapshotCatalog(*(client(lab.region, service) for service in ("ec2", "ebs", "kms")))


def snapshot(**changes: Any) -> dict[str, Any]:
    return {
        "SnapshotId": SNAPSHOT, "VolumeId": "vol-0fedcba9876543210", "State": "completed", "VolumeSize": 100,
        "StartTime": NOW, "Progress": "100%", "OwnerId": "123456789012", "Encrypted": False, **changes,
    }  # fmt: skip


class TestSnapshots:
    def test_reads_every_field(self) -> None:
        told = snapshot(
            FullSnapshotSizeInBytes=7,
            StorageTier="archive",
            CompletionTime=NOW,
            Tags=[{"Key": "a", "Value": "b"}],
        )
        ec2 = Aws("ec2").on("DescribeSnapshots", {"Snapshots": [told]})
        found = catalog(ec2.client).get(SNAPSHOT)
        assert (found.full_size_bytes, found.storage_tier, found.tags) == (7, "archive", {"a": "b"})
        assert (found.progress_percent, found.size_gib, found.state_message) == (100, 100, None)

    def test_an_old_snapshot_may_lack_its_full_size_and_its_progress(self) -> None:
        ec2 = Aws("ec2").on("DescribeSnapshots", {"Snapshots": [snapshot(Progress="", State="pending")]})
        found = catalog(ec2.client).get(SNAPSHOT)
        assert (found.full_size_bytes, found.progress_percent) == (None, 0)

    @pytest.mark.parametrize(
        "answer", [ApiError("InvalidSnapshot.NotFound"), ApiError("InvalidSnapshotID.Malformed")]
    )
    def test_a_missing_snapshot_has_its_own_error(self, answer: Any) -> None:
        found = catalog(Aws("ec2").on("DescribeSnapshots", answer).client)
        with pytest.raises(errors.SnapshotNotFoundError):
            found.get(SNAPSHOT)

    def test_lists_the_snapshots_of_a_volume_page_by_page(self) -> None:
        pages = {"Snapshots": [snapshot()], "NextToken": "more"}, {"Snapshots": [snapshot(State="error")]}
        ec2 = Aws("ec2").on("DescribeSnapshots", *pages)
        found = catalog(ec2.client).of_volume("vol-0fedcba9876543210")
        assert [one.state for one in found] == ["completed", "error"]
        first, second = ec2.params("DescribeSnapshots")
        assert first["OwnerIds"] == ["self"]
        assert first["Filters"] == [{"Name": "volume-id", "Values": ["vol-0fedcba9876543210"]}]
        assert second["NextToken"] == "more"

    def test_asks_for_every_tag(self) -> None:
        ec2 = Aws("ec2").on("DescribeSnapshots", {"Snapshots": []})
        assert list(catalog(ec2.client).with_tags({"a": "1", "b": "2"})) == []
        names = [one["Name"] for one in ec2.params("DescribeSnapshots")[0]["Filters"]]
        assert names == ["tag:a", "tag:b"]

    def test_an_image_tells_its_volumes_by_device(self) -> None:
        settings = {"VolumeType": "gp3", "VolumeSize": 100, "Iops": 4_000, "Throughput": 250}
        ending = {"DeleteOnTermination": True}
        mappings = [
            {"DeviceName": "/dev/xvda", "Ebs": {"SnapshotId": SNAPSHOT, **ending}},
            {"DeviceName": "/dev/sdf", "Ebs": {"SnapshotId": SNAPSHOT, **settings}},
            {"DeviceName": "/dev/sdb", "VirtualName": "ephemeral0"},
            {"DeviceName": "/dev/sdc", "Ebs": {"VolumeSize": 8}},
        ]
        ec2 = Aws("ec2").on("DescribeImages", {"Images": [{"BlockDeviceMappings": mappings}]})
        found = catalog(ec2.client).of_image("ami-0123456789abcdef0")
        assert found == {
            "/dev/xvda": ImageVolume(SNAPSHOT, delete_on_termination=True),
            "/dev/sdf": ImageVolume(SNAPSHOT, "gp3", 100, 4_000, 250),
        }

    def test_a_missing_image_counts_as_a_missing_snapshot(self) -> None:
        ec2 = Aws("ec2").on("DescribeImages", ApiError("InvalidAMIID.NotFound"), {"Images": []})
        for _ in range(2):
            with pytest.raises(errors.SnapshotNotFoundError):
                catalog(ec2.client).of_image("ami-0123456789abcdef0")


class TestWhatIsNotShown:
    def test_another_accounts_snapshot_is_told_from_one_that_does_not_exist(self) -> None:
        lab = Lab()
        theirs = lab.snapshot(owner_id="999999999999")
        with pytest.raises(errors.SnapshotNotUsableError, match=r"another account.*createVolumePermission"):
            of_region(lab).get(theirs)
        with pytest.raises(errors.SnapshotNotFoundError):
            of_region(lab).get(SNAPSHOT)
        shared = lab.snapshot(owner_id="999999999999", shared_with_me=True)
        assert of_region(lab).get(shared).owner_id == "999999999999"

    def test_the_recycle_bin_says_of_which_volume_and_until_when(self) -> None:
        lab = Lab()
        one, other = lab.snapshot(volume_id="vol-0123456789abcdef0"), lab.snapshot()
        for snapshot_id in (one, other):
            lab.region.delete_snapshot(snapshot_id, retention_days=2)
        found = {binned.snapshot_id: binned for binned in of_region(lab).in_recycle_bin()}
        assert set(found) == {one, other}
        assert found[one].volume_id == "vol-0123456789abcdef0"
        assert (found[one].leaves_at - found[one].entered_at).days == 2
        assert [binned.snapshot_id for binned in of_region(lab).in_recycle_bin(other)] == [other]
        assert of_region(lab).in_recycle_bin(SNAPSHOT) == []

    def test_a_recycle_bin_that_may_not_be_looked_into_holds_nothing(self) -> None:
        ec2 = Aws("ec2").on("ListSnapshotsInRecycleBin", ApiError("UnauthorizedOperation"))
        assert catalog(ec2.client).in_recycle_bin() == []
        busy = Aws("ec2").on("ListSnapshotsInRecycleBin", ApiError("RequestLimitExceeded"))
        with pytest.raises(errors.ThrottledError):
            catalog(busy.client).in_recycle_bin()


class TestArchive:
    def test_says_how_far_a_restore_is(self) -> None:
        lab = Lab()
        one = lab.snapshot(storage_tier="archive")
        assert of_region(lab).archive_restore(one) is None
        lab.ec2("RestoreSnapshotTier", SnapshotId=one, TemporaryRestoreDays=3)
        lab.wait(lab.settings.snapshot.archive_restore_seconds / 4)
        found = of_region(lab).archive_restore(one)
        assert found is not None
        assert found.progress_percent == 25
        lab.wait(lab.settings.snapshot.archive_restore_seconds)
        assert of_region(lab).archive_restore(one) is None
        assert of_region(lab).get(one).storage_tier == "standard"


class TestKeys:
    @pytest.mark.parametrize(
        ("fields", "problem"),
        [
            ({}, None),
            ({"state": "Updating"}, None),
            ({"state": "Disabled"}, "is disabled; enable it first: aws kms enable-key"),
            (
                {"state": "PendingDeletion", "deletion_date": NOW.timestamp()},
                "is to be deleted at 2026-11-21 03:00 UTC; keep it: aws kms cancel-key-deletion",
            ),
            ({"state": "PendingImport"}, "cannot be used, its state is PendingImport"),
            (
                {"allowed": False},
                "may not be used from here; its policy must allow this account kms:DescribeKey, kms:Decrypt",
            ),
        ],
    )
    def test_says_what_is_wrong_with_a_key(self, fields: dict[str, Any], problem: str | None) -> None:
        lab = Lab()
        lab.region.put_key(KEY, **fields)
        found = of_region(lab).key_problem(KEY)
        assert found is None if problem is None else found is not None and problem in found

    def test_a_key_may_be_gone(self) -> None:
        found = of_region(Lab()).key_problem(KEY)
        assert found == f"there is no KMS key {KEY} (any more)"

    def test_a_busy_kms_is_no_reason_against_a_key(self) -> None:
        kms = Aws("kms").on("DescribeKey", ApiError("ThrottlingException"))
        with pytest.raises(errors.ThrottledError):
            catalog(Aws("ec2").client, kms.client).key_problem(KEY)
