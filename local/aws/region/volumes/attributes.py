"""ModifyInstanceAttribute and DescribeVolumeAttribute, as far as volumes need them (botocore ec2)."""

from __future__ import annotations

from local import Json
from local.aws.region.core import Core, refuse_dry_run
from local.aws.region.errors import ApiError
from local.aws.region.operations import operation
from local.aws.region.resources import Attachment
from local.aws.region.tables import Tables


class Attributes:
    """What else can be asked of a volume, and set of an attachment."""

    def __init__(self, core: Core, tables: Tables) -> None:
        self._core = core
        self._tables = tables

    @operation("ec2", "ModifyInstanceAttribute")
    def modify_instance_attribute(self, params: Json) -> Json:
        """DeleteOnTermination of volumes that are attached; AWS's default for it is true."""
        instance = self._tables.instance(params["InstanceId"])
        wanted = params.get("BlockDeviceMappings")
        if not wanted:
            raise ApiError("InvalidParameterCombination", "Only BlockDeviceMappings can be modified here")
        found = [(self._attached(instance.instance_id, one), one.get("Ebs") or {}) for one in wanted]
        refuse_dry_run(params)
        for attachment, ebs in found:
            attachment.delete_on_termination = bool(ebs.get("DeleteOnTermination", True))
        return {}

    @operation("ec2", "DescribeVolumeAttribute")
    def describe_volume_attribute(self, params: Json) -> Json:
        """The product codes of AWS Marketplace that the volume carries."""
        volume = self._tables.volume(params["VolumeId"])
        refuse_dry_run(params)
        answer: Json = {"VolumeId": volume.volume_id}
        if params["Attribute"] == "autoEnableIO":
            return answer | {"AutoEnableIO": {"Value": False}}
        codes = [
            {"ProductCodeId": product_code, "ProductCodeType": "marketplace"}
            for product_code in volume.product_codes
        ]
        return answer | {"ProductCodes": codes}

    def _attached(self, instance_id: str, mapping: Json) -> Attachment:
        device, volume_id = mapping.get("DeviceName"), (mapping.get("Ebs") or {}).get("VolumeId")
        for volume in self._tables.volumes.values():
            attachment = volume.attachments.get(instance_id)
            if attachment is None or device not in (None, attachment.device):
                continue
            if volume_id in (None, volume.volume_id):
                return attachment
        # The code is known from public reports, not from AWS's documentation.
        raise ApiError("InvalidInstanceAttributeValue", f"No device is currently mapped at {device}")
