"""CreateSnapshot and DeleteSnapshot."""

from __future__ import annotations

from dataclasses import replace

import pytest

from local.aws.region import ApiError, FaultRule, RegionSettings, SnapshotSettings
from tests.local.aws.region.region_lab import ZONE, Lab

VOLUME = "vol-0123456789abcdef0"
TAGS = [{"ResourceType": "snapshot", "Tags": [{"Key": "team", "Value": "orders"}]}]


def refused(lab: Lab, operation: str, **params: object) -> str:
    with pytest.raises(ApiError) as error:
        lab.ec2(operation, **params)
    return error.value.code


def shown(lab: Lab, snapshot: str) -> dict[str, object]:
    return dict(lab.ec2("DescribeSnapshots", SnapshotIds=[snapshot])["Snapshots"][0])


def test_a_snapshot_is_pending_until_its_blocks_are_copied() -> None:
    lab = Lab(RegionSettings(snapshot=SnapshotSettings(creation_seconds=0, creation_mib_s=102.4)))
    volume = lab.region.add_volume(size_gib=10, snapshot_id=lab.snapshot(size_gib=10, data_gib=4))
    made = lab.ec2("CreateSnapshot", VolumeId=volume, Description="now", TagSpecifications=TAGS)
    snapshot = str(made["SnapshotId"])
    assert (made["State"], made["VolumeId"], made["Tags"]) == ("pending", volume, TAGS[0]["Tags"])
    assert refused(lab, "CreateVolume", SnapshotId=snapshot, AvailabilityZone=ZONE) == "IncorrectState"
    lab.wait(39)
    assert (shown(lab, snapshot)["State"], shown(lab, snapshot)["Progress"]) == ("pending", "97%")
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


def test_a_second_snapshot_takes_as_long_as_what_has_changed() -> None:
    lab = Lab(RegionSettings(snapshot=SnapshotSettings(creation_seconds=5, creation_mib_s=100)))
    source = lab.snapshot(size_gib=10, data_gib=4)
    volume = lab.region.add_volume(size_gib=10, snapshot_id=source)
    first = lab.ec2("CreateSnapshot", VolumeId=volume)["SnapshotId"]
    lab.wait(46)
    image = lab.plane.volumes[volume].image
    assert image is not None
    written = ((100, 200), (9_000, 200))
    lab.plane.volumes[volume].image = replace(
        image, extents=(*image.extents, (9_000, 200)), layers=(*image.layers, (written, "new"))
    )
    second = lab.ec2("CreateSnapshot", VolumeId=volume)["SnapshotId"]
    lab.wait(6.9)
    assert shown(lab, second)["State"] == "pending"
    lab.wait(0.1)
    assert shown(lab, second)["State"] == "completed"
    for before in (source, first):
        asked = {"FirstSnapshotId": before, "SecondSnapshotId": second}
        changed = lab.region.call("ebs", "ListChangedBlocks", asked)["ChangedBlocks"]
        assert [one["BlockIndex"] for one in changed] == [*range(100, 300), *range(9_000, 9_200)]


def test_snapshots_of_a_volume_are_limited() -> None:
    lab = Lab(RegionSettings(snapshot=SnapshotSettings(creation_seconds=1_000, pending_of_account=6)))
    volume, other = (lab.region.add_volume(size_gib=10) for _ in range(2))
    lab.ec2("CreateSnapshot", VolumeId=volume)
    lab.wait(14)
    assert refused(lab, "CreateSnapshot", VolumeId=volume) == "SnapshotCreationPerVolumeRateExceeded"
    for _ in range(4):
        lab.wait(15)
        lab.ec2("CreateSnapshot", VolumeId=volume)
    lab.wait(15)
    assert refused(lab, "CreateSnapshot", VolumeId=volume) == "ConcurrentSnapshotLimitExceeded"
    lab.ec2("CreateSnapshot", VolumeId=other)
    assert refused(lab, "CreateSnapshot", VolumeId=other) == "PendingSnapshotLimitExceeded"


def test_a_snapshot_may_fail_or_hang() -> None:
    lab = Lab()
    volume = lab.region.add_volume(size_gib=10)
    for effect, state in (("snapshot-error", "error"), ("stall", "pending")):
        lab.region.faults.add(FaultRule("snapshot:creation", effect=effect))
        made = lab.ec2("CreateSnapshot", VolumeId=volume)["SnapshotId"]
        lab.wait(3_600)
        assert shown(lab, made)["State"] == state


def test_a_volume_copy_keeps_the_lineage_only_where_the_settings_say_so() -> None:
    for keeps in (False, True):
        lab = Lab(RegionSettings(snapshot=SnapshotSettings(volume_copies_keep_lineage=keeps)))
        source = lab.snapshot(size_gib=10)
        volume = lab.region.add_volume(size_gib=10, snapshot_id=source)
        copy = lab.ec2("CopyVolumes", SourceVolumeId=volume)["Volumes"][0]["VolumeId"]
        lab.wait(60)
        made = lab.ec2("CreateSnapshot", VolumeId=copy)["SnapshotId"]
        lab.wait(3_600)
        asked = {"FirstSnapshotId": source, "SecondSnapshotId": made}
        if keeps:
            assert list(lab.region.call("ebs", "ListChangedBlocks", asked)["ChangedBlocks"]) == []
        else:
            with pytest.raises(ApiError, match="not related"):
                lab.region.call("ebs", "ListChangedBlocks", asked)


def test_snapshot_copies_can_be_compared_while_each_is_an_increment_of_the_last() -> None:
    lab = Lab()
    far = lab.region.neighbour("eu-west-1")
    sources = [far.add_snapshot(size_gib=8, extents=((0, 9),), volume_id=VOLUME) for _ in range(4)]

    def copied(source: str, **params: object) -> str:
        asked = {"SourceRegion": "eu-west-1", "SourceSnapshotId": source, **params}
        made: str = lab.ec2("CopySnapshot", **asked)["SnapshotId"]
        lab.wait(3_600)
        return made

    def related(first: str, second: str) -> bool:
        asked = {"FirstSnapshotId": first, "SecondSnapshotId": second}
        try:
            lab.region.call("ebs", "ListChangedBlocks", asked)
        except ApiError as error:
            assert error.Reason == "UNRELATED_SNAPSHOTS"  # noqa: PT017
            return False
        return True

    first, second = copied(sources[0]), copied(sources[1])
    assert related(first, second)
    other_key = copied(sources[2], Encrypted=True)
    assert not related(second, other_key)
    lab.region.change_snapshot(other_key, storage_tier="archive")
    full = copied(sources[3], Encrypted=True)
    lab.region.change_snapshot(other_key, storage_tier="standard")
    assert not related(other_key, full)
