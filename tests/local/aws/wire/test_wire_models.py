"""Every modelled operation over HTTP with a real boto3 client, held against botocore's output shapes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError
from botocore.model import ListShape, MapShape, Shape, StringShape, StructureShape

from local.aws.region import ImageDevice
from local.aws.wire import client, serve
from tests.local.aws.region.region_lab import INSTANCE, ZONE, Lab

TYPES: dict[str, type | tuple[type, ...]] = {
    "string": str,
    "boolean": bool,
    "integer": int,
    "long": int,
    "float": (int, float),
    "double": (int, float),
    "timestamp": datetime,
    "blob": bytes,
}
DOCUMENT = {
    "schemaVersion": "2.2",
    "parameters": {"device": {"type": "String", "default": "all", "description": "Which volume"}},
    "mainSteps": [
        {"action": "aws:runShellScript", "name": "warm", "inputs": {"runCommand": ["echo {{ device }}"]}}
    ],
}


class Recorded:
    """Clients over HTTP, and the Region's own answers to what they asked."""

    def __init__(self) -> None:
        self.lab = Lab()
        self.answers: list[tuple[str, str, dict[str, Any]]] = []
        call = self.lab.region.call

        def record(service: str, operation: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
            answer = call(service, operation, params)
            self.answers.append((service, operation, answer))
            return answer

        self.lab.region.call = record  # type: ignore[method-assign]
        self.server = serve(self.lab.region)
        self._clients: dict[str, Any] = {}

    def client(self, service: str) -> Any:
        if service not in self._clients:
            make: Any = boto3.Session().client
            self._clients[service] = make(
                service,
                region_name="us-east-1",
                endpoint_url=self.server.url,
                aws_access_key_id="local",
                aws_secret_access_key="local",
                config=Config(retries={"total_max_attempts": 1}, parameter_validation=True),
            )
        return self._clients[service]

    def ask(self, service: str, method: str, **params: Any) -> dict[str, Any]:
        """Call, and hold the answer against the shape and against what the Region said."""
        parsed: dict[str, Any] = getattr(self.client(service), method)(**params)
        parsed.pop("ResponseMetadata")
        parsed = {name: one.read() if hasattr(one, "read") else one for name, one in parsed.items()}
        _, operation, raw = self.answers[-1]
        shape = self.client(service).meta.service_model.operation_model(operation).output_shape
        if shape is None:
            assert raw == {}
            return parsed
        assert list(problems(shape, raw, operation)) == []
        assert comparable(parsed) == comparable(raw), operation
        return parsed


def problems(shape: Shape, value: Any, path: str) -> Iterator[str]:
    """Everything in an answer that the shape does not allow."""
    if isinstance(shape, StructureShape):
        if not isinstance(value, dict):
            yield f"{path} is {value!r}, not a structure"
            return
        for name, item in value.items():
            if name not in shape.members:
                yield f"{path}.{name} is unknown"
            else:
                yield from problems(shape.members[name], item, f"{path}.{name}")
        yield from (f"{path}.{name} is missing" for name in shape.required_members if name not in value)
    elif isinstance(shape, ListShape):
        for index, item in enumerate(value):
            yield from problems(shape.member, item, f"{path}[{index}]")
    elif isinstance(shape, MapShape):
        for key, item in value.items():
            yield from problems(shape.value, item, f"{path}.{key}")
    else:
        yield from scalar_problems(shape, value, path)


def scalar_problems(shape: Shape, value: Any, path: str) -> Iterator[str]:
    expected = TYPES[shape.type_name]
    if not isinstance(value, expected) or (isinstance(value, bool) and shape.type_name != "boolean"):
        yield f"{path} is {value!r}, not a {shape.type_name}"
    if isinstance(shape, StringShape) and shape.enum and value not in shape.enum:
        yield f"{path} is {value!r}, none of {shape.enum}"


def comparable(value: Any) -> Any:
    """An answer without what a protocol does not carry: parts of a second, and empty lists and maps."""
    if isinstance(value, dict):
        items = {key: comparable(item) for key, item in value.items()}
        return {key: item for key, item in items.items() if item not in ([], {})}
    if isinstance(value, list):
        return [comparable(item) for item in value]
    if isinstance(value, datetime):
        return value.astimezone(UTC).replace(microsecond=0)
    return value


@pytest.fixture(scope="module")
def recorded() -> Iterator[Recorded]:
    made = Recorded()
    yield made
    made.server.close()


def walk_ec2(made: Recorded, lab: Lab, snapshot: str) -> None:
    tags = [{"ResourceType": "volume", "Tags": [{"Key": "rewarm", "Value": "<&> é"}]}]
    volume = made.ask(
        "ec2", "create_volume", AvailabilityZone=ZONE, SnapshotId=snapshot, VolumeType="gp3",
        ClientToken="walk", VolumeInitializationRate=300, TagSpecifications=tags, Encrypted=True,
    )["VolumeId"]  # fmt: skip
    lab.wait(2)
    made.ask("ec2", "attach_volume", VolumeId=volume, InstanceId=INSTANCE, Device="/dev/sdf")
    lab.wait(2)
    made.ask("ec2", "describe_volumes", Filters=[{"Name": "tag:rewarm", "Values": ["*"]}])
    made.ask("ec2", "describe_volume_status", VolumeIds=[volume])
    made.ask("ec2", "describe_volume_attribute", VolumeId=volume, Attribute="productCodes")
    kept = {"DeviceName": "/dev/sdf", "Ebs": {"DeleteOnTermination": True}}
    made.ask("ec2", "modify_instance_attribute", InstanceId=INSTANCE, BlockDeviceMappings=[kept])
    made.ask(
        "ec2", "copy_volumes", SourceVolumeId=volume, VolumeType="gp3", Throughput=250, ClientToken="copy",
        TagSpecifications=tags,
    )  # fmt: skip
    made.ask("ec2", "modify_volume", VolumeId=volume, Iops=4_000)
    made.ask("ec2", "describe_volumes_modifications")
    made.ask("ec2", "describe_snapshots", OwnerIds=["self"])
    made.ask("ec2", "describe_snapshot_tier_status")
    made.ask("ec2", "describe_instances", InstanceIds=[INSTANCE])
    made.ask("ec2", "describe_instance_types", InstanceTypes=["m5.large", "m8gn.48xlarge"])
    made.ask("ec2", "describe_images")
    made.ask("ec2", "describe_availability_zones")
    made.ask("ec2", "create_tags", Resources=[volume], Tags=[{"Key": "a", "Value": "b"}])
    made.ask("ec2", "describe_tags", Filters=[{"Name": "resource-id", "Values": [volume]}])
    made.ask("ec2", "delete_tags", Resources=[volume], Tags=[{"Key": "a"}])
    made.ask(
        "ec2", "create_snapshot", VolumeId=volume, Description="of now",
        TagSpecifications=[{"ResourceType": "snapshot", "Tags": [{"Key": "a", "Value": "b"}]}],
    )  # fmt: skip
    made.ask(
        "ec2", "copy_snapshot", SourceRegion="eu-west-1", CompletionDurationMinutes=15,
        SourceSnapshotId=lab.region.neighbour("eu-west-1").add_snapshot(size_gib=8),
    )  # fmt: skip
    made.ask("ec2", "detach_volume", VolumeId=volume, InstanceId=INSTANCE)
    lab.wait(2)
    made.ask("ec2", "delete_volume", VolumeId=volume)


def walk_fast_restore_and_archive(made: Recorded, lab: Lab, snapshot: str) -> None:
    pair = {"SourceSnapshotIds": [snapshot, "snap-0000000000000dead"], "AvailabilityZones": [ZONE]}
    answer = made.ask("ec2", "enable_fast_snapshot_restores", **pair)
    assert (len(answer["Successful"]), len(answer["Unsuccessful"])) == (1, 1)
    lab.wait(7_200)
    shown = made.ask("ec2", "describe_fast_snapshot_restores", MaxResults=1)["FastSnapshotRestores"]
    assert shown[0]["State"] == "enabled"
    made.ask("ec2", "disable_fast_snapshot_restores", **pair)
    archived = lab.snapshot(storage_tier="archive")
    made.ask("ec2", "restore_snapshot_tier", SnapshotId=archived, TemporaryRestoreDays=3)
    made.ask("ec2", "describe_snapshot_tier_status")
    made.ask("ec2", "delete_snapshot", SnapshotId=lab.snapshot())
    deleted = lab.snapshot()
    lab.region.delete_snapshot(deleted)
    made.ask("ec2", "list_snapshots_in_recycle_bin", MaxResults=5)
    made.ask("ec2", "restore_snapshot_from_recycle_bin", SnapshotId=deleted)


def walk_instances(made: Recorded) -> None:
    other = made.lab.region.add_instance(platform="Windows")
    for method in ("stop_instances", "start_instances", "reboot_instances", "describe_instance_status"):
        made.ask("ec2", method, InstanceIds=[other])
    warm = made.lab.region.add_volume(size_gib=8)
    made.ask("ec2", "create_replace_root_volume_task", InstanceId=other, VolumeId=warm, ClientToken="root")
    made.lab.wait(100)
    made.ask("ec2", "describe_replace_root_volume_tasks")
    made.ask("ec2", "terminate_instances", InstanceIds=[other])


def walk_ssm(made: Recorded, lab: Lab) -> None:
    content = json.dumps(DOCUMENT)
    made.ask(
        "ssm", "create_document", Name="Warm", Content=content, DocumentType="Command", DocumentFormat="JSON"
    )
    newer = json.dumps({**DOCUMENT, "description": "newer"})
    made.ask("ssm", "update_document", Name="Warm", Content=newer, DocumentVersion="$LATEST")
    made.ask("ssm", "update_document_default_version", Name="Warm", DocumentVersion="2")
    made.ask("ssm", "describe_document", Name="Warm")
    tagged = {"ResourceType": "Document", "ResourceId": "Warm"}
    made.ask("ssm", "add_tags_to_resource", **tagged, Tags=[{"Key": "rewarm:hooks", "Value": "rewarm"}])
    made.ask("ssm", "list_tags_for_resource", **tagged)
    made.ask("ssm", "get_document", Name="Warm", DocumentFormat="YAML")
    command = made.ask(
        "ssm", "send_command", DocumentName="Warm", InstanceIds=[INSTANCE], Parameters={"device": ["vol-1"]},
        TimeoutSeconds=60, CloudWatchOutputConfig={"CloudWatchOutputEnabled": True},
    )["Command"]["CommandId"]  # fmt: skip
    lab.wait(2)
    got = made.ask("ssm", "get_command_invocation", CommandId=command, InstanceId=INSTANCE, PluginName="warm")
    assert got["Status"] == "Success"
    made.ask("ssm", "list_commands", CommandId=command)
    made.ask("ssm", "list_command_invocations", CommandId=command, Details=True)
    made.ask("ssm", "cancel_command", CommandId=command)
    made.ask("ssm", "describe_instance_information", Filters=[{"Key": "InstanceIds", "Values": [INSTANCE]}])
    made.ask("ssm", "delete_document", Name="Warm")
    lab.region.add_parameter("/rewarm/x", "1")
    made.ask("ssm", "get_parameter", Name="/rewarm/x")
    made.ask("ssm", "get_parameters", Names=["/rewarm/x", "/none"])


def walk_others(made: Recorded, snapshot: str) -> None:
    job = made.lab.region.restore_jobs.add("vol-0123456789abcdef0")["restoreJobId"]
    made.ask("backup", "describe_restore_job", RestoreJobId=job)
    made.ask(
        "backup", "put_restore_validation_result", RestoreJobId=job, ValidationStatus="SUCCESSFUL",
        ValidationStatusMessage="at full speed",
    )  # fmt: skip
    page = made.ask("ebs", "list_snapshot_blocks", SnapshotId=snapshot, MaxResults=100, StartingBlockIndex=5)
    made.ask("ebs", "list_snapshot_blocks", SnapshotId=snapshot, MaxResults=100, NextToken=page["NextToken"])
    grown = made.lab.snapshot(data_gib=2, lineage=snapshot)
    (first, *_) = made.ask("ebs", "list_changed_blocks", FirstSnapshotId=snapshot, SecondSnapshotId=grown)[
        "ChangedBlocks"
    ]
    made.ask(
        "ebs", "get_snapshot_block", SnapshotId=grown, BlockIndex=first["BlockIndex"],
        BlockToken=first["SecondBlockToken"],
    )  # fmt: skip
    made.ask(
        "pricing", "get_products", ServiceCode="AmazonEC2", MaxResults=5,
        Filters=[{"Type": "TERM_MATCH", "Field": "volumeApiName", "Value": "gp3"}],
    )  # fmt: skip
    made.ask("service-quotas", "get_service_quota", ServiceCode="ebs", QuotaCode="L-A37D9CF3")
    made.ask("service-quotas", "list_service_quotas", ServiceCode="ebs")
    made.ask("dlm", "get_lifecycle_policies", State="ENABLED")
    made.ask("kms", "describe_key", KeyId="alias/aws/ebs")
    made.lab.wait(300)
    wanted = [{"AttributeKey": "EventName", "AttributeValue": "ModifyVolume"}]
    assert made.ask("cloudtrail", "lookup_events", LookupAttributes=wanted, MaxResults=5)["Events"]


def walk_launches(made: Recorded, image: str) -> None:
    tags = [{"ResourceType": "instance", "Tags": [{"Key": "Name", "Value": "new"}]}]
    data = {"ImageId": image, "KeyName": "ops", "TagSpecifications": tags}
    made.lab.region.add_launch_template("lt-0123456789abcdef0", data)
    made.ask("ec2", "describe_launch_template_versions", LaunchTemplateId="lt-0123456789abcdef0")
    template = {"LaunchTemplateId": "lt-0123456789abcdef0"}
    params = {
        "IamInstanceProfile": {"Arn": "arn:aws:iam::123456789012:instance-profile/app"},
        "SecurityGroupIds": ["sg-1"],
        "SubnetId": "subnet-1",
    }
    params |= {
        "MetadataOptions": {"HttpTokens": "required"},
        "UserData": "#cloud-config",
        "EbsOptimized": True,
    }
    made.ask(
        "ec2", "run_instances", LaunchTemplate=template, MinCount=1, MaxCount=1, ClientToken="t", **params
    )


def test_every_operation_answers_in_its_output_shape(recorded: Recorded) -> None:
    lab = recorded.lab
    lab.instance(tags={"Name": "db"})
    snapshot = lab.snapshot(tags={"Name": "nightly"}, description="<nightly> & more")
    image = lab.region.add_image(name="golden", devices=[ImageDevice("/dev/sdf", snapshot, 8)])
    walk_ec2(recorded, lab, snapshot)
    walk_fast_restore_and_archive(recorded, lab, snapshot)
    walk_instances(recorded)
    walk_launches(recorded, image)
    walk_ssm(recorded, lab)
    walk_others(recorded, snapshot)
    answered = {(service, operation) for service, operation, _ in recorded.answers}
    assert set(lab.region.operations) - answered == {("backup", "DescribeProtectedResource")}


def test_no_volume_is_protected_by_a_backup_plan(recorded: Recorded) -> None:
    arn = "arn:aws:ec2:us-east-1:123456789012:volume/vol-0123456789abcdef0"
    with pytest.raises(ClientError, match="ResourceNotFoundException"):
        recorded.ask("backup", "describe_protected_resource", ResourceArn=arn)


def test_the_check_itself_finds_what_is_wrong(recorded: Recorded) -> None:
    shape = recorded.client("ec2").meta.service_model.operation_model("DescribeVolumes").output_shape
    wrong = {"Volumes": [{"Size": "8", "State": "ready", "Colour": "red"}]}
    assert list(problems(shape, wrong, "x")) == [
        "x.Volumes[0].Size is '8', not a integer",
        f"x.Volumes[0].State is 'ready', none of {shape.members['Volumes'].member.members['State'].enum}",
        "x.Volumes[0].Colour is unknown",
    ]


def test_paginators_and_waiters_work(recorded: Recorded) -> None:
    lab, ec2 = recorded.lab, recorded.client("ec2")
    made = {ec2.create_volume(AvailabilityZone=ZONE, Size=1)["VolumeId"] for _ in range(11)}
    lab.wait(2)
    ec2.get_waiter("volume_available").wait(
        VolumeIds=sorted(made), WaiterConfig={"Delay": 1, "MaxAttempts": 1}
    )
    pages = ec2.get_paginator("describe_volumes").paginate(
        Filters=[{"Name": "volume-id", "Values": sorted(made)}], PaginationConfig={"PageSize": 5}
    )
    assert {one["VolumeId"] for page in pages for one in page["Volumes"]} == made


def test_the_date_is_lab_time_and_the_request_has_an_id(recorded: Recorded) -> None:
    answer = recorded.client("ec2").describe_volumes()["ResponseMetadata"]
    lab_time = datetime.fromtimestamp(recorded.lab.clock.now(), UTC)
    assert answer["HTTPHeaders"]["date"] == lab_time.strftime("%a, %d %b %Y %H:%M:%S GMT")
    assert len(answer["RequestId"]) == 36


def test_a_client_without_a_network_gets_the_same_answers(recorded: Recorded) -> None:
    near = client(recorded.lab.region, "ec2").describe_snapshots()["Snapshots"]
    assert near == recorded.client("ec2").describe_snapshots()["Snapshots"]
