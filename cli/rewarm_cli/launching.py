"""Launches an instance for a restore, with the settings of another instance or of a launch template.

RunInstances accepts no existing volume. So the instance is launched from an image and stopped at once, and a
restore with `target.start` gives it its volumes. Any failure or interruption here terminates the instance.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

Json = dict[str, Any]

TAG = "rewarm:launched-from"
"""Tag of the instance and its image's volumes: the instance or launch template that the settings are from."""
NO_USER_DATA = "#cloud-config\n"
"""A document that does nothing. It also overwrites the user data of a launch template."""
POLL_SECONDS, PATIENCE_SECONDS = 2.0, 600.0
GONE = ("shutting-down", "terminated")
METADATA = (
    "HttpTokens", "HttpPutResponseHopLimit", "HttpEndpoint", "HttpProtocolIpv6", "InstanceMetadataTags",
)  # fmt: skip
NAMES = ("HostnameType", "EnableResourceNameDnsARecord", "EnableResourceNameDnsAAAARecord")
SAME = ("Architecture", "PlatformDetails", "BootMode")
"""A root volume that boots with one value may not boot with another; EC2 takes them from the image."""


class NotLaunchedError(RuntimeError):
    """No instance was launched; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Whose settings to use, and which to change."""

    like: str | None = None
    template: str | None = None
    image: str | None = None
    instance_type: str | None = None
    subnet: str | None = None
    security_groups: Sequence[str] = ()


@dataclass(slots=True)
class Plan:
    """The request of RunInstances, and what else to know."""

    request: Json
    root_device: str
    root_ends: bool
    """Whether the restored root volume is deleted with the instance."""
    left_out: list[str] = field(default_factory=list)
    """Settings of the source that the new instance does not get."""


def plan(ec2: Any, wanted: Wanted) -> Plan:
    """Reads the settings. Raises NotLaunchedError, and what EC2 refuses."""
    source: Json = {}
    if wanted.like is not None:
        source = _described(ec2, wanted.like)
        settings = _settings(source)
        tags = source.get("Tags", [])
        left_out = list(_left_out(source))
        image_id = source["ImageId"]
        mappings = source.get("BlockDeviceMappings", [])
    else:
        named, data = _template(ec2, str(wanted.template))
        settings = {"LaunchTemplate": named}
        left_out = ["user data"] if data.get("UserData") else []
        tags = _tags_of(data)
        image_id = data.get("ImageId")
        mappings = data.get("BlockDeviceMappings", [])
    image = _image(ec2, wanted.image or image_id, source)
    devices = {
        mapping["DeviceName"]: mapping["Ebs"] for mapping in image["BlockDeviceMappings"] if "Ebs" in mapping
    }
    root = image["RootDeviceName"]
    own_root = source.get("RootDeviceName", root)
    ends = {mapping["DeviceName"]: mapping.get("Ebs", {}).get("DeleteOnTermination") for mapping in mappings}
    root_ends = ends.get(own_root)
    return Plan(
        request=_request(wanted, settings, tags, image),
        root_device=root,
        root_ends=devices.get(root, {}).get("DeleteOnTermination", True) if root_ends is None else root_ends,
        left_out=left_out,
    )


def _request(wanted: Wanted, settings: Json, tags: list[Json], image: Json) -> Json:
    """What RunInstances gets: one instance that can be ended, with its root device only."""
    root = image["RootDeviceName"]
    others = [
        mapping["DeviceName"]
        for mapping in image["BlockDeviceMappings"]
        if "Ebs" in mapping and mapping["DeviceName"] != root
    ]
    return {
        **settings,
        **_changes(wanted, settings),
        "ImageId": image["ImageId"],
        "MinCount": 1,
        "MaxCount": 1,
        "UserData": NO_USER_DATA,
        # With either of them the instance could not be stopped or terminated.
        "DisableApiStop": False,
        "DisableApiTermination": False,
        "BlockDeviceMappings": [
            {"DeviceName": root, "Ebs": {"DeleteOnTermination": True}},
            *({"DeviceName": name, "NoDevice": ""} for name in others),
        ],
        "TagSpecifications": _tagged(tags, wanted.like or str(wanted.template)),
    }


