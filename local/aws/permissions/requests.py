"""What each operation needs: one table from operation to actions, resources and condition keys.

Service Authorization Reference, and the sources beside each entry. The context has the condition keys that
policies here use: tags of the request and of resources, `ec2:CreateAction`, `dynamodb:LeadingKeys`,
`events:source` and those of KMS.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from local import Json
from local.aws.permissions import reference
from local.aws.permissions.conditions import of_tags
from local.aws.permissions.policies import Need

PREFIXES = {"stepfunctions": "states", "service-quotas": "servicequotas"}
"""botocore's names of services where IAM has another."""
EBS_KEY_ACTIONS = (
    "kms:CreateGrant",
    "kms:Decrypt",
    "kms:DescribeKey",
    "kms:GenerateDataKeyWithoutPlaintext",
    "kms:ReEncryptFrom",
    "kms:ReEncryptTo",
)
"""EBS user guide, "Requirements for Amazon EBS encryption"; it does not say which call needs which."""
AWS_MANAGED_KEY = "alias/aws/ebs"
"""EBS user guide, "How Amazon EBS encryption works": who may use EBS may use this key."""
EC2_KINDS = {"vol": "volume", "snap": "snapshot", "i": "instance", "ami": "image"}
OWNERLESS = {"snapshot", "image"}
"""Kinds whose ARNs have no account (Service Authorization Reference, "Amazon EC2", resource types)."""
HASH_KEYS = ("pk", "id")
"""Partition keys of the stack's two tables."""


class State(Protocol):
    """What the Region knows that a request does not say."""

    def tags(self, resource_id: str) -> Mapping[str, str]:
        """Tags of a volume, snapshot, instance or document; none where there is no such thing."""

    def key(self, resource_id: str) -> str | None:
        """The ARN of the KMS key of an encrypted snapshot or volume."""

    def volume_at(self, instance_id: str, device: str) -> str | None:
        """The volume at a device."""

    def volumes_of(self, instance_id: str) -> list[str]:
        """The volumes that are attached to an instance."""

    def instance_of(self, volume_id: str) -> str | None:
        """The instance that a volume is attached to."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where the calls are made."""

    account: str
    region: str
    partition: str = "aws"

    def arn(self, service: str, resource: str, *, region: bool = True, account: bool = True) -> str:
        """An ARN of this place."""
        where, owner = self.region if region else "", self.account if account else ""
        return f"arn:{self.partition}:{service}:{where}:{owner}:{resource}"

    def ec2(self, resource_id: str) -> str:
        """The ARN of a volume, snapshot, instance or image by its id."""
        kind = EC2_KINDS[resource_id.partition("-")[0]]
        return self.arn("ec2", f"{kind}/{resource_id}", account=kind not in OWNERLESS)

    @property
    def new_volume(self) -> str:
        """A volume that is to be created has no id."""
        return self.arn("ec2", "volume/*")

    @property
    def new_snapshot(self) -> str:
        """A snapshot's ARN has no account (Service Authorization Reference)."""
        return self.ec2("snap-*")


@dataclass(frozen=True, slots=True)
class Asked:
    """One call: its parameters in botocore's shapes."""

    service: str
    operation: str
    params: Json
    place: Place
    state: State

    @property
    def action(self) -> str:
        """The action of the same name."""
        return f"{PREFIXES.get(self.service, self.service)}:{self.operation}"

    def tagged(self, resource_id: str, **context: object) -> Need:
        """The operation's action on an EC2 resource, with its tags."""
        return Need(self.action, self.place.ec2(resource_id), self.tags_of(resource_id) | context)  # type: ignore[arg-type]

    def tags_of(self, resource_id: str) -> dict[str, str | Sequence[str]]:
        """Condition keys of a resource's tags."""
        return of_tags("aws:resourcetag", self.state.tags(resource_id))


Needs = Callable[[Asked], Iterator[Need]]
_TABLE: dict[tuple[str, str], Needs] = {}
_ARN_PARAMETERS = {
    ("stepfunctions", "StartExecution"): "stateMachineArn",
    ("stepfunctions", "ListExecutions"): "stateMachineArn",
    ("stepfunctions", "DescribeExecution"): "executionArn",
    ("stepfunctions", "StopExecution"): "executionArn",
    ("sns", "Publish"): "TopicArn",
    ("secretsmanager", "GetSecretValue"): "SecretId",
    ("cloudformation", "DescribeStacks"): "StackName",
    ("iam", "SimulatePrincipalPolicy"): "PolicySourceArn",
    ("arc-region-switch", "ListPlanExecutions"): "planArn",
}
"""Operations on one resource, with the parameter that has its ARN."""


