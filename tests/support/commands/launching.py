"""An account with an instance, a launch template and an image, for `rewarm launch`."""

from __future__ import annotations

from typing import Any

from local.aws.region.resources import ImageDevice
from local.aws.wire.inprocess import client
from rewarm_cli import launching
from rewarm_cli.launching import Plan
from tests.local.aws.region.region_lab import INSTANCE, Lab

Json = dict[str, Any]

TEMPLATE = "lt-0123456789abcdef0"
LAUNCHED = {
    "SubnetId": "subnet-1",
    "SecurityGroups": [{"GroupId": "sg-1"}],
    "KeyName": "ops",
    "IamInstanceProfile": {"Arn": "arn:aws:iam::123456789012:instance-profile/app", "Id": "AIPA"},
    "MetadataOptions": {"State": "applied", "HttpTokens": "required", "HttpPutResponseHopLimit": 2},
}


class Account:
    """A Region with an instance of an image that has a root and a data volume."""

    def __init__(self) -> None:
        self.lab = Lab()
        devices = [
            ImageDevice(device, self.lab.snapshot(size_gib=8), 8, delete_on_termination=True)
            for device in ("/dev/xvda", "/dev/sdf")
        ]
        self.image = self.lab.region.add_image(name="app", devices=devices)
        tags = {"Name": "app", "rewarm:drills": "true"}
        self.lab.instance(image_id=self.image, launched=LAUNCHED, tags=tags, root_size_gib=0)
        self.lab.region.add_volume(size_gib=8, attach_to=INSTANCE, device="/dev/xvda")
        self.lab.region.add_launch_template(
            TEMPLATE, {"ImageId": self.image, "InstanceType": "m5.large", "UserData": "IyE="}
        )
        self.ec2 = client(self.lab.region, "ec2")
        self.said: list[str] = []

    def launch(self, planned: Plan, token: str = "t-1") -> Json:
        return launching.launch(self.ec2, planned, token, self.said.append)

    def others(self) -> list[str]:
        """Instances that were launched, by state."""
        listed = self.ec2.describe_instances()["Reservations"]
        found = [one["Instances"][0] for one in listed]
        return [one["State"]["Name"] for one in found if one["InstanceId"] != INSTANCE]

    def volumes(self) -> list[str]:
        self.lab.wait(5)
        return [one["VolumeId"] for one in self.ec2.describe_volumes()["Volumes"]]