def launch(ec2: Any, planned: Plan, token: str, say: Callable[[str], None]) -> Json:
    """Launches and stops the instance, and returns it. The same token never launches a second one.

    Raises NotLaunchedError, and what EC2 refuses; then the instance is terminated.
    """
    try:
        ec2.run_instances(**planned.request, ClientToken=token)
        running = _until(ec2, token, "running")
        instance_id = running["InstanceId"]
        say(f"{instance_id} runs, and is stopped before anything uses it")
        # Its root volume is replaced, so the operating system need not be shut down.
        ec2.stop_instances(InstanceIds=[instance_id], SkipOsShutdown=True)
        stopped = _until(ec2, token, "stopped")
        if not planned.root_ends:
            mapping = {"DeviceName": planned.root_device, "Ebs": {"DeleteOnTermination": False}}
            ec2.modify_instance_attribute(InstanceId=instance_id, BlockDeviceMappings=[mapping])
    except BaseException:
        _terminate(ec2, token, say)
        raise
    return stopped


def pause(seconds: float) -> None:
    """Waits; tests replace this."""
    time.sleep(seconds)


def _until(ec2: Any, token: str, state: str) -> Json:
    waited = 0.0
    while waited <= PATIENCE_SECONDS:
        for found in _of_token(ec2, token):
            if found["State"]["Name"] == state:
                return found
            if found["State"]["Name"] in GONE:
                why = found.get("StateReason", {}).get("Message", "EC2 gives no reason")
                raise NotLaunchedError(f"{found['InstanceId']} is {found['State']['Name']}: {why}")
        pause(POLL_SECONDS)
        waited += POLL_SECONDS
    raise NotLaunchedError(f"the new instance is not {state} after {PATIENCE_SECONDS / 60:.0f} minutes")


def _of_token(ec2: Any, token: str) -> list[Json]:
    """The instances of the token, because the answer with the id may have been lost."""
    found = ec2.describe_instances(Filters=[{"Name": "client-token", "Values": [token]}])["Reservations"]
    return [instance for reservation in found for instance in reservation["Instances"]]


def _terminate(ec2: Any, token: str, say: Callable[[str], None]) -> None:
    """Terminates the instance with its volumes, and names what is left."""
    names = f"the instance with the client token {token}"
    try:
        for found in _of_token(ec2, token):
            if found["State"]["Name"] in GONE:
                continue
            names = found["InstanceId"]
            with contextlib.suppress(BotoCoreError, ClientError):
                _end_volumes(ec2, found)
            ec2.terminate_instances(InstanceIds=[names])
            say(f"{names} is terminated")
    except (BotoCoreError, ClientError) as error:
        say(f"terminate {names}, if it is there: this could not ({error})")


def _end_volumes(ec2: Any, instance: Json) -> None:
    """Lets all volumes end with the instance, even if the root volume was set to outlive it."""
    staying = [
        {"DeviceName": mapping["DeviceName"], "Ebs": {"DeleteOnTermination": True}}
        for mapping in instance.get("BlockDeviceMappings", [])
        if not mapping["Ebs"]["DeleteOnTermination"]
    ]
    if staying:
        ec2.modify_instance_attribute(InstanceId=instance["InstanceId"], BlockDeviceMappings=staying)


def _described(ec2: Any, instance_id: str) -> Json:
    found = ec2.describe_instances(InstanceIds=[instance_id])["Reservations"]
    if not found:
        raise NotLaunchedError(f"there is no instance {instance_id}")
    return dict(found[0]["Instances"][0])


def _settings(source: Json) -> Json:
    """The settings that DescribeInstances shows, in the form of RunInstances."""
    shown = source.get("Placement", {})
    placement = {key: shown[key] for key in ("GroupId", "PartitionNumber", "Tenancy") if shown.get(key)}
    if not source.get("SubnetId"):
        placement["AvailabilityZone"] = shown["AvailabilityZone"]
    taken = {
        "InstanceType": source["InstanceType"],
        "SubnetId": source.get("SubnetId"),
        "SecurityGroupIds": [group["GroupId"] for group in source.get("SecurityGroups", [])],
        "KeyName": source.get("KeyName"),
        "IamInstanceProfile": _some(source.get("IamInstanceProfile"), ("Arn",)),
        "MetadataOptions": _some(source.get("MetadataOptions"), METADATA),
        "PrivateDnsNameOptions": _some(source.get("PrivateDnsNameOptions"), NAMES),
        "MaintenanceOptions": _some(source.get("MaintenanceOptions"), ("AutoRecovery",)),
        "EnclaveOptions": _some(source.get("EnclaveOptions"), ("Enabled",)),
        "EbsOptimized": source.get("EbsOptimized"),
        "Placement": placement,
    }
    if source.get("Monitoring", {}).get("State") in ("enabled", "pending"):
        taken["Monitoring"] = {"Enabled": True}
    return {key: value for key, value in taken.items() if value not in (None, {}, [])}


