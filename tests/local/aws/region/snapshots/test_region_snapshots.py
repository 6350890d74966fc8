"""Snapshots, the archive tier, the block index, instances, images and zones."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.session import get_session

from local.aws.region import ApiError, ImageDevice, InstanceType, RegionSettings, SnapshotSettings
from tests.local.aws.region.region_lab import INSTANCE, Lab

DAY = 86_400


def code(lab: Lab, service: str, operation: str, **params: Any) -> str:
    with pytest.raises(ApiError) as error:
        lab.region.call(service, operation, params)
    return error.value.code


def listed(lab: Lab, **params: Any) -> list[str]:
    return [one["SnapshotId"] for one in lab.ec2("DescribeSnapshots", **params)["Snapshots"]]


def test_who_sees_which_snapshot() -> None:
    lab = Lab()
    mine = lab.snapshot()
    shared = lab.snapshot(owner_id="111122223333", shared_with_me=True)
    public = lab.snapshot(owner_id="137112412989", owner_alias="amazon", public=True)
    hidden = lab.snapshot(owner_id="111122223333")
    assert listed(lab) == [mine, shared, public]
    assert listed(lab, OwnerIds=["self"]) == [mine]
    assert listed(lab, OwnerIds=["amazon", "111122223333"]) == [shared, public]
    assert listed(lab, RestorableByUserIds=["self"]) == [mine, shared]
    assert listed(lab, RestorableByUserIds=["all"]) == [public]
    assert listed(lab, SnapshotIds=[mine, hidden]) == [mine]
    assert (
        code(lab, "ec2", "DescribeSnapshots", SnapshotIds=["snap-0000000000000dead"])
        == "InvalidSnapshot.NotFound"
    )


def test_filters_and_the_full_size() -> None:
    lab = Lab()
    pending = lab.snapshot(
        state="pending", progress=40, tags={"app": "db"}, volume_id="vol-0123456789abcdef0"
    )
    failed = lab.snapshot(state="error", state_message="Client.InternalError", full_size_known=False)
    lab.snapshot()
    assert listed(lab, Filters=[{"Name": "status", "Values": ["pending", "error"]}]) == [pending, failed]
    assert listed(lab, Filters=[{"Name": "tag:app", "Values": ["d?"]}]) == [pending]
    assert listed(lab, Filters=[{"Name": "volume-id", "Values": ["vol-0123456789abcdef0"]}]) == [pending]
    shown = lab.ec2("DescribeSnapshots", SnapshotIds=[pending, failed])["Snapshots"]
    assert (shown[0]["Progress"], shown[0]["FullSnapshotSizeInBytes"]) == ("40%", 1024**3)
    assert "FullSnapshotSizeInBytes" not in shown[1]
    assert shown[1]["StateMessage"] == "Client.InternalError"


def test_an_archived_snapshot_comes_back_for_some_days() -> None:
    lab = Lab()
    snapshot = lab.snapshot(storage_tier="archive")
    answer = lab.ec2("RestoreSnapshotTier", SnapshotId=snapshot, TemporaryRestoreDays=2)
    assert (answer["RestoreDuration"], answer["IsPermanentRestore"]) == (2, False)
    lab.wait(DAY)

    def tier() -> dict[str, Any]:
        filters = [{"Name": "snapshot-id", "Values": [snapshot]}]
        found: dict[str, Any] = lab.ec2("DescribeSnapshotTierStatus", Filters=filters)[
            "SnapshotTierStatuses"
        ][0]
        return found

    assert (tier()["LastTieringOperationStatus"], tier()["LastTieringProgress"]) == (
        "temporary-restore-in-progress",
        50,
    )
    assert (
        code(lab, "ec2", "RestoreSnapshotTier", SnapshotId=snapshot, PermanentRestore=True)
        == "IncorrectState"
    )
    lab.wait(DAY)
    assert (tier()["StorageTier"], tier()["LastTieringOperationStatus"]) == (
        "standard",
        "temporary-restore-completed",
    )
    lab.volume(SnapshotId=snapshot)
    lab.wait(2 * DAY)
    assert tier()["StorageTier"] == "archive"


def test_what_restore_snapshot_tier_refuses() -> None:
    lab = Lab(RegionSettings(snapshot=SnapshotSettings(restores_in_progress=1)))
    standard, first, second = (
        lab.snapshot(),
        lab.snapshot(storage_tier="archive"),
        lab.snapshot(storage_tier="archive"),
    )
    call = ("ec2", "RestoreSnapshotTier")
    assert code(lab, *call, SnapshotId=standard, PermanentRestore=True) == "IncorrectState"
    assert code(lab, *call, SnapshotId=first) == "MissingParameter"
    assert code(lab, *call, SnapshotId=first, TemporaryRestoreDays=181) == "InvalidParameterValue"
    both: dict[str, Any] = {"TemporaryRestoreDays": 1, "PermanentRestore": True}
    assert code(lab, *call, SnapshotId=first, **both) == "InvalidParameterCombination"
    lab.ec2("RestoreSnapshotTier", SnapshotId=first, PermanentRestore=True)
    assert code(lab, *call, SnapshotId=second, PermanentRestore=True) == "SnapshotTierRestoreLimitExceeded"


def blocks(lab: Lab, snapshot: str, **params: Any) -> list[list[int]]:
    """The pages of the block index."""
    pages: list[list[int]] = []
    token: dict[str, str] = {}
    while True:
        answer = lab.region.call("ebs", "ListSnapshotBlocks", {"SnapshotId": snapshot, **params, **token})
        pages.append([one["BlockIndex"] for one in answer["Blocks"]])
        if "NextToken" not in answer:
            return pages
        token = {"NextToken": answer["NextToken"]}


def test_blocks_are_those_of_the_extents() -> None:
    lab = Lab()
    snapshot = lab.region.add_snapshot(size_gib=1, extents=((3, 2), (100, 150), (2_000, 1)))
    pages = blocks(lab, snapshot, MaxResults=100)
    assert [index for one in pages for index in one] == [3, 4, *range(100, 250), 2_000]
    assert [len(one) for one in pages] == [100, 53]
    assert blocks(lab, snapshot, StartingBlockIndex=249) == [[249, 2_000]]
    assert blocks(lab, snapshot, StartingBlockIndex=2_001) == [[]]
    answer = lab.region.call("ebs", "ListSnapshotBlocks", {"SnapshotId": snapshot})
    assert (answer["BlockSize"], answer["VolumeSize"]) == (524_288, 1)


def test_pages_may_be_short_or_empty() -> None:
    lab = Lab(RegionSettings(snapshot=SnapshotSettings(short_pages=True)))
    snapshot = lab.region.add_snapshot(size_gib=1, extents=((0, 1_000),))
    pages = blocks(lab, snapshot, MaxResults=200)
    assert [index for one in pages for index in one] == list(range(1_000))
    assert 0 in [len(one) for one in pages]


def test_what_the_block_index_refuses() -> None:
    lab = Lab()
    pending, archived = lab.snapshot(state="pending"), lab.snapshot(storage_tier="archive")
    foreign, good = lab.snapshot(owner_id="1", public=True), lab.snapshot()
    call = ("ebs", "ListSnapshotBlocks")
    assert code(lab, *call, SnapshotId="snap-0000000000000dead") == "ResourceNotFoundException"
    assert code(lab, *call, SnapshotId=pending) == "ValidationException"
    assert code(lab, *call, SnapshotId=archived) == "ValidationException"
    assert code(lab, *call, SnapshotId=foreign) == "AccessDeniedException"
    token = lab.region.call("ebs", "ListSnapshotBlocks", {"SnapshotId": good, "MaxResults": 100})["NextToken"]
    assert code(lab, *call, SnapshotId=lab.snapshot(), NextToken=token) == "ValidationException"
    lab.wait(3_601)
    assert code(lab, *call, SnapshotId=good, NextToken=token) == "ValidationException"


def test_instances_types_images_and_zones() -> None:
    lab = Lab()
    lab.instance(tags={"Name": "db"})
    volume = lab.attached(lab.volume(Size=1))
    found = lab.ec2("DescribeInstances", Filters=[{"Name": "tag:Name", "Values": ["db"]}])["Reservations"][0][
        "Instances"
    ][0]
    mapped = {one["DeviceName"]: one["Ebs"] for one in found["BlockDeviceMappings"]}
    assert mapped["/dev/sdf"]["VolumeId"] == volume
    assert mapped["/dev/xvda"]["DeleteOnTermination"]
    lab.region.add_instance_type(InstanceType("x9.large", "arm64", 2, 1, 1_000, 2_000, 4_000, 8_000))
    info = lab.ec2("DescribeInstanceTypes", InstanceTypes=["x9.large"])["InstanceTypes"][0]["EbsInfo"]
    assert info["EbsOptimizedInfo"]["MaximumThroughputInMBps"] == 250
    snapshot = lab.snapshot()
    image = lab.region.add_image(name="golden", devices=[ImageDevice("/dev/sdf", snapshot, 8)])
    shown = lab.ec2("DescribeImages", Owners=["self"], Filters=[{"Name": "name", "Values": ["gold*"]}])[
        "Images"
    ][0]
    assert (shown["ImageId"], shown["BlockDeviceMappings"][0]["Ebs"]["SnapshotId"]) == (image, snapshot)
    zones = lab.ec2("DescribeAvailabilityZones", ZoneNames=["us-east-1b"])["AvailabilityZones"]
    assert [one["ZoneId"] for one in zones] == ["use1-az2"]
    assert code(lab, "ec2", "DescribeInstances", InstanceIds=["i-x"]) == "InvalidInstanceID.Malformed"
    assert code(lab, "ec2", "DescribeImages", ImageIds=["ami-0"]) == "InvalidAMIID.NotFound"
    assert code(lab, "ec2", "DescribeInstanceTypes", InstanceTypes=["y"]) == "InvalidInstanceType"
    both: dict[str, Any] = {"InstanceIds": [INSTANCE], "MaxResults": 5}
    assert code(lab, "ec2", "DescribeInstances", **both) == "InvalidParameterCombination"


def test_stop_start_and_reboot_reach_the_data_plane() -> None:
    lab = Lab()
    lab.instance()
    changed = lab.ec2("StopInstances", InstanceIds=[INSTANCE])["StoppingInstances"][0]
    assert (changed["PreviousState"]["Name"], changed["CurrentState"]["Name"]) == ("running", "stopped")
    assert lab.plane.instances == set()
    lab.ec2("StartInstances", InstanceIds=[INSTANCE])
    lab.ec2("RebootInstances", InstanceIds=[INSTANCE])
    assert lab.plane.instances == set(), "it takes a while to boot"
    lab.wait(lab.settings.boot_seconds + 1)
    assert lab.plane.instances == {INSTANCE}


def test_zones_of_a_region_that_must_be_enabled_need_no_opting_in() -> None:
    """botocore's model says so of every Availability Zone; only Local Zones and Wavelength Zones differ."""
    model = get_session().get_service_model("ec2").shape_for("AvailabilityZone").members["OptInStatus"]
    always = "always has the value of <code>opt-in-not-required</code>"
    assert f"For Availability Zones, this parameter {always}" in model.documentation
    lab = Lab(RegionSettings(region="me-south-1"))
    opted_in = {"Name": "opt-in-status", "Values": ["opted-in"]}
    assert lab.ec2("DescribeAvailabilityZones", Filters=[opted_in])["AvailabilityZones"] == []
    zones = lab.ec2("DescribeAvailabilityZones")["AvailabilityZones"]
    assert {zone["OptInStatus"] for zone in zones} == {"opt-in-not-required"}