def needs(asked: Asked) -> list[Need]:
    """All of them must be allowed. An operation that is not in the table needs its own action on `*`."""
    operation = (asked.service, asked.operation)
    if operation in _TABLE:
        return list(_TABLE[operation](asked))
    parameter = _ARN_PARAMETERS.get(operation)
    return [Need(asked.action, asked.params[parameter] if parameter else reference.NO_RESOURCE)]


def _of(service: str, *operations: str) -> Callable[[Needs], Needs]:
    def add(needs_of: Needs) -> Needs:
        for operation in operations:
            _TABLE[service, operation] = needs_of
        return needs_of

    return add


# ------------------------------------------------------------------------------------------------------- EC2
@_of("ec2", "DeleteVolume", "ModifyVolume", "DescribeVolumeAttribute")
def _volume(asked: Asked) -> Iterator[Need]:
    yield asked.tagged(asked.params["VolumeId"])


@_of("ec2", "AttachVolume")
def _attach(asked: Asked) -> Iterator[Need]:
    yield asked.tagged(asked.params["VolumeId"])
    yield asked.tagged(asked.params["InstanceId"])
    # EBS user guide, "How Amazon EBS encryption works": EC2 sends CreateGrant when the volume is attached.
    key = asked.state.key(asked.params["VolumeId"])
    yield from _through_ec2(asked, key, ("kms:CreateGrant",))


@_of("ec2", "DetachVolume")
def _detach(asked: Asked) -> Iterator[Need]:
    volume_id = asked.params["VolumeId"]
    yield asked.tagged(volume_id)
    instance_id = asked.params.get("InstanceId") or asked.state.instance_of(volume_id)
    if instance_id:
        yield asked.tagged(instance_id)


@_of("ec2", "StartInstances", "StopInstances")
def _instances(asked: Asked) -> Iterator[Need]:
    for instance_id in asked.params["InstanceIds"]:
        yield asked.tagged(instance_id)
        volumes = asked.state.volumes_of(instance_id) if asked.operation == "StartInstances" else ()
        for key in dict.fromkeys(asked.state.key(volume_id) for volume_id in volumes):
            # EBS user guide, "How Amazon EBS encryption works": whoever starts the instance grants the key.
            yield from _through_ec2(asked, key, ("kms:CreateGrant",))


@_of("ec2", "ModifyInstanceAttribute")
def _modify_instance(asked: Asked) -> Iterator[Need]:
    """AWS does not document when the volume counts, which the action supports; here for block devices."""
    instance_id = asked.params["InstanceId"]
    yield asked.tagged(instance_id)
    for mapping in asked.params.get("BlockDeviceMappings", []):
        volume_id = asked.state.volume_at(instance_id, mapping["DeviceName"])
        if volume_id is not None:
            yield asked.tagged(volume_id)


@_of("ec2", "CreateReplaceRootVolumeTask")
def _replace_root(asked: Asked) -> Iterator[Need]:
    """The instance, the task and, where it is named, the volume; the key as for AttachVolume."""
    yield asked.tagged(asked.params["InstanceId"])
    yield from _new(asked, asked.place.arn("ec2", "replace-root-volume-task/*"), "replace-root-volume-task")
    volume_id = asked.params.get("VolumeId")
    if volume_id:
        yield asked.tagged(volume_id)
        yield from _through_ec2(asked, asked.state.key(volume_id), ("kms:CreateGrant",))


@_of("ec2", "EnableFastSnapshotRestores", "DisableFastSnapshotRestores")
def _fast_restores(asked: Asked) -> Iterator[Need]:
    for snapshot_id in asked.params["SourceSnapshotIds"]:
        yield asked.tagged(snapshot_id)


@_of("ec2", "CreateTags", "DeleteTags")
def _tags(asked: Asked) -> Iterator[Need]:
    given = asked.params.get("Tags", [])
    for resource_id in asked.params["Resources"]:
        yield asked.tagged(resource_id, **_request_tags(given))


@_of("ec2", "CreateVolume")
def _create_volume(asked: Asked) -> Iterator[Need]:
    yield from _new_volume(asked)
    snapshot_id = asked.params.get("SnapshotId")
    source = None
    if snapshot_id:
        yield asked.tagged(snapshot_id)
        source = asked.state.key(snapshot_id)
    yield from _encryption(asked, source)


@_of("ec2", "CreateSnapshot")
def _create_snapshot(asked: Asked) -> Iterator[Need]:
    yield asked.tagged(asked.params["VolumeId"])
    yield from _new(asked, asked.place.new_snapshot, "snapshot")


