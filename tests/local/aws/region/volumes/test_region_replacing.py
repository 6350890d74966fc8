"""What EC2 does where one volume takes the place of another: roots, busy volumes, DeleteOnTermination."""

from __future__ import annotations

from typing import Any

import pytest

from local.aws.region import RegionSettings
from local.aws.region.errors import ApiError
from tests.local.aws.region.region_lab import INSTANCE, Lab


def refused(lab: Lab, operation: str, **params: Any) -> str:
    with pytest.raises(ApiError) as raised:
        lab.ec2(operation, **params)
    return raised.value.code


def root_of(lab: Lab) -> str:
    (found,) = lab.ec2("DescribeInstances", InstanceIds=[INSTANCE])["Reservations"]
    return str(found["Instances"][0]["BlockDeviceMappings"][0]["Ebs"]["VolumeId"])


def test_the_root_volume_is_detached_only_while_the_instance_is_stopped() -> None:
    lab = Lab()
    lab.instance()
    root = root_of(lab)
    assert refused(lab, "DetachVolume", VolumeId=root) == "IncorrectState"
    lab.ec2("StopInstances", InstanceIds=[INSTANCE])
    lab.ec2("DetachVolume", VolumeId=root)
    lab.wait(3)
    assert lab.shown(root)["State"] == "available"


def test_a_volume_that_is_mounted_stays_busy_until_it_is_not() -> None:
    lab = Lab()
    lab.instance()
    volume = lab.attached(lab.volume(Size=1))
    lab.plane.broken = {"detach_volume"}
    lab.ec2("DetachVolume", VolumeId=volume)
    lab.wait(3_600)
    assert lab.shown(volume)["Attachments"][0]["State"] == "busy"
    assert (
        refused(lab, "AttachVolume", VolumeId=volume, InstanceId=INSTANCE, Device="/dev/sdf") == "VolumeInUse"
    )
    lab.plane.broken = set()
    lab.wait(5)
    lab.wait(5)
    assert lab.shown(volume)["State"] == "available"


def test_a_device_can_be_used_again_only_when_the_volume_before_has_left() -> None:
    lab = Lab()
    lab.instance()
    old, new = lab.attached(lab.volume(Size=1)), lab.volume(Size=1)
    to_its_place = {"VolumeId": new, "InstanceId": INSTANCE, "Device": "/dev/sdf"}
    lab.ec2("DetachVolume", VolumeId=old)
    assert refused(lab, "AttachVolume", **to_its_place) == "InvalidParameterValue"
    lab.wait(3)
    lab.ec2("AttachVolume", **to_its_place)


def test_delete_on_termination_belongs_to_the_attachment() -> None:
    lab = Lab()
    lab.instance()
    volume = lab.attached(lab.volume(Size=1))
    assert lab.shown(volume)["Attachments"][0]["DeleteOnTermination"] is False

    def mark(device: str, ebs: dict[str, Any]) -> dict[str, Any]:
        mapping = {"DeviceName": device, "Ebs": ebs}
        return {"InstanceId": INSTANCE, "BlockDeviceMappings": [mapping]}

    lab.ec2("ModifyInstanceAttribute", **mark("/dev/sdf", {"DeleteOnTermination": True}))
    assert lab.shown(volume)["Attachments"][0]["DeleteOnTermination"] is True
    lab.ec2("ModifyInstanceAttribute", **mark("/dev/sdf", {"DeleteOnTermination": False}))
    assert lab.shown(volume)["Attachments"][0]["DeleteOnTermination"] is False
    nothing = mark("/dev/sdh", {"DeleteOnTermination": True})
    assert refused(lab, "ModifyInstanceAttribute", **nothing) == "InvalidInstanceAttributeValue"
    lab.ec2("DetachVolume", VolumeId=volume)
    lab.wait(3)
    lab.attached(volume)
    assert lab.shown(volume)["Attachments"][0]["DeleteOnTermination"] is False


def test_a_volume_with_a_product_code_goes_to_stopped_instances_only() -> None:
    lab = Lab()
    lab.instance()
    volume = lab.region.add_volume(size_gib=1, product_codes=["a1b2c3"], has_data=False)
    shown = lab.ec2("DescribeVolumeAttribute", VolumeId=volume, Attribute="productCodes")
    assert shown["ProductCodes"] == [{"ProductCodeId": "a1b2c3", "ProductCodeType": "marketplace"}]
    to_instance = {"VolumeId": volume, "InstanceId": INSTANCE, "Device": "/dev/sdf"}
    assert refused(lab, "AttachVolume", **to_instance) == "IncorrectInstanceState"
    lab.ec2("StopInstances", InstanceIds=[INSTANCE])
    lab.ec2("AttachVolume", **to_instance)


def test_a_volume_of_an_aws_service_says_whose_it_is() -> None:
    lab = Lab()
    volume = lab.region.add_volume(size_gib=1, managed_by="ecs.amazonaws.com")
    assert lab.shown(volume)["Operator"] == {"Managed": True, "Principal": "ecs.amazonaws.com"}


def test_a_root_volume_takes_the_place_of_the_one_that_left() -> None:
    """EC2 user guide, "Root volumes for your Amazon EC2 instances": on a stopped instance."""
    lab = Lab()
    lab.instance()
    old, new = root_of(lab), lab.volume(Size=8)
    place = {"InstanceId": INSTANCE, "Device": "/dev/xvda"}
    lab.ec2("StopInstances", InstanceIds=[INSTANCE])
    assert refused(lab, "AttachVolume", VolumeId=new, **place) == "InvalidParameterValue"
    lab.ec2("DetachVolume", VolumeId=old)
    lab.wait(3)
    assert refused(lab, "StartInstances", InstanceIds=[INSTANCE]) == "IncorrectState"
    lab.ec2("AttachVolume", VolumeId=new, **place)
    lab.ec2("StartInstances", InstanceIds=[INSTANCE])
    assert root_of(lab) == new


def checks(lab: Lab, **params: Any) -> list[str]:
    found = lab.ec2("DescribeInstanceStatus", InstanceIds=[INSTANCE], **params)["InstanceStatuses"]
    return [
        one[name]["Status"]
        for one in found
        for name in ("SystemStatus", "InstanceStatus", "AttachedEbsStatus")
    ]


def test_status_checks_pass_a_while_after_a_start() -> None:
    lab = Lab()
    lab.instance()
    assert checks(lab) == ["ok", "ok", "ok"]
    lab.ec2("StopInstances", InstanceIds=[INSTANCE])
    assert checks(lab) == []
    assert checks(lab, IncludeAllInstances=True) == ["not-applicable"] * 3
    lab.ec2("StartInstances", InstanceIds=[INSTANCE])
    assert checks(lab) == ["initializing"] * 3
    lab.wait(lab.settings.status_check_seconds)
    assert checks(lab) == ["ok", "ok", "ok"]
    lab.region.change_instance(INSTANCE, impaired="instance")
    assert checks(lab) == ["ok", "impaired", "ok"]


def test_an_instance_is_stopping_until_its_system_is_down() -> None:
    lab = Lab(RegionSettings(stop_seconds=30))
    lab.instance()
    (changed,) = lab.ec2("StopInstances", InstanceIds=[INSTANCE])["StoppingInstances"]
    assert changed["CurrentState"]["Name"] == "stopping"
    assert refused(lab, "StartInstances", InstanceIds=[INSTANCE]) == "IncorrectInstanceState"
    lab.wait(30)
    lab.ec2("StartInstances", InstanceIds=[INSTANCE])
