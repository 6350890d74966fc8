"""What a restore looks up before it acts: instance types, images and zones (botocore ec2)."""

from __future__ import annotations

from local import Json
from local.aws.region.commands.instance_types import InstanceType
from local.aws.region.core import Core, refuse_dry_run, stamp
from local.aws.region.errors import ApiError
from local.aws.region.filters import Getter, keep_matching, page, tag_list
from local.aws.region.operations import operation
from local.aws.region.resources import Image
from local.aws.region.tables import Tables


class Catalogue:
    """Types, images and zones of the Region."""

    def __init__(self, core: Core, tables: Tables) -> None:
        self._core = core
        self._tables = tables

    @operation("ec2", "DescribeInstanceTypes")
    def describe_instance_types(self, params: Json) -> Json:
        """EBS figures of instance types."""
        refuse_dry_run(params)
        known = self._tables.instance_types
        wanted = params.get("InstanceTypes") or sorted(known)
        missing = [one for one in wanted if one not in known]
        if missing:
            raise ApiError(
                "InvalidInstanceType", f"The following supplied instance types do not exist: [{missing[0]}]"
            )
        items = keep_matching([known[one] for one in wanted], params.get("Filters"), _TYPE_FILTERS)
        items, token = page(items, params, scope="instance-types", low=5, high=100)
        return {"InstanceTypes": [item.describe() for item in items], "NextToken": token}

    @operation("ec2", "DescribeImages")
    def describe_images(self, params: Json) -> Json:
        """Images by id, owner and filter."""
        refuse_dry_run(params)
        wanted = params.get("ImageIds")
        for image_id in wanted or ():
            if image_id not in self._tables.images:
                raise ApiError("InvalidAMIID.NotFound", f"The image id '[{image_id}]' does not exist")
        items = [image for image in self._tables.images.values() if not wanted or image.image_id in wanted]
        owners = params.get("Owners")
        if owners:
            mine = self._core.settings.account_id
            items = [
                item
                for item in items
                if item.owner_id in owners or ("self" in owners and item.owner_id == mine)
            ]
        items = keep_matching(items, params.get("Filters"), _IMAGE_FILTERS, lambda one: one.tags)
        items, token = page(items, params, scope="images")
        return {"Images": [self._describe_image(item) for item in items], "NextToken": token}

    @operation("ec2", "DescribeAvailabilityZones")
    def describe_availability_zones(self, params: Json) -> Json:
        """The Region's zones."""
        refuse_dry_run(params)
        settings = self._core.settings
        rows = [self._zone(zone) for zone in settings.zones]
        names, ids = params.get("ZoneNames"), params.get("ZoneIds")
        for name in names or ():
            if name not in settings.zones:
                raise ApiError("InvalidParameterValue", f"Invalid availability zone: [{name}]")
        rows = [
            row
            for row in rows
            if (not names or row["ZoneName"] in names) and (not ids or row["ZoneId"] in ids)
        ]
        filters: dict[str, Getter[Json]] = {
            "region-name": lambda row: row["RegionName"],
            "state": lambda row: row["State"],
            "zone-id": lambda row: row["ZoneId"],
            "zone-name": lambda row: row["ZoneName"],
            "zone-type": lambda row: row["ZoneType"],
            "opt-in-status": lambda row: row["OptInStatus"],
        }
        return {"AvailabilityZones": keep_matching(rows, params.get("Filters"), filters)}

    def _describe_image(self, one: Image) -> Json:
        return {
            "ImageId": one.image_id,
            "Name": one.name,
            "OwnerId": one.owner_id,
            "CreationDate": stamp(one.creation_time).strftime("%Y-%m-%dT%H:%M:%S.000Z"),
            "State": "available",
            "Architecture": one.architecture,
            "ImageType": "machine",
            "RootDeviceName": one.root_device,
            "RootDeviceType": "ebs",
            "VirtualizationType": "hvm",
            "Hypervisor": "xen",
            "EnaSupport": True,
            "Public": False,
            "BlockDeviceMappings": [
                {
                    "DeviceName": each.device,
                    "Ebs": {
                        "SnapshotId": each.snapshot_id,
                        "VolumeSize": each.size_gib,
                        "VolumeType": each.volume_type,
                        "DeleteOnTermination": each.delete_on_termination,
                        "Encrypted": False,
                    },
                }
                for each in one.devices
            ],
            "Tags": tag_list(one.tags),
        }

    def _zone(self, zone: str) -> Json:
        """OptInStatus is the same in every Region (botocore: ec2 AvailabilityZone)."""
        region = self._core.settings.region
        return {
            "ZoneName": zone,
            "ZoneId": self._core.settings.zone_id(zone),
            "RegionName": region,
            "State": "available",
            "ZoneType": "availability-zone",
            "GroupName": f"{region}-zg-1",
            "OptInStatus": "opt-in-not-required",
            "NetworkBorderGroup": region,
            "Messages": [],
        }


_TYPE_FILTERS: dict[str, Getter[InstanceType]] = {
    "instance-type": lambda one: one.name,
    "current-generation": lambda _one: True,
    "processor-info.supported-architecture": lambda one: one.architecture,
    "ebs-info.maximum-ebs-attachments": lambda one: one.maximum_attachments,
}

_IMAGE_FILTERS: dict[str, Getter[Image]] = {
    "architecture": lambda one: one.architecture,
    "block-device-mapping.device-name": lambda one: [each.device for each in one.devices],
    "block-device-mapping.snapshot-id": lambda one: [each.snapshot_id for each in one.devices],
    "image-id": lambda one: one.image_id,
    "name": lambda one: one.name,
    "owner-id": lambda one: one.owner_id,
    "state": lambda _one: "available",
}
