"""Volumes whose place another one takes, on EC2."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from rewarm.adapters.aws_errors import naming_errors
from rewarm.adapters.volumes import volume_of
from rewarm.domain.errors import VolumeNotFoundError
from rewarm.domain.model import Volume
from rewarm.domain.volume.replacing import REPLACED_STACK_TAG, REPLACED_TAG

if TYPE_CHECKING:
    from mypy_boto3_ec2.client import EC2Client


class Ec2ReplacedVolumes:
    """The port ReplacedVolumes."""

    def __init__(self, ec2: EC2Client) -> None:
        self._ec2 = ec2

    def product_codes(self, volume_id: str) -> list[str]:
        """Those of AWS Marketplace. Raises VolumeNotFoundError."""
        with naming_errors():
            answer = self._ec2.describe_volume_attribute(VolumeId=volume_id, Attribute="productCodes")
        return [
            one.get("ProductCodeId", "")
            for one in answer.get("ProductCodes", [])
            if one.get("ProductCodeType") == "marketplace"
        ]

    def set_delete_on_termination(self, instance_id: str, device: str, *, delete: bool) -> None:
        """Of the volume that is attached there."""
        with naming_errors():
            self._ec2.modify_instance_attribute(
                InstanceId=instance_id,
                BlockDeviceMappings=[{"DeviceName": device, "Ebs": {"DeleteOnTermination": delete}}],
            )

    def untag(self, volume_id: str, keys: Collection[str]) -> None:
        """All of them in one call. Does nothing where the volume or the tags are gone."""
        try:
            with naming_errors():
                self._ec2.delete_tags(Resources=[volume_id], Tags=[{"Key": key} for key in keys])
        except VolumeNotFoundError:
            return

    def replaced_by(self, restore_id: str) -> list[Volume]:
        """Volumes that are out of their place for this restore."""
        return self._tagged(REPLACED_TAG, restore_id)

    def replaced(self, stack_name: str) -> list[Volume]:
        """Those of all restores of the stack that may have to go back."""
        return self._tagged(REPLACED_STACK_TAG, stack_name)

    def _tagged(self, key: str, value: str) -> list[Volume]:
        paginator = self._ec2.get_paginator("describe_volumes")
        with naming_errors():
            pages = paginator.paginate(Filters=[{"Name": f"tag:{key}", "Values": [value]}])
            return [volume_of(found) for page in pages for found in page["Volumes"]]
