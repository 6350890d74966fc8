"""CopyVolumes: what a copy may do while it is initialised, how long that takes, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from local.aws.region import ApiError, RegionSettings, VolumeSettings
from local.aws.region.volumes.initialization import copy_seconds
from tests.local.aws.region.region_lab import INSTANCE, Lab

GIB = 1024**3
HOUR = 3_600.0


def now_lab() -> Lab:
    """DescribeVolumeStatus tells at once."""
    return Lab(RegionSettings(volume=VolumeSettings(status_lag_seconds=0)))


def source_of(lab: Lab, **fields: Any) -> str:
    """A living volume of 100 GiB with 64 GiB of data."""
    snapshot = lab.snapshot(size_gib=100, data_gib=64)
    return lab.region.add_volume(size_gib=100, snapshot_id=snapshot, **fields)


def copied(lab: Lab, source: str, **params: Any) -> str:
    """The copy's id; it is available."""
    params = {"VolumeType": "gp3", **params}
    answer = lab.ec2("CopyVolumes", SourceVolumeId=source, **params)["Volumes"]
    assert len(answer) == 1
    lab.wait(2)
    return str(answer[0]["VolumeId"])


def status(lab: Lab, volume: str) -> tuple[str, str, int]:
    """(InitializationType, initialization-state, Progress)"""
    shown = lab.status(volume)
    states = {one["Name"]: one["Status"] for one in shown["VolumeStatus"]["Details"]}
    details = shown["InitializationStatusDetails"]
    assert "EstimatedTimeToCompleteInSeconds" not in details
    return details["InitializationType"], states["initialization-state"], details["Progress"]


def refused(lab: Lab, source: str, **params: Any) -> str:
    with pytest.raises(ApiError) as error:
        lab.ec2("CopyVolumes", SourceVolumeId=source, **params)
    return error.value.code


def limits(lab: Lab, volume: str) -> tuple[float, float]:
    found = lab.plane.volumes[volume].limits
    return found.iops, found.throughput_mib_s


def test_a_copy_is_usable_at_once_and_slower_until_it_is_initialized() -> None:
    lab = now_lab()
    lab.instance()
    source = source_of(lab, iops=4_000, throughput_mib_s=250)
    copy = lab.attached(copied(lab, source, Iops=5_000, Throughput=500))
    shown = lab.shown(copy)
    assert (shown["SourceVolumeId"], shown["SnapshotId"], shown["Size"]) == (source, "", 100)
    assert shown["AvailabilityZone"] == lab.shown(source)["AvailabilityZone"]
    assert shown["Attachments"][0]["InstanceId"] == INSTANCE
    assert lab.plane.volumes[copy].fetched == lab.plane.volumes[copy].written == 64 * 2_048
    assert limits(lab, copy) == (3_000, 125)
    lab.wait(6 * HOUR / 16 / 2 - 2)  # 64 GiB are a sixteenth of a TiB
    assert status(lab, copy) == ("volume-copy", "initializing", 50)
    assert limits(lab, copy) == (3_000, 125)
    lab.wait(6 * HOUR / 16 / 2 + 2)
    assert status(lab, copy) == ("volume-copy", "completed", 100)
    assert limits(lab, copy) == (5_000, 500)


def test_reading_a_copy_does_not_hurry_it() -> None:
    lab = now_lab()
    copy = copied(lab, source_of(lab))
    lab.plane.read_blocks(copy, 64 * 2_048)
    lab.wait(60)
    assert status(lab, copy)[1] == "initializing"


def test_the_slower_of_the_two_volumes_decides_below_the_baseline() -> None:
    lab = now_lab()
    source = source_of(lab, volume_type="io2", iops=200)
    assert limits(lab, copied(lab, source)) == (200, 50)


def test_a_modified_copy_keeps_its_ceiling_until_it_is_initialized() -> None:
    lab = now_lab()
    copy = copied(lab, source_of(lab))
    lab.ec2("ModifyVolume", VolumeId=copy, Iops=6_000, Throughput=500)
    lab.wait(60)
    assert limits(lab, copy) == (3_000, 125)
    lab.wait(HOUR)
    assert limits(lab, copy) == (6_000, 500)


