"""Instances: shown, stopped, started and terminated (botocore ec2)."""

from __future__ import annotations

from local import Json
from local.aws.region.core import Core, refuse_dry_run, stamp
from local.aws.region.errors import ApiError, not_together
from local.aws.region.filters import Getter, keep_matching, page, tag_list
from local.aws.region.operations import operation
from local.aws.region.resources import Attachment, Instance, Volume
from local.aws.region.tables import Tables
from local.aws.region.volumes.attachments import Attachments
from local.aws.region.volumes.volumes import Volumes

STATE_CODES = {
    "pending": 0,
    "running": 16,
    "shutting-down": 32,
    "terminated": 48,
    "stopping": 64,
    "stopped": 80,
}


class Instances:
    """What runs, and which volumes it has."""

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
                "ReservationId": item.instance_id.replace("i-", "r-"),
                "OwnerId": account,
                "Groups": [],
                "Instances": [self.describe(item)],
            }
            for item in items
        ]
        return {"Reservations": reservations, "NextToken": token}

    @operation("ec2", "DescribeInstanceStatus")
    def describe_instance_status(self, params: Json) -> Json:
        """Status checks of running instances, of others only where all are asked for."""
        refuse_dry_run(params)
        wanted, everything = params.get("InstanceIds"), params.get("IncludeAllInstances")
        items = (
            [self._tables.instance(one) for one in wanted]
            if wanted
            else list(self._tables.instances.values())
        )
        items = [item for item in items if everything or item.state == "running"]
        items = keep_matching(items, params.get("Filters"), self._filters(), lambda one: one.tags)
        items, token = page(items, params, scope="instance-status", low=self._core.settings.minimum_page)
        return {"InstanceStatuses": [self._status(item) for item in items], "NextToken": token}

    @operation("ec2", "StopInstances")
    def stop_instances(self, params: Json) -> Json:
        """Stop instances: their commands end, their volumes stay attached."""
        instances = self._named(params)
        refuse_dry_run(params)
        at_once = bool(params.get("SkipOsShutdown"))
        return {"StoppingInstances": [self._stop(instance, at_once=at_once) for instance in instances]}

    @operation("ec2", "StartInstances")
    def start_instances(self, params: Json) -> Json:
        """Start stopped instances; each needs its root volume."""
        instances = self._named(params)
        for instance in instances:
            self._check_startable(instance)
        refuse_dry_run(params)
        return {"StartingInstances": [self.change(instance, "running") for instance in instances]}

    @operation("ec2", "RebootInstances")
    def reboot_instances(self, params: Json) -> Json:
        """Reboot instances: what runs on them ends, their volumes stay; they are away for a while."""
        instances = self._named(params)
        refuse_dry_run(params)
        for instance in instances:
            if instance.state == "running":
                self.reboot(instance)
        return {}

    @operation("ec2", "TerminateInstances")
    def terminate_instances(self, params: Json) -> Json:
        """End instances; volumes marked DeleteOnTermination go with them, the others become available."""
        instances = self._named(params)
        refuse_dry_run(params)
        return {"TerminatingInstances": [self._terminate(instance) for instance in instances]}

    def reboot(self, instance: Instance) -> None:
        """What runs on it ends; it is back after its boot."""
        instance_id, plane = instance.instance_id, self._core.dataplane
        nvme = self._tables.has_nvme(instance)
        back = instance.online_at = self._core.now() + self._core.settings.boot_seconds
        self._core.later(lambda: plane.stop_instance(instance_id))

        def start(_due: float) -> None:
            if instance.state == "running" and instance.online_at == back:
                self._core.later(lambda: plane.start_instance(instance_id, nvme=nvme))

        self._core.at(back, start)

    def _named(self, params: Json) -> list[Instance]:
        instances = [self._tables.instance(instanceId) for instanceId in params["InstanceIds"]]
        for instance in instances:
            if instance.state == "terminated":
                raise ApiError(
                    "IncorrectInstanceState", f"The instance '{instance.instance_id}' is 'terminated'"
                )
        return instances

    def _check_startable(self, instance: Instance) -> None:
        if instance.state == "stopping":
            # The wording is known from public reports, not from AWS's documentation; below, too.
            raise ApiError(
                "IncorrectInstanceState",
                f"The instance '{instance.instance_id}' is not in a state from which it can be started.",
            )
        devices = {attachment.device for _, attachment in self._attached(instance)}
        if instance.state == "stopped" and instance.root_device not in devices:
            raise ApiError(
                self._core.settings.rootless_error_code,
                f"Invalid value '{instance.instance_id}' for instanceId. Instance does not have a volume "
                f"attached at root ({instance.root_device})",
            )

    def _stop(self, instance: Instance, *, at_once: bool) -> Json:
        """`stopping` until the operating system is down, unless that is skipped."""
        seconds = self._core.settings.stop_seconds
        if instance.state != "running" or not seconds or at_once:
            return self.change(instance, "stopped")
        answer = self.change(instance, "stopping")

        def stopped(_due: float) -> None:
            if instance.state == "stopping":
                instance.state = "stopped"
                self._notify(instance)

        self._core.at(self._core.now() + seconds, stopped)
        return answer

    def _status(self, one: Instance) -> Json:
        """System, instance and attached volumes (botocore: ec2 InstanceStatus)."""
        names = {"SystemStatus": "system", "InstanceStatus": "instance", "AttachedEbsStatus": "volumes"}
        return {
            "InstanceId": one.instance_id,
            "AvailabilityZone": one.zone,
            "AvailabilityZoneId": self._core.settings.zone_id(one.zone),
            "InstanceState": _state(one.state),
            "Events": [],
            **{member: self._check_result(one, name) for member, name in names.items()},
        }

    def _check_result(self, one: Instance, name: str) -> Json:
        status, detail = "ok", "passed"
        if one.state != "running":
            return {"Status": "not-applicable"}
        if self._core.now() < one.checked_at:
            status, detail = "initializing", "initializing"
        elif one.impaired == name:
            status, detail = "impaired", "failed"
        return {"Status": status, "Details": [{"Name": "reachability", "Status": detail}]}

    def change(self, instance: Instance, state: str) -> Json:
        """Bring the instance into a state, and return what EC2 says of that."""
        before, instance.state = instance.state, state
        instance_id = instance.instance_id
        if state != before:
            self._notify(instance)
            running = state == "running"
            instance.online_at = self._core.now() + self._core.settings.boot_seconds
            if running:
                instance.launch_time = self._core.now()
                instance.checked_at = self._core.now() + self._core.settings.status_check_seconds
            plane, nvme = self._core.dataplane, self._tables.has_nvme(instance)
            self._core.later(
                lambda: (
                    plane.start_instance(instance_id, nvme=nvme)
                    if running
                    else plane.stop_instance(instance_id)
                )
            )
        return {"InstanceId": instance_id, "CurrentState": _state(state), "PreviousState": _state(before)}

    def _notify(self, instance: Instance) -> None:
        detail = {"instance-id": instance.instance_id, "state": instance.state}
        resources = [self._core.arn(f"instance/{instance.instance_id}")]
        self._core.emit("EC2 Instance State-change Notification", detail, resources)

    def _terminate(self, instance: Instance) -> Json:
        answer = self.change(instance, "terminated")
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
            self._attachments.leave(volume, attachment)
            self._volumes.delete(volume)
        return answer

    def _attached(self, instance: Instance) -> list[tuple[Volume, Attachment]]:
        return [
            (volume, volume.attachments[instance.instance_id])
            for volume in self._tables.volumes.values()
            if instance.instance_id in volume.attachments
        ]

    def describe(self, one: Instance) -> Json:
        """Shape Instance of botocore."""
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
            "ClientToken": one.client_token,
            **one.launched,
            "Tags": tag_list(one.tags),
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
            "client-token": lambda one: one.client_token,
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
            **({} if attachment.card is None else {"EbsCardIndex": attachment.card}),
        },
    }