def _some(shown: Json | None, names: Sequence[str]) -> Json:
    return {name: shown[name] for name in names if shown and shown.get(name) is not None}


def _left_out(source: Json) -> Iterator[str]:
    yield "user data"
    if source.get("PrivateIpAddress"):
        yield f"the private address {source['PrivateIpAddress']}"
    if len(source.get("NetworkInterfaces", [])) > 1:
        yield "network interfaces but the first"
    if source.get("SourceDestCheck") is False:
        yield "the disabled source/destination check"
    if source.get("InstanceLifecycle"):
        yield f"that it is a {source['InstanceLifecycle']} instance"
    if source.get("HibernationOptions", {}).get("Configured"):
        yield "hibernation"


def _template(ec2: Any, asked: str) -> tuple[Json, Json]:
    """(LaunchTemplate of RunInstances, the version's data); the default version if none is named."""
    name, _, version = asked.partition(":")
    key = "LaunchTemplateId" if name.startswith("lt-") else "LaunchTemplateName"
    answer = ec2.describe_launch_template_versions(
        **{key: name}, Versions=[version or "$Default"], ResolveAlias=True
    )
    found = answer["LaunchTemplateVersions"]
    if not found:
        raise NotLaunchedError(f"there is no version {version or '$Default'} of the launch template {name}")
    data = dict(found[0]["LaunchTemplateData"])
    if "InstanceMarketOptions" in data:
        raise NotLaunchedError(f"{asked} asks for Spot instances or a Capacity Block; EC2 stops few of them")
    # The number, so that a new version made meanwhile changes nothing.
    return {key: name, "Version": str(found[0]["VersionNumber"])}, data


def _tags_of(data: Json) -> list[Json]:
    specifications = data.get("TagSpecifications", [])
    return [
        tag
        for specification in specifications
        if specification.get("ResourceType") == "instance"
        for tag in specification["Tags"]
    ]


def _image(ec2: Any, image_id: str | None, source: Json) -> Json:
    """The image. Raises NotLaunchedError if the source's root volume may not boot with this image."""
    if not image_id:
        raise NotLaunchedError("the launch template has no image: name one with --image")
    try:
        found = ec2.describe_images(ImageIds=[image_id])["Images"]
    except ClientError as error:
        if not error.response["Error"]["Code"].startswith("InvalidAMIID"):
            raise
        found = []
    if not found:
        raise NotLaunchedError(
            f"there is no image {image_id} that this account may use: name another one with --image"
        )
    image = dict(found[0])
    for name in SAME:
        ours = source.get(name)
        theirs = image.get(name)
        if None not in (ours, theirs) and ours != theirs:
            raise NotLaunchedError(f"{image_id} has {name} {theirs}, and {source['InstanceId']} has {ours}")
    return image


def _changes(wanted: Wanted, settings: Json) -> Json:
    changes: Json = {"InstanceType": wanted.instance_type, "SubnetId": wanted.subnet}
    if wanted.security_groups:
        changes["SecurityGroupIds"] = list(wanted.security_groups)
    if wanted.subnet and "Placement" in settings:
        # The subnet decides the zone, and the placement group may be in another zone.
        tenancy = settings["Placement"].get("Tenancy")
        changes["Placement"] = {"Tenancy": tenancy} if tenancy else {}
    return {key: value for key, value in changes.items() if value is not None}


def _tagged(tags: Sequence[Json], origin: str) -> list[Json]:
    """The tags to copy: keys with `aws:` are AWS's own, and those with `rewarm:` belong to the source."""
    kept = [tag for tag in tags if not tag["Key"].startswith(("aws:", "rewarm:"))]
    ours = {"Key": TAG, "Value": origin}
    return [
        {"ResourceType": "instance", "Tags": [*kept, ours]},
        {"ResourceType": "volume", "Tags": [ours]},
    ]