@pytest.mark.parametrize(("tib", "hours"), [(0, 0), (0.5, 3), (1, 6), (6, 12), (16, 24), (64, 24)])
def test_the_time_grows_with_the_data(tib: float, hours: float) -> None:
    assert copy_seconds(int(tib * 1024**4), VolumeSettings()) == pytest.approx(hours * HOUR)


def test_a_copy_of_an_empty_volume_is_ready_at_once() -> None:
    lab = now_lab()
    copy = copied(lab, lab.region.add_volume(size_gib=8))
    assert status(lab, copy) == ("volume-copy", "completed", 100)
    assert limits(lab, copy) == (3_000, 125)


def test_type_and_size_are_chosen_and_tags_do_not_come_along() -> None:
    lab = Lab()
    source = source_of(lab, tags={"Name": "orders"})
    tags = [{"ResourceType": "volume", "Tags": [{"Key": "team", "Value": "a"}]}]
    copy = lab.shown(copied(lab, source, VolumeType="io2", Iops=500, Size=120, TagSpecifications=tags))
    assert (copy["VolumeType"], copy["Iops"], copy["Size"]) == ("io2", 500, 120)
    assert copy["Tags"] == [{"Key": "team", "Value": "a"}]
    other = lab.shown(copied(lab, source_of(lab), VolumeType=None))
    assert other["VolumeType"] == "gp2"


@pytest.mark.parametrize(
    ("source_key", "params", "key"),
    [
        (None, {}, None),
        (None, {"Encrypted": True}, "alias/aws/ebs"),
        (None, {"KmsKeyId": "alias/mine"}, "alias/mine"),
        ("alias/theirs", {}, "alias/theirs"),
        ("alias/theirs", {"KmsKeyId": "alias/mine"}, "alias/mine"),
    ],
)
def test_encryption_comes_from_the_source_or_the_request(
    source_key: str | None, params: dict[str, Any], key: str | None
) -> None:
    lab = Lab()
    source = source_of(lab, encrypted=source_key is not None, kms_key_id=source_key)
    copy = lab.shown(copied(lab, source, **params))
    assert copy["Encrypted"] is (key is not None)
    assert str(copy.get("KmsKeyId")).endswith(str(key))


def test_a_client_token_makes_one_copy() -> None:
    lab = Lab()
    source = source_of(lab)
    first = copied(lab, source, ClientToken="one")
    assert copied(lab, source, ClientToken="one") == first
    assert refused(lab, source, ClientToken="one", VolumeType="io2") == "IdempotentParameterMismatch"


def test_one_copy_of_a_volume_at_a_time_and_five_in_a_region() -> None:
    lab = Lab()
    sources = [source_of(lab) for _ in range(6)]
    copies = [copied(lab, source) for source in sources[:5]]
    assert refused(lab, sources[0], VolumeType="gp3") == "IncorrectState"
    assert refused(lab, copies[0], VolumeType="gp3") == "IncorrectState"
    assert refused(lab, sources[5], VolumeType="gp3") == "CopyVolumesLimitExceeded"
    lab.wait(HOUR)
    copied(lab, sources[0])
    copied(lab, copies[1])


def test_a_deleted_copy_makes_room_and_a_deleted_source_does_not_matter() -> None:
    lab = now_lab()
    source, other = source_of(lab), source_of(lab)
    lab.ec2("DeleteVolume", VolumeId=copied(lab, source))
    lab.wait(2)
    copied(lab, source)
    copy = copied(lab, other)
    lab.ec2("DeleteVolume", VolumeId=other)
    lab.wait(HOUR)
    assert status(lab, copy)[1:] == ("completed", 100)


def test_what_is_refused() -> None:
    lab = Lab()
    source = source_of(lab)
    assert refused(lab, "vol-0000000000000dead") == "InvalidVolume.NotFound"
    assert refused(lab, source, Size=99) == "InvalidParameterValue"
    assert refused(lab, source, VolumeType="gp3", Iops=1) == "InvalidParameterValue"
    assert refused(lab, source, DryRun=True) == "DryRunOperation"
    lab.ec2("ModifyVolume", VolumeId=source, Iops=4_000)
    assert refused(lab, source) == "IncorrectModificationState"
    lab.wait(30)
    copied(lab, source)
    lab.ec2("DeleteVolume", VolumeId=source)
    assert refused(lab, source) == "IncorrectState"
