"""Volumes: creation, idempotency, attachment, tags, filters, pages and what EC2 refuses."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from local.aws.region import ApiError, RegionSettings
from tests.local.aws.region.region_lab import INSTANCE, ZONE, Lab


def refused(lab: Lab, operation: str, **params: Any) -> str:
    """The error code of a call that must fail."""
    with pytest.raises(ApiError) as error:
        lab.ec2(operation, **params)
    return error.value.code


def test_a_volume_is_created_then_available_and_announced() -> None:
    lab = Lab()
    created = lab.ec2("CreateVolume", AvailabilityZone=ZONE, SnapshotId=lab.snapshot(size_gib=8))
    assert (created["State"], created["Size"], created["VolumeType"], created["Iops"]) == (
        "creating",
        8,
        "gp2",
        100,
    )
    assert "FastRestored" not in created
    lab.wait(2)
    assert lab.shown(created["VolumeId"])["State"] == "available"
    kind, source, detail, resources = lab.events[-1]
    assert (kind, source) == ("EBS Volume Notification", "aws.ec2")
    assert (detail["event"], detail["result"]) == ("createVolume", "available")
    assert resources == [f"arn:aws:ec2:us-east-1:123456789012:volume/{created['VolumeId']}"]


def test_nobodys_waits_run_ahead_while_the_bytes_are_made() -> None:
    lab, busy = Lab(), []

    @contextmanager
    def hold(_holder: str, _works: object) -> Iterator[None]:
        busy.append(len(lab.plane.volumes))
        yield
        busy.append(len(lab.plane.volumes))

    lab.clock.busy = hold  # type: ignore[attr-defined]
    lab.ec2("CreateVolume", AvailabilityZone=ZONE, SnapshotId=lab.snapshot(size_gib=8))
    assert busy == [0, 1]


def test_the_same_token_makes_one_volume() -> None:
    lab = Lab()
    request = {"AvailabilityZone": ZONE, "Size": 10, "ClientToken": "restore-1"}
    first = lab.ec2("CreateVolume", **request)["VolumeId"]
    assert lab.ec2("CreateVolume", **request)["VolumeId"] == first
    assert refused(lab, "CreateVolume", **{**request, "Size": 11}) == "IdempotentParameterMismatch"
    assert len(lab.plane.volumes) == 1


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({}, "MissingParameter"),
        ({"Size": 0}, "InvalidParameterValue"),
        ({"Size": 8, "VolumeType": "gp9"}, "UnknownVolumeType"),
        ({"Size": 8, "Iops": 3_000}, "InvalidParameterCombination"),
        ({"Size": 8, "VolumeType": "io2"}, "MissingParameter"),
        ({"Size": 8, "VolumeType": "gp3", "Iops": 5_000}, "InvalidParameterValue"),
        ({"Size": 100, "VolumeType": "gp3", "Throughput": 1_000}, "InvalidParameterValue"),
        ({"Size": 100, "VolumeType": "gp3", "Throughput": 2_001, "Iops": 20_000}, "InvalidParameterValue"),
        ({"Size": 100, "VolumeType": "st1"}, "InvalidParameterValue"),
        ({"Size": 8, "VolumeInitializationRate": 100}, "InvalidParameterCombination"),
        ({"Size": 8, "KmsKeyId": "alias/mine"}, "InvalidParameterDependency"),
        ({"Size": 8, "AvailabilityZone": "us-east-1z"}, "InvalidZone.NotFound"),
        ({"Size": 8, "AvailabilityZoneId": "use1-az1"}, "InvalidParameterCombination"),
        ({"SnapshotId": "snap-0000000000000dead"}, "InvalidSnapshot.NotFound"),
        ({"SnapshotId": "snapshot"}, "InvalidSnapshotID.Malformed"),
        ({"Size": 8, "DryRun": True}, "DryRunOperation"),
        (
            {"Size": 8, "TagSpecifications": [{"ResourceType": "instance", "Tags": []}]},
            "InvalidParameterValue",
        ),
        ({"Size": 8, "MultiAttachEnabled": True, "VolumeType": "gp3"}, "InvalidParameterCombination"),
    ],
)
def test_what_create_volume_refuses(params: dict[str, Any], code: str) -> None:
    lab = Lab()
    assert refused(lab, "CreateVolume", **{"AvailabilityZone": ZONE, **params}) == code
    assert lab.plane.volumes == {}


@pytest.mark.parametrize(
    ("fields", "params", "code"),
    [
        ({"state": "pending"}, {}, "IncorrectState"),
        ({"state": "error"}, {}, "IncorrectState"),
        ({"storage_tier": "archive"}, {}, "IncorrectState"),
        ({}, {"Size": 7}, "InvalidParameterValue"),
        ({}, {"VolumeInitializationRate": 99}, "InvalidParameterValue"),
        ({}, {"VolumeInitializationRate": 301}, "InvalidParameterValue"),
    ],
)
def test_what_a_snapshot_allows(fields: dict[str, Any], params: dict[str, Any], code: str) -> None:
    lab = Lab()
    snapshot = lab.snapshot(size_gib=8, **fields)
    assert refused(lab, "CreateVolume", AvailabilityZone=ZONE, SnapshotId=snapshot, **params) == code


def test_limits_reach_the_data_plane() -> None:
    lab = Lab()
    gp3 = lab.volume(Size=100, VolumeType="gp3", Iops=4_000, Throughput=500)
    io2 = lab.volume(Size=100, VolumeType="io2", Iops=2_000)
    assert (lab.plane.volumes[gp3].limits.iops, lab.plane.volumes[gp3].limits.throughput_mib_s) == (
        4_000,
        500,
    )
    assert lab.plane.volumes[io2].limits.throughput_mib_s == 500


def test_encryption_comes_from_the_snapshot_or_the_request() -> None:
    lab = Lab()
    snapshot = lab.snapshot(encrypted=True, kms_key_id="arn:aws:kms:us-east-1:123456789012:key/abc")
    assert lab.shown(lab.volume(SnapshotId=snapshot))["KmsKeyId"].endswith("key/abc")
    mine = lab.shown(lab.volume(Size=1, Encrypted=True, KmsKeyId="alias/mine"))
    assert mine["KmsKeyId"] == "arn:aws:kms:us-east-1:123456789012:alias/mine"


def test_attach_and_detach_pass_through_their_states() -> None:
    lab = Lab()
    lab.instance()
    volume = lab.volume(Size=1)
    assert (
        lab.ec2("AttachVolume", VolumeId=volume, InstanceId=INSTANCE, Device="/dev/sdf")["State"]
        == "attaching"
    )
    assert lab.plane.volumes[volume].attached_to == {INSTANCE}
    lab.wait(2)
    assert lab.shown(volume)["Attachments"][0]["State"] == "attached"
    assert lab.ec2("DetachVolume", VolumeId=volume)["State"] == "detaching"
    lab.wait(2)
    assert lab.shown(volume)["State"] == "available"
    assert lab.plane.volumes[volume].attached_to == set()


def test_what_attach_refuses() -> None:
    lab = Lab()
    lab.instance()
    used, free, far = (
        lab.volume(Size=1),
        lab.volume(Size=1),
        lab.volume(Size=1, AvailabilityZone="us-east-1b"),
    )
    lab.attached(used)

    def code(volume: str, device: str = "/dev/sdg", instance: str = INSTANCE) -> str:
        return refused(lab, "AttachVolume", VolumeId=volume, InstanceId=instance, Device=device)

    assert code(used) == "VolumeInUse"
    assert code(far) == "InvalidVolume.ZoneMismatch"
    assert code(free, "/dev/sdf") == "InvalidParameterValue"
    assert code(free, "/dev/xvda") == "InvalidParameterValue"
    assert code(free, "sdf1x") == "InvalidParameterValue"
    assert code(free, "/dev/xvddy") == "InvalidParameterValue"
    assert code(free, instance="i-0000000000000dead") == "InvalidInstanceID.NotFound"
    assert code("vol-0000000000000dead") == "InvalidVolume.NotFound"
    creating = lab.ec2("CreateVolume", AvailabilityZone=ZONE, Size=1)["VolumeId"]
    assert code(creating) == "IncorrectState"
    assert refused(lab, "DeleteVolume", VolumeId=used) == "VolumeInUse"
    assert refused(lab, "DetachVolume", VolumeId=free) == "IncorrectState"


@pytest.mark.parametrize("device", ["/dev/xvdaa", "/dev/xvdcz", "/dev/xvddx"])
def test_an_instance_takes_the_names_that_the_csi_driver_gives(device: str) -> None:
    lab = Lab()
    lab.instance()
    lab.attached(lab.volume(Size=1), device)


def test_an_instance_takes_as_many_volumes_as_its_type_allows() -> None:
    lab = Lab()
    lab.instance()
    for letter in "bcdefghijklmnopqrstuvwxyz":
        lab.attached(lab.volume(Size=1), f"/dev/sd{letter}")
    for letter in "ab":
        lab.attached(lab.volume(Size=1), f"/dev/xvdb{letter}")
    volume = lab.volume(Size=1)
    code = refused(lab, "AttachVolume", VolumeId=volume, InstanceId=INSTANCE, Device="/dev/xvdbc")
    assert code == "AttachmentLimitExceeded"


def test_a_data_plane_that_fails_is_not_hidden() -> None:
    lab = Lab()
    lab.instance()
    volume = lab.volume(Size=1)
    lab.plane.broken.add("attach_volume")
    assert (
        refused(lab, "AttachVolume", VolumeId=volume, InstanceId=INSTANCE, Device="/dev/sdf")
        == "InternalError"
    )
    assert lab.shown(volume)["State"] == "available"
    assert (lab.events[-1][2]["event"], lab.events[-1][2]["result"]) == ("attachVolume", "failed")
    lab.plane.broken = {"detach_volume"}
    lab.attached(volume)
    lab.ec2("DetachVolume", VolumeId=volume)
    assert lab.shown(volume)["Attachments"][0]["State"] == "busy"
    lab.plane.broken = {"create_volume"}
    assert lab.shown(lab.volume(Size=1))["State"] == "error"


def test_a_deleted_volume_is_gone_and_its_token_still_known() -> None:
    lab = Lab()
    volume = lab.volume(Size=1, ClientToken="once")
    lab.ec2("DeleteVolume", VolumeId=volume)
    assert volume not in lab.plane.volumes
    lab.wait(1)
    assert refused(lab, "DescribeVolumes", VolumeIds=[volume]) == "InvalidVolume.NotFound"
    assert lab.ec2("CreateVolume", AvailabilityZone=ZONE, Size=1, ClientToken="once")["VolumeId"] == volume


def test_terminating_deletes_what_is_marked_and_frees_the_rest() -> None:
    lab = Lab()
    lab.instance()
    kept = lab.attached(lab.volume(Size=1))
    marked = lab.region.add_volume(
        size_gib=1, attach_to=INSTANCE, device="/dev/sdg", delete_on_termination=True
    )
    lab.ec2("TerminateInstances", InstanceIds=[INSTANCE])
    lab.wait(3)
    assert lab.shown(kept)["State"] == "available"
    assert set(lab.plane.volumes) == {kept}
    assert refused(lab, "DescribeVolumes", VolumeIds=[marked]) == "InvalidVolume.NotFound"


def test_a_call_takes_200_filter_values_in_all() -> None:
    lab = Lab()
    values = [f"vol-{number:017x}" for number in range(199)]
    filters = [{"Name": "volume-id", "Values": values}, {"Name": "status", "Values": ["in-use"]}]
    assert lab.ec2("DescribeVolumes", Filters=filters)["Volumes"] == []
    filters[1]["Values"].append("available")
    with pytest.raises(ApiError) as refused:
        lab.ec2("DescribeVolumes", Filters=filters)
    assert refused.value.code == "FilterLimitExceeded"


def test_filters_and_wildcards() -> None:
    lab = Lab()
    lab.instance()
    snapshot = lab.snapshot(size_gib=9)
    tags = [
        {"ResourceType": "volume", "Tags": [{"Key": "Name", "Value": "db-1"}, {"Key": "empty", "Value": ""}]}
    ]
    volume = lab.attached(lab.volume(SnapshotId=snapshot, TagSpecifications=tags))
    lab.volume(Size=1)

    def found(name: str, *values: str) -> list[str]:
        filters = [{"Name": name, "Values": list(values)}]
        return [one["VolumeId"] for one in lab.ec2("DescribeVolumes", Filters=filters)["Volumes"]]

    for name, value in (
        ("tag:Name", "db-?"),
        ("tag:empty", ""),
        ("tag-key", "Na*"),
        ("snapshot-id", snapshot),
        ("volume-id", volume),
        ("size", "9"),
        ("attachment.device", "/dev/sdf"),
    ):
        assert found(name, value, "nothing") == [volume], name
    assert volume in found("attachment.instance-id", INSTANCE)
    assert found("status", "in-use", "available") != found("status", "available")
    assert found("tag:Name", "db[-]1") == []
    assert (
        refused(lab, "DescribeVolumes", Filters=[{"Name": "colour", "Values": ["red"]}])
        == "InvalidParameterValue"
    )


def test_pages_cover_everything_once() -> None:
    lab = Lab()
    wanted = {lab.volume(Size=1) for _ in range(12)}
    found: list[str] = []
    token = None
    while token is not None or not found:
        answer = lab.ec2("DescribeVolumes", MaxResults=5, **({"NextToken": token} if token else {}))
        found += [one["VolumeId"] for one in answer["Volumes"]]
        token = answer.get("NextToken")
    assert len(found) == 12
    assert set(found) == wanted
    assert refused(lab, "DescribeVolumes", MaxResults=4) == "InvalidParameterValue"
    assert refused(lab, "DescribeVolumes", NextToken="x") == "InvalidNextToken"
    other = lab.ec2("DescribeVolumeStatus", MaxResults=5)["NextToken"]
    assert refused(lab, "DescribeVolumes", NextToken=other) == "InvalidNextToken"


def test_tags_are_added_replaced_and_removed() -> None:
    lab = Lab()
    volume, snapshot = lab.volume(Size=1), lab.snapshot(tags={"keep": "yes"})
    pairs = [{"Key": "a", "Value": "1"}, {"Key": "b", "Value": "2"}]
    lab.ec2("CreateTags", Resources=[volume, snapshot], Tags=pairs)
    lab.ec2("DeleteTags", Resources=[volume], Tags=[{"Key": "a", "Value": "other"}, {"Key": "b"}])
    assert lab.shown(volume)["Tags"] == [{"Key": "a", "Value": "1"}]
    rows = lab.ec2("DescribeTags", Filters=[{"Name": "resource-id", "Values": [snapshot]}])["Tags"]
    assert [(row["Key"], row["ResourceType"]) for row in rows] == [
        ("a", "snapshot"),
        ("b", "snapshot"),
        ("keep", "snapshot"),
    ]
    lab.ec2("DeleteTags", Resources=[snapshot])
    assert (
        lab.ec2("DescribeTags", Filters=[{"Name": "tag:a", "Values": ["*"]}])["Tags"][0]["ResourceId"]
        == volume
    )
    assert refused(lab, "CreateTags", Resources=["vol-0000000000000dead"], Tags=pairs) == "InvalidID"
    assert (
        refused(lab, "CreateTags", Resources=[volume], Tags=[{"Key": "aws:x", "Value": ""}])
        == "InvalidParameterValue"
    )


def test_zone_ids_follow_aws_names() -> None:
    assert RegionSettings().zone_id("us-east-1a") == "use1-az1"
    tokyo = RegionSettings(region="ap-northeast-1", zone_letters="acd")
    assert tokyo.zone_id("ap-northeast-1c") == "apne1-az2"
