"""RunInstances with or without a launch template, one instance a call (botocore ec2)."""

from __future__ import annotations

from typing import Any

from local import Json
from local.aws.region.commands.instances import Instances
from local.aws.region.core import Core, new_id, refuse_dry_run
from local.aws.region.errors import ApiError, missing
from local.aws.region.operations import operation
from local.aws.region.resources import Image, Instance
from local.aws.region.tables import Tables
from local.aws.region.volumes import volume_requests
from local.aws.region.volumes.attachments import Attachments
from local.aws.region.volumes.volumes import Volumes

PENDING_SECONDS = 2.0
"""AWS names no time."""
SHOWN = ("EbsOptimized", "IamInstanceProfile", "KeyName", "MetadataOptions", "SubnetId")
"""What DescribeInstances shows as RunInstances got it."""
_OWN = frozenset({"ClientToken", "DryRun", "LaunchTemplate"})


class Launches:
    """Launch templates, and the instances that are launched."""

    def __init__(
        self, core: Core, tables: Tables, volumes: Volumes, attachments: Attachments, instances: Instances
    ) -> None:
        self._core = core
        self._tables = tables
        self._volumes = volumes
        self._attachments = attachments
        self._instances = instances
        self._tokens: dict[str, tuple[Json, str]] = {}

    @operation("ec2", "DescribeLaunchTemplateVersions")
    def describe_launch_template_versions(self, params: Json) -> Json:
        """One version of one template; each has a single one, which is its default."""
        refuse_dry_run(params)
        name, data = self._template(params)
        return {
            "LaunchTemplateVersions": [
                {
                    "LaunchTemplateId": name,
                    "LaunchTemplateName": name,
                    "VersionNumber": 1,
                    "DefaultVersion": True,
                    "LaunchTemplateData": data,
                }
            ]
        }

    @operation("ec2", "RunInstances")
    def run_instances(self, params: Json) -> Json:
        """Launch an instance; the same client token launches it only once."""
        token = params.get("ClientToken")
        asked = {key: value for key, value in params.items() if key not in ("ClientToken", "DryRun")}
        if token in self._tokens:
            before, instance_id = self._tokens[token]
            if before != asked:
                raise ApiError(
                    "IdempotentParameterMismatch",
                    f"The client token '{token}' was used with other parameters",
                )
            return self._answer(self._tables.instance(instance_id))
        instance = self._launch(params)
        if token is not None:
            self._tokens[token] = (asked, instance.instance_id)
        return self._answer(instance)

    def _launch(self, params: Json) -> Instance:
        if (params["MinCount"], params["MaxCount"]) != (1, 1):
            raise ApiError("UnsupportedOperation", "One instance a call is modelled here")
        template = self._template(params["LaunchTemplate"])[1] if params.get("LaunchTemplate") else {}
        wanted = {**template, **{key: value for key, value in params.items() if key not in _OWN}}
        if not wanted.get("ImageId"):
            raise missing("ImageId")
        image = self._tables.images.get(wanted["ImageId"])
        if image is None:
            raise ApiError("InvalidAMIID.NotFound", f"The image id '[{wanted['ImageId']}]' does not exist")
        refuse_dry_run(params)
        instance = self._instance(wanted, image, str(params.get("ClientToken") or ""))
        self._tables.instances[instance.instance_id] = instance
        for device, ebs in _devices(image, wanted.get("BlockDeviceMappings")).items():
            self._attach(instance, device, ebs, _tags(wanted, "volume"))

        def run(_due: float) -> None:
            if instance.state == "pending":
                self._instances.change(instance, "running")

        self._core.at(self._core.now() + PENDING_SECONDS, run)
        return instance

    def _instance(self, wanted: Json, image: Image, token: str) -> Instance:
        shown = {key: wanted[key] for key in SHOWN if key in wanted}
        groups = [{"GroupId": group} for group in wanted.get("SecurityGroupIds") or ()]
        return Instance(
            new_id("i"),
            (wanted.get("Placement") or {}).get("AvailabilityZone") or self._core.settings.zones[0],
            wanted.get("InstanceType") or "m1.small",  # botocore, RunInstances: the default
            image.image_id,
            self._core.now(),
            architecture=image.architecture,
            root_device=image.root_device,
            state="pending",
            client_token=token,
            launched={**shown, **({"SecurityGroups": groups} if groups else {})},
            tags=_tags(wanted, "instance"),
        )

    def _attach(self, instance: Instance, device: str, ebs: Json, tags: dict[str, str]) -> None:
        names = {"SnapshotId": "SnapshotId", "VolumeSize": "Size", "VolumeType": "VolumeType"}
        asked = {name: ebs[key] for key, name in names.items() if ebs.get(key)}
        volume = volume_requests.build({"AvailabilityZone": instance.zone, **asked}, self._core, self._tables)
        volume.tags = dict(tags)
        self._volumes.seed(volume, initialized=volume.snapshot is None)
        card = ebs.get("EbsCardIndex")
        attachment = self._attachments.attach(volume, instance, device, at_once=True, card=card)
        attachment.delete_on_termination = bool(ebs.get("DeleteOnTermination", True))

    def _template(self, named: Json) -> tuple[str, Json]:
        name = named.get("LaunchTemplateId") or named.get("LaunchTemplateName") or ""
        if name not in self._tables.launch_templates:
            raise ApiError("InvalidLaunchTemplateId.NotFound", f"The launch template '{name}' does not exist")
        return name, self._tables.launch_templates[name]

    def _answer(self, instance: Instance) -> Json:
        return {
            "ReservationId": instance.instance_id.replace("i-", "r-"),
            "OwnerId": self._core.settings.account_id,
            "Instances": [self._instances.describe(instance)],
        }


def _devices(image: Image, mappings: list[Json] | None) -> dict[str, Json]:
    """The image's devices, as the request changes them (EC2 user guide, "Block device mappings")."""
    found: dict[str, Any] = {
        one.device: {
            "SnapshotId": one.snapshot_id,
            "VolumeSize": one.size_gib,
            "VolumeType": one.volume_type,
            "DeleteOnTermination": one.delete_on_termination,
        }
        for one in image.devices
    }
    for mapping in mappings or ():
        name = mapping["DeviceName"]
        if "NoDevice" in mapping:
            found.pop(name, None)
        else:
            found[name] = {**found.get(name, {}), **(mapping.get("Ebs") or {})}
    return found


def _tags(wanted: Json, resource_type: str) -> dict[str, str]:
    """Other than most calls, RunInstances tags resources of several types."""
    specifications = wanted.get("TagSpecifications") or ()
    ours = [one for one in specifications if one.get("ResourceType") == resource_type]
    return volume_requests.tags_for(ours, resource_type)