@_of("ec2", "CopySnapshot")
def _copy_snapshot(asked: Asked) -> Iterator[Need]:
    """Permissions are for the new snapshot, not for the source (Service Authorization Reference)."""
    yield from _new(asked, asked.place.new_snapshot, "snapshot")
    yield from _encryption(asked, asked.state.key(asked.params["SourceSnapshotId"]))


@_of("ec2", "DeleteSnapshot")
def _delete_snapshot(asked: Asked) -> Iterator[Need]:
    yield asked.tagged(asked.params["SnapshotId"])


@_of("ec2", "CopyVolumes")
def _copy_volumes(asked: Asked) -> Iterator[Need]:
    """The tags of the request are those of the copy."""
    yield from _new_volume(asked)
    source_id = asked.params["SourceVolumeId"]
    yield Need(asked.action, asked.place.ec2(source_id))
    yield from _encryption(asked, asked.state.key(source_id))


def _new_volume(asked: Asked) -> Iterator[Need]:
    yield from _new(asked, asked.place.new_volume, "volume")


def _new(asked: Asked, arn: str, kind: str) -> Iterator[Need]:
    tags = [
        tag
        for specification in asked.params.get("TagSpecifications", [])
        if specification.get("ResourceType") == kind
        for tag in specification.get("Tags", [])
    ]
    context = _request_tags(tags)
    yield Need(asked.action, arn, context)
    if tags:
        # EC2 user guide, "Grant permission to tag Amazon EC2 resources during creation".
        yield Need("ec2:CreateTags", arn, context | {"ec2:createaction": asked.operation})


def _request_tags(tags: list[Json]) -> dict[str, str | Sequence[str]]:
    named = of_tags("aws:requesttag", {tag["Key"]: tag["Value"] for tag in tags if "Value" in tag})
    return named | {"aws:tagkeys": tuple(sorted(tag["Key"] for tag in tags))}


def _encryption(asked: Asked, source_key: str | None) -> Iterator[Need]:
    wanted = asked.params.get("KmsKeyId")
    own = None if wanted is None else wanted if wanted.startswith("arn:") else _key_arn(asked, wanted)
    for key in dict.fromkeys((source_key, own)):
        yield from _through_ec2(asked, key, EBS_KEY_ACTIONS)


def _through_ec2(asked: Asked, key: str | None, actions: tuple[str, ...]) -> Iterator[Need]:
    """EC2 calls KMS in the caller's name (KMS developer guide, "kms:ViaService")."""
    if key is None or key.endswith(AWS_MANAGED_KEY):
        return
    via = {"kms:viaservice": f"ec2.{key.split(':')[3]}.amazonaws.com"}
    for action in actions:
        grant = {"kms:grantisforawsresource": "true"} if action == "kms:CreateGrant" else {}
        yield Need(action, key, via | grant)


def _key_arn(asked: Asked, key_id: str) -> str:
    """AWS authorizes a call by an alias on its key, which only KMS knows."""
    name = "*" if key_id.startswith("alias/") else key_id
    return asked.place.arn("kms", f"key/{name}")


# ------------------------------------------------------------------------------------- EBS direct APIs, KMS
@_of("ebs", "ListSnapshotBlocks", "ListChangedBlocks", "GetSnapshotBlock")
def _read_blocks(asked: Asked) -> Iterator[Need]:
    """EBS user guide, "Control access to EBS direct APIs using IAM"."""
    for name in ("SnapshotId", "FirstSnapshotId", "SecondSnapshotId"):
        snapshot_id = asked.params.get(name)
        if snapshot_id:
            yield asked.tagged(snapshot_id)
            yield from _through_ec2(asked, asked.state.key(snapshot_id), ("kms:Decrypt",))


@_of("kms", "DescribeKey")
def _describe_key(asked: Asked) -> Iterator[Need]:
    key = asked.params["KeyId"]
    if key.endswith(AWS_MANAGED_KEY):
        key = "*"
    yield Need(asked.action, key if key.startswith("arn:") else _key_arn(asked, key))


# ------------------------------------------------------------------------------------------- Systems Manager
@_of("ssm", "SendCommand")
def _send_command(asked: Asked) -> Iterator[Need]:
    yield _on_document(asked, asked.params["DocumentName"])
    for instance_id in asked.params.get("InstanceIds", []):
        yield asked.tagged(instance_id)


@_of("ssm", "DescribeDocument")
def _describe_document(asked: Asked) -> Iterator[Need]:
    yield _on_document(asked, asked.params["Name"])


@_of("ssm", "ListTagsForResource")
def _list_tags_for_resource(asked: Asked) -> Iterator[Need]:
    yield _on_document(asked, asked.params["ResourceId"])


