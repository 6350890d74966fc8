"""Replacing volumes, against botocore's model of EC2: calls, and what is read of the answers."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from rewarm.adapters.instances import Ec2Instances
from rewarm.adapters.volumes import Ec2VolumeStore
from rewarm.domain import errors
from tests.contract.answers import ApiError, Aws

VOLUME, INSTANCE = "vol-0123456789abcdef0", "i-0123456789abcdef0"


def described(**changes: Any) -> dict[str, Any]:
    attachment = {
        "VolumeId": VOLUME, "InstanceId": INSTANCE, "Device": "/dev/sdf", "State": "attached",
        "DeleteOnTermination": True,
    }  # fmt: skip
    return {
        "VolumeId": VOLUME, "State": "in-use", "AvailabilityZone": "us-east-1a", "Size": 8,
        "VolumeType": "gp3", "CreateTime": datetime(2026, 11, 20, tzinfo=UTC),
        "Attachments": [attachment], **changes,
    }  # fmt: skip


class TestReplacedVolumes:
    def test_product_codes_of_the_marketplace(self) -> None:
        codes = [
            {"ProductCodeId": "abc", "ProductCodeType": "marketplace"},
            {"ProductCodeId": "old", "ProductCodeType": "devpay"},
        ]
        ec2 = Aws("ec2").on("DescribeVolumeAttribute", {"VolumeId": VOLUME, "ProductCodes": codes})
        assert Ec2VolumeStore(ec2.client).product_codes(VOLUME) == ["abc"]
        assert ec2.params("DescribeVolumeAttribute") == [{"VolumeId": VOLUME, "Attribute": "productCodes"}]

    def test_a_volume_that_is_gone_has_its_own_error(self) -> None:
        ec2 = Aws("ec2").on("DescribeVolumeAttribute", ApiError("InvalidVolume.NotFound"))
        with pytest.raises(errors.VolumeNotFoundError):
            Ec2VolumeStore(ec2.client).product_codes(VOLUME)

    @pytest.mark.parametrize("delete", [True, False])
    def test_delete_on_termination_is_set_of_the_attachment(self, *, delete: bool) -> None:
        ec2 = Aws("ec2").on("ModifyInstanceAttribute", {})
        Ec2VolumeStore(ec2.client).set_delete_on_termination(INSTANCE, "/dev/sdf", delete=delete)
        mapping = {"DeviceName": "/dev/sdf", "Ebs": {"DeleteOnTermination": delete}}
        assert ec2.params("ModifyInstanceAttribute") == [
            {"InstanceId": INSTANCE, "BlockDeviceMappings": [mapping]}
        ]

    def test_all_tags_go_in_one_call(self) -> None:
        ec2 = Aws("ec2").on("DeleteTags", {})
        Ec2VolumeStore(ec2.client).untag(VOLUME, "a", "b")
        assert ec2.params("DeleteTags") == [{"Resources": [VOLUME], "Tags": [{"Key": "a"}, {"Key": "b"}]}]

    def test_tags_of_a_volume_that_is_gone_are_gone(self) -> None:
        ec2 = Aws("ec2").on("DeleteTags", ApiError("InvalidVolume.NotFound"))
        Ec2VolumeStore(ec2.client).untag(VOLUME, "a")

    def test_they_are_found_by_the_stack(self) -> None:
        ec2 = Aws("ec2").on("DescribeVolumes", {"Volumes": [described()]})
        replaced = Ec2VolumeStore(ec2.client)
        assert [one.volume_id for one in replaced.replaced("rewarm")] == [VOLUME]
        asked = [params["Filters"] for params in ec2.params("DescribeVolumes")]
        assert asked == [[{"Name": "tag:rewarm:replaced-by-stack", "Values": ["rewarm"]}]]

    @pytest.mark.parametrize(
        ("code", "error"),
        [
            ("RequestLimitExceeded", errors.ThrottledError),
            ("InternalError", errors.ServiceUnavailableError),
            ("UnauthorizedOperation", errors.AccessDeniedError),
        ],
    )
    def test_errors_are_in_our_words(self, code: str, error: type[Exception]) -> None:
        ec2 = Aws("ec2").on("ModifyInstanceAttribute", ApiError(code))
        with pytest.raises(error):
            Ec2VolumeStore(ec2.client).set_delete_on_termination(INSTANCE, "/dev/sdf", delete=True)


class TestWhatIsRead:
    def test_what_the_instances_end_means_for_the_volume(self) -> None:
        ec2 = Aws("ec2").on("DescribeVolumes", {"Volumes": [described()]})
        (attachment,) = Ec2VolumeStore(ec2.client).get(VOLUME).attachments
        assert attachment.delete_on_termination

    def test_the_service_that_the_volume_belongs_to(self) -> None:
        operator = {"Managed": True, "Principal": "ecs.amazonaws.com"}
        ec2 = Aws("ec2").on(
            "DescribeVolumes", {"Volumes": [described(Operator=operator)]}, {"Volumes": [described()]}
        )
        store = Ec2VolumeStore(ec2.client)
        assert [store.get(VOLUME).managed_by for _ in range(2)] == ["ecs.amazonaws.com", None]

    def test_the_root_device_of_the_instance(self) -> None:
        told = {
            "InstanceId": INSTANCE, "State": {"Name": "running"}, "InstanceType": "m7g.large",
            "Placement": {"AvailabilityZone": "us-east-1a"}, "RootDeviceName": "/dev/xvda",
        }  # fmt: skip
        ec2 = Aws("ec2").on("DescribeInstances", {"Reservations": [{"Instances": [told]}]})
        ssm = Aws("ssm").on("DescribeInstanceInformation", {"InstanceInformationList": []})
        assert Ec2Instances(ec2.client, ssm.client).get(INSTANCE).root_device == "/dev/xvda"
