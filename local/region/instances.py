"""Instances, instance types, images and zones, as far as a restore asks for them (botocore ec2)."""

from __future__ import annotations

from local.region.attachments import Attachments
from local.region.core import Core, Json, refuse_dry_run, stamp
from local.region.errors import ApiError, not_together
from local.region.filters import Getter, keep_matching, page, tag_list
from local.region.instance_types import InstanceType
from local.region.operations import operation
from local.region.resources import Attachment, Image, Instance, Volume
from local.region.tables import Tables
from local.region.volumes import Volumes

STATE_CODES = {
    "pending": 0,
    "running": 16,
    "shutting-down": 32,
    "terminated": 48,
    "stopping": 64,
    "stopped": 80,
}


class Instances:
    """What runs, and on what. Instances are seeded; the API shows, stops, starts and terminates them."""

    def __init__(self, core: Core, tables: Tables, volumes: Volumes, attachments: Attachments) -> None:
        self._core = core
        self._tables = tables
        self._volumes = volumes
        self._attachments = attachments

    @operation("ec2", "DescribeInstances")
    def describe_instances(self, params: Json) -> Json:
        """Instances by id and filter; one reservation each."""
        refuse_dry_run(params)
        wanted = params.get("InstanceIds")
        if wanted and params.get("MaxResults") is not None:
            raise not_together("The parameter instancesSet cannot be used with the parameter maxResults")
        items = (
            [self._tables.instance(one) for one in wanted]
            if wanted
            else list(self._tables.instances.values())
        )
        items = keep_matching(items, params.get("Filters"), self._filters(), lambda one: one.tags)
        items, token = page(items, params, scope="instances", low=self._core.settings.minimum_page)
        account = self._core.settings.account_id
        reservations = [
            {
                "ReservationId": one.instance_id.replace("i-", "r-"),
                "OwnerId": account,
                "Groups": [],
                "Instances": [self._describe(one)],
            }
            for one in items
        ]
        return {"Reservations": reservations, "NextToken": token}

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
        return {"InstanceTypes": [one.describe() for one in items], "NextToken": token}

    @operation("ec2", "DescribeImages")
    def describe_images(self, params: Json) -> Json:
        """Images by id, owner and filter."""
        refuse_dry_run(params)
        wanted = params.get("ImageIds")
        for image_id in wanted or ():
            if image_id not in self._tables.images:
                raise ApiError("InvalidAMIID.NotFound", f"The image id '[{image_id}]' does not exist")
        items = [one for one in self._tables.images.values() if not wanted or one.image_id in wanted]
        owners = params.get("Owners")
        if owners:
            mine = self._core.settings.account_id
            items = [
                one for one in items if one.owner_id in owners or ("self" in owners and one.owner_id == mine)
            ]
        items = keep_matching(items, params.get("Filters"), _IMAGE_FILTERS, lambda one: one.tags)
        items, token = page(items, params, scope="images")
        return {"Images": [self._describe_image(one) for one in items], "NextToken": token}

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

    @operation("ec2", "StopInstances")
    def stop_instances(self, params: Json) -> Json:
        """Stop instances: their commands end, their volumes stay attached."""
        instances = self._named(params)
        refuse_dry_run(params)
        return {"StoppingInstances": [self._change(one, "stopped") for one in instances]}

    @operation("ec2", "StartInstances")
    def start_instances(self, params: Json) -> Json:
        """Start stopped instances."""
        instances = self._named(params)
        refuse_dry_run(params)
        return {"StartingInstances": [self._change(one, "running") for one in instances]}

    @operation("ec2", "TerminateInstances")
    def terminate_instances(self, params: Json) -> Json:
        """End instances; volumes marked DeleteOnTermination go with them, the others become available."""
        instances = self._named(params)
        refuse_dry_run(params)
        return {"TerminatingInstances": [self._terminate(one) for one in instances]}

    def _named(self, params: Json) -> list[Instance]:
        instances = [self._tables.instance(one) for one in params["InstanceIds"]]
        for one in instances:
            if one.state == "terminated":
                raise ApiError("IncorrectInstanceState", f"The instance '{one.instance_id}' is 'terminated'")
        return instances

    def _change(self, instance: Instance, state: str) -> Json:
        before, instance.state = instance.state, state
        instance_id = instance.instance_id
        if state != before:
            running = state == "running"
            plane = self._core.dataplane
            self._core.later(
                lambda: plane.start_instance(instance_id) if running else plane.stop_instance(instance_id)
            )
        return {"InstanceId": instance_id, "CurrentState": _state(state), "PreviousState": _state(before)}

    def _terminate(self, instance: Instance) -> Json:
        answer = self._change(instance, "terminated")
        for volume, attachment in self._attached(instance):
            if not attachment.delete_on_termination:
                self._attachments.detach(volume, attachment)
                continue
            if volume.has_data:
                self._core.later(
                    lambda volume=volume: self._core.dataplane.detach_volume(  # type: ignore[misc]
                        volume.volume_id, instance.instance_id
                    )
                )
            volume.attachments.pop(instance.instance_id)
            self._volumes.delete(volume)
        return answer

    def _attached(self, instance: Instance) -> list[tuple[Volume, Attachment]]:
        return [
            (volume, volume.attachments[instance.instance_id])
            for volume in self._tables.volumes.values()
            if instance.instance_id in volume.attachments
        ]

    def _describe(self, one: Instance) -> Json:
        image = self._tables.images.get(one.image_id)
        return {
            "InstanceId": one.instance_id,
            "ImageId": one.image_id,
            "InstanceType": one.instance_type,
            "State": _state(one.state),
            "LaunchTime": stamp(one.launch_time),
            "Placement": {
                "AvailabilityZone": one.zone,
                "AvailabilityZoneId": self._core.settings.zone_id(one.zone),
                "Tenancy": "default",
            },
            "Architecture": image.architecture if image else one.architecture,
            "Platform": "windows" if one.platform == "Windows" else None,
            "PlatformDetails": "Windows" if one.platform == "Windows" else "Linux/UNIX",
            "PrivateIpAddress": one.private_ip,
            "RootDeviceName": one.root_device,
            "RootDeviceType": "ebs",
            "VirtualizationType": "hvm",
            "Hypervisor": "xen",
            "EbsOptimized": True,
            "EnaSupport": True,
            "BlockDeviceMappings": [
                _mapping(volume, attachment) for volume, attachment in self._attached(one)
            ],
            "Tags": tag_list(one.tags),
        }

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

    def _filters(self) -> dict[str, Getter[Instance]]:
        return {
            "architecture": lambda one: one.architecture,
            "availability-zone": lambda one: one.zone,
            "availability-zone-id": lambda one: self._core.settings.zone_id(one.zone),
            "block-device-mapping.device-name": lambda one: [each.device for _, each in self._attached(one)],
            "block-device-mapping.status": lambda one: [each.state for _, each in self._attached(one)],
            "block-device-mapping.volume-id": lambda one: [
                volume.volume_id for volume, _ in self._attached(one)
            ],
            "image-id": lambda one: one.image_id,
            "instance-id": lambda one: one.instance_id,
            "instance-state-code": lambda one: STATE_CODES[one.state],
            "instance-state-name": lambda one: one.state,
            "instance-type": lambda one: one.instance_type,
            "platform": lambda one: "windows" if one.platform == "Windows" else None,
            "private-ip-address": lambda one: one.private_ip,
            "root-device-name": lambda one: one.root_device,
        }


def _state(name: str) -> Json:
    return {"Code": STATE_CODES[name], "Name": name}


def _mapping(volume: Volume, attachment: Attachment) -> Json:
    return {
        "DeviceName": attachment.device,
        "Ebs": {
            "VolumeId": volume.volume_id,
            "Status": attachment.state,
            "AttachTime": stamp(attachment.attach_time),
            "DeleteOnTermination": attachment.delete_on_termination,
        },
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