def _on_document(asked: Asked, name: str) -> Need:
    return Need(asked.action, asked.place.arn("ssm", f"document/{name}"), asked.tags_of(name))


# -------------------------------------------------------------------------------------------------- DynamoDB
@_of("dynamodb", "GetItem", "UpdateItem", "DeleteItem")
def _item(asked: Asked) -> Iterator[Need]:
    yield _on_table(asked, asked.params["TableName"], [asked.params["Key"]])


@_of("dynamodb", "PutItem")
def _put_item(asked: Asked) -> Iterator[Need]:
    yield _on_table(asked, asked.params["TableName"], [asked.params["Item"]])


@_of("dynamodb", "BatchGetItem")
def _batch_get_item(asked: Asked) -> Iterator[Need]:
    for table, wanted in asked.params["RequestItems"].items():
        yield _on_table(asked, table, wanted["Keys"])


@_of("dynamodb", "Query")
def _query(asked: Asked) -> Iterator[Need]:
    """DynamoDB developer guide, "Using IAM policy conditions": the leading key of an index is its own.

    The roles here have no condition for it.
    """
    table, index = asked.params["TableName"], asked.params.get("IndexName")
    place = f"table/{table}/index/{index}" if index else f"table/{table}"
    yield Need(asked.action, asked.place.arn("dynamodb", place))


def _on_table(asked: Asked, table: str, items: list[Json]) -> Need:
    keys = sorted({_text(item[name]) for item in items for name in HASH_KEYS if name in item})
    return Need(
        asked.action, asked.place.arn("dynamodb", f"table/{table}"), {"dynamodb:leadingkeys": tuple(keys)}
    )


def _text(value: object) -> str:
    """A client takes `{"S": "x"}`, and a resource `x`."""
    return str(value["S"] if isinstance(value, dict) else value)


# -------------------------------------------------------------------------------------------------------- S3
@_of("s3", "GetObject", "HeadObject")
def _get_object(asked: Asked) -> Iterator[Need]:
    yield _on_object(asked, "s3:GetObject")


@_of("s3", "PutObject", "CreateMultipartUpload", "UploadPart", "CompleteMultipartUpload")
def _put_object(asked: Asked) -> Iterator[Need]:
    """S3 user guide, "Multipart upload API and permissions"."""
    yield _on_object(asked, "s3:PutObject")


@_of("s3", "AbortMultipartUpload", "DeleteObject")
def _other_object(asked: Asked) -> Iterator[Need]:
    yield _on_object(asked, asked.action)


@_of("s3", "DeleteObjects")
def _delete_objects(asked: Asked) -> Iterator[Need]:
    for one in asked.params["Delete"]["Objects"]:
        yield _on_object(asked, "s3:DeleteObject", one["Key"])


@_of("s3", "ListObjectsV2", "ListObjects")
def _list_objects(asked: Asked) -> Iterator[Need]:
    yield listing(asked)


def listing(asked: Asked) -> Need:
    """Without it S3 answers for an object that is not there with 403 and not 404 (S3 API, GetObject)."""
    bucket = asked.place.arn("s3", asked.params["Bucket"], region=False, account=False)
    return Need("s3:ListBucket", bucket)


def _on_object(asked: Asked, action: str, key: str = "") -> Need:
    name = f"{asked.params['Bucket']}/{key or asked.params['Key']}"
    return Need(action, asked.place.arn("s3", name, region=False, account=False))


# --------------------------------------------------------------------------- Step Functions, messages, more
@_of("execute-api", "Invoke")
def _invoke_api(asked: Asked) -> Iterator[Need]:
    """API Gateway developer guide, "Control access for invoking an API"."""
    stage, _, rest = asked.params["Path"].lstrip("/").partition("/")
    name = f"{asked.params['ApiId']}/{stage}/{asked.params['Method']}/{rest}"
    yield Need(asked.action, asked.place.arn("execute-api", name))


@_of("sts", "GetCallerIdentity")
def _who_am_i(_asked: Asked) -> Iterator[Need]:
    """STS API reference: "No permissions are required"."""
    yield from ()


@_of("events", "PutEvents")
def _put_events(asked: Asked) -> Iterator[Need]:
    for entry in asked.params["Entries"]:
        bus = asked.place.arn("events", f"event-bus/{entry.get('EventBusName', 'default')}")
        yield Need(asked.action, bus, {"events:source": entry["Source"]})


@_of("service-quotas", "GetServiceQuota")
def _quota(asked: Asked) -> Iterator[Need]:
    name = f"{asked.params['ServiceCode']}/{asked.params['QuotaCode']}"
    yield Need(asked.action, asked.place.arn("servicequotas", name))
