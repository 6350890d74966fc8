"""RunInstances: the image's devices as the request changes them, templates, tokens, stop and termination."""

from __future__ import annotations

from typing import Any

import pytest

from local.aws.region.errors import ApiError
from local.aws.region.resources import ImageDevice
from tests.local.aws.region.region_lab import Lab

TOKEN = "0123456789abcdef"


def image(lab: Lab) -> str:
    devices = [
        ImageDevice(device, lab.snapshot(size_gib=8), 8, delete_on_termination=True)
        for device in ("/dev/xvda", "/dev/sdf")
    ]
    return lab.region.add_image(name="app", devices=devices)


def launched(lab: Lab, **params: Any) -> dict[str, Any]:
    (instance,) = lab.ec2("RunInstances", MinCount=1, MaxCount=1, **params)["Instances"]
    return dict(instance)


def shown(lab: Lab, instance_id: str) -> dict[str, Any]:
    (found,) = lab.ec2("DescribeInstances", InstanceIds=[instance_id])["Reservations"]
    return dict(found["Instances"][0])


def test_an_instance_is_pending_then_running_with_its_images_devices() -> None:
    lab = Lab()
    tags = [{"ResourceType": "volume", "Tags": [{"Key": "a", "Value": "1"}]}]
    mappings = [
        {"DeviceName": "/dev/sdf", "NoDevice": ""},
        {"DeviceName": "/dev/sdg", "Ebs": {"VolumeSize": 1}},
    ]
    one = launched(
        lab,
        ImageId=image(lab),
        InstanceType="m5.large",
        BlockDeviceMappings=mappings,
        TagSpecifications=tags,
        SecurityGroupIds=["sg-1"],
    )
    assert one["State"]["Name"] == "pending"
    lab.wait(3)
    found = shown(lab, one["InstanceId"])
    assert found["State"]["Name"] == "running"
    assert found["SecurityGroups"] == [{"GroupId": "sg-1"}]
    devices = {each["DeviceName"]: each["Ebs"] for each in found["BlockDeviceMappings"]}
    assert sorted(devices) == ["/dev/sdg", "/dev/xvda"]
    assert all(ebs["DeleteOnTermination"] for ebs in devices.values())
    assert lab.shown(devices["/dev/xvda"]["VolumeId"])["Tags"] == [{"Key": "a", "Value": "1"}]


def test_a_client_token_launches_one_instance() -> None:
    lab = Lab()
    params = {"ImageId": image(lab), "ClientToken": TOKEN}
    first = launched(lab, **params)
    assert launched(lab, **params)["InstanceId"] == first["InstanceId"]
    by_token = [{"Name": "client-token", "Values": [TOKEN]}]
    assert len(lab.ec2("DescribeInstances", Filters=by_token)["Reservations"]) == 1
    with pytest.raises(ApiError, match="used with other parameters"):
        launched(lab, **params, KeyName="other")


def test_a_request_overwrites_its_template() -> None:
    lab = Lab()
    lab.region.add_launch_template(
        "lt-1", {"ImageId": image(lab), "InstanceType": "m5.large", "KeyName": "k"}
    )
    one = launched(lab, LaunchTemplate={"LaunchTemplateId": "lt-1"}, InstanceType="r6i.large")
    assert (one["InstanceType"], one["KeyName"]) == ("r6i.large", "k")
    (version,) = lab.ec2("DescribeLaunchTemplateVersions", LaunchTemplateId="lt-1")["LaunchTemplateVersions"]
    assert version["LaunchTemplateData"]["KeyName"] == "k"


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({}, "MissingParameter"),
        ({"ImageId": "ami-0000000000000dead"}, "InvalidAMIID.NotFound"),
        ({"LaunchTemplate": {"LaunchTemplateName": "no"}}, "InvalidLaunchTemplateId.NotFound"),
    ],
)
def test_what_is_not_there_is_refused(params: dict[str, Any], code: str) -> None:
    with pytest.raises(ApiError) as raised:
        launched(Lab(), **params)
    assert raised.value.code == code


def test_an_instance_that_ends_while_pending_stays_ended_and_takes_its_volumes() -> None:
    lab = Lab()
    one = launched(lab, ImageId=image(lab))
    lab.ec2("TerminateInstances", InstanceIds=[one["InstanceId"]])
    lab.wait(10)
    assert shown(lab, one["InstanceId"])["State"]["Name"] == "terminated"
    lab.wait(10)
    assert lab.ec2("DescribeVolumes")["Volumes"] == []
