"""CreateReplaceRootVolumeTask with a volume."""

from __future__ import annotations

from typing import Any

import pytest

from local.aws.region import ApiError, FaultRule
from tests.local.aws.region.region_lab import INSTANCE, Lab


def ready() -> tuple[Lab, str]:
    """An instance, and a volume that may become its root."""
    lab = Lab()
    lab.instance()
    return lab, lab.region.add_volume(size_gib=8)


def begin(lab: Lab, volume: str, **params: Any) -> str:
    asked = {"InstanceId": INSTANCE, "VolumeId": volume, **params}
    task_id: str = lab.ec2("CreateReplaceRootVolumeTask", **asked)["ReplaceRootVolumeTask"][
        "ReplaceRootVolumeTaskId"
    ]
    return task_id


def task(lab: Lab, task_id: str) -> dict[str, Any]:
    (found,) = lab.ec2("DescribeReplaceRootVolumeTasks", ReplaceRootVolumeTaskIds=[task_id])[
        "ReplaceRootVolumeTasks"
    ]
    return dict(found)


def roots(lab: Lab) -> list[str]:
    """Volumes at the instance's root device."""
    (reservation,) = lab.ec2("DescribeInstances", InstanceIds=[INSTANCE])["Reservations"]
    (shown,) = reservation["Instances"]
    return [
        one["Ebs"]["VolumeId"]
        for one in shown["BlockDeviceMappings"]
        if one["DeviceName"] == shown["RootDeviceName"]
    ]


def refused(lab: Lab, **params: Any) -> str:
    with pytest.raises(ApiError) as error:
        lab.ec2("CreateReplaceRootVolumeTask", InstanceId=INSTANCE, **params)
    return error.value.code


@pytest.mark.parametrize("delete", [False, True])
def test_a_volume_takes_the_place_of_the_root_volume(delete: bool) -> None:  # noqa: FBT001
    lab, volume = ready()
    (old,) = roots(lab)
    made = begin(lab, volume, DeleteReplacedRootVolume=delete)
    assert task(lab, made)["TaskState"] == "pending"
    lab.wait(10)
    assert (task(lab, made)["TaskState"], INSTANCE in lab.plane.instances) == ("in-progress", False)
    lab.wait(60)
    assert (task(lab, made)["TaskState"], "CompleteTime" in task(lab, made)) == ("succeeded", True)
    assert (roots(lab), INSTANCE in lab.plane.instances) == ([volume], True)
    assert lab.plane.volumes[volume].attached_to == {INSTANCE}
    known = [one["VolumeId"] for one in lab.ec2("DescribeVolumes")["Volumes"]]
    assert (old in known) is not delete
    assert delete or lab.shown(old)["State"] == "available"
    filters = [{"Name": "instance-id", "Values": ["i-0000000000000dead"]}]
    assert lab.ec2("DescribeReplaceRootVolumeTasks", Filters=filters)["ReplaceRootVolumeTasks"] == []


def test_what_cannot_become_a_root_volume() -> None:
    lab, volume = ready()
    far = lab.region.add_volume(size_gib=8, zone="us-east-1b")
    assert refused(lab, VolumeId=far) == "InvalidVolume.ZoneMismatch"
    used = lab.attached(lab.region.add_volume(size_gib=8))
    assert refused(lab, VolumeId=used) == "IncorrectState"
    assert refused(lab) == "MissingParameter"
    assert refused(lab, VolumeId=volume, DryRun=True) == "DryRunOperation"
    first = begin(lab, volume, ClientToken="once")
    assert begin(lab, volume, ClientToken="once") == first
    other = lab.region.add_volume(size_gib=8)
    assert refused(lab, VolumeId=other, ClientToken="once") == "IdempotentParameterMismatch"
    assert refused(lab, VolumeId=other) == "IncorrectInstanceState"
    lab.wait(70)
    lab.ec2("StopInstances", InstanceIds=[INSTANCE])
    assert refused(lab, VolumeId=other) == "IncorrectInstanceState"


def test_an_encrypted_root_volume_needs_an_encrypted_one() -> None:
    lab, volume = ready()
    (old,) = roots(lab)
    lab.region._tables.volumes[old].encrypted = True
    assert refused(lab, VolumeId=volume) == "InvalidParameterValue"


def test_a_replacement_may_fail_hang_or_leave_no_root() -> None:
    for rule, state, left in (
        (FaultRule("root:replacement"), "failed", 1),
        (FaultRule("root:replacement", effect="stall"), "in-progress", 1),
        (FaultRule("root:replacement", code="failed-detached"), "failed-detached", 0),
    ):
        lab, volume = ready()
        lab.region.faults.add(rule)
        made = begin(lab, volume)
        lab.wait(100)
        assert (task(lab, made)["TaskState"], len(roots(lab))) == (state, left)
        assert lab.shown(volume)["State"] == "available"


def test_a_volume_that_is_taken_meanwhile_leaves_the_root_as_it_is() -> None:
    lab, volume = ready()
    (old,) = roots(lab)
    made = begin(lab, volume)
    lab.ec2("AttachVolume", VolumeId=volume, InstanceId=INSTANCE, Device="/dev/sdf")
    lab.wait(100)
    assert (task(lab, made)["TaskState"], roots(lab)) == ("failed", [old])
