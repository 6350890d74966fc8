"""An AWS account for `rewarm doctor`: each call of botocore is noted and answered here, and none is sent.

A call is checked by botocore's model of the operation first. The account is sound until a test says otherwise.
"""
# ruff: noqa: E501  # answers of AWS, one thing on a line

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from functools import cache
from types import SimpleNamespace
from typing import Any

import botocore.session

Json = dict[str, Any]
REGION, ACCOUNT = "eu-west-1", "123456789012"
INSTANCE, VOLUME, SNAPSHOT = "i-0123456789abcdef0", "vol-0123456789abcdef0", "snap-0123456789abcdef0"
ALARM = "rewarm-orders-database"
KEY = f"arn:aws:kms:{REGION}:{ACCOUNT}:key/11111111-2222-3333-4444-555555555555"
TOPIC = f"arn:aws:sns:{REGION}:{ACCOUNT}:rewarm-NotificationTopic"
ROLES = (
    "CreateVolumeFunction",
    "AttachVolumeFunction",
    "PrepareSnapshotFunction",
    "DispatchWarmerFunction",
    "CleanUpFunction",
    "AnnounceFunction",
    "ApiFunction",
)
USAGES = (
    "EBS:FastSnapshotRestore",
    "EBS:directAPI.snapshot.List",
    "EBS:directAPI.snapshot.Get",
    "EBS:SnapshotUsage",
    *(f"EBS:VolumeUsage.{kind}" for kind in ("gp3", "gp2", "io2", "piops", "st1", "sc1")),
    *(f"EBS:VolumeP-IOPS.{kind}" for kind in ("gp3", "io2", "piops")),
    "EBS:VolumeP-Throughput.gp3",
    "EBS:VolumeInitializationRate",
)


@dataclass(frozen=True)
class Refused:
    """AWS's error."""

    code: str
    message: str = "no"


@dataclass(frozen=True)
class Asked:
    """One call."""

    service: str
    operation: str
    parameters: Json


@dataclass
class AwsAccount:
    """`answers` has what AWS says to an operation: an answer, an error, or a function of the parameters."""

    api_url: str
    answers: dict[str, Any] = field(default_factory=dict)
    calls: list[Asked] = field(default_factory=list)
    behind_seconds: float = 0.0
    """How far AWS's clock is behind this machine's."""

    def __post_init__(self) -> None:
        self.answers = sound(self.api_url)

    def session(self, **settings: Any) -> botocore.session.Session:
        """In place of botocore's own. Its clients are made once for all tests, which takes seconds."""
        if settings.get("profile"):
            return _Session(**settings)
        _Shared.account = self
        return _shared()

    def note(self, params: Json, model: Any) -> None:
        """A call that is to be made."""
        self.calls.append(Asked(model.service_model.service_name, model.name, dict(params)))

    def answer(self, model: Any) -> tuple[Any, Json]:
        """In place of sending it: the HTTP response, and what is parsed from it."""
        asked = self.calls[-1]
        answer = self.answers.get(model.name, Refused("UnsupportedOperation", f"{model.name} has no answer"))
        if isinstance(answer, Callable):  # type: ignore[arg-type]
            answer = answer(asked.parameters)
        date = format_datetime(datetime.now(UTC) - timedelta(seconds=self.behind_seconds), usegmt=True)
        told = {"HTTPHeaders": {"date": date}, "HTTPStatusCode": 200}
        if isinstance(answer, Refused):
            error = {"Code": answer.code, "Message": answer.message}
            return SimpleNamespace(status_code=400), {"Error": error, "ResponseMetadata": told}
        return SimpleNamespace(status_code=200), {**answer, "ResponseMetadata": told}


_Session = botocore.session.Session


class _Shared(_Session):
    """Its calls go to the account of the test that runs."""

    account: AwsAccount

    def create_client(self, service_name: str, region_name: str, **more: Any) -> Any:  # type: ignore[override]
        return _client(self, service_name, region_name)


@cache
def _shared() -> _Shared:
    made = _Shared()
    made.register("before-parameter-build", lambda params, model, **_: _Shared.account.note(params, model))
    made.register("before-call", lambda model, **_: _Shared.account.answer(model))
    return made


@cache
def _client(session: _Shared, service: str, region: str) -> Any:
    return _Session.create_client(session, service, region)


def allowed(parameters: Json, decision: str = "allowed", **more: Any) -> Json:
    """IAM's answer to a simulation."""
    results = [
        {"EvalActionName": name, "EvalResourceName": "*", "EvalDecision": decision, **more}
        for name in parameters["ActionNames"]
    ]
    return {"EvaluationResults": results, "IsTruncated": False}


def would_do(parameters: Json) -> Refused:
    """EC2's answer to DryRun."""
    assert parameters["DryRun"] is True
    return Refused("DryRunOperation", "Request would have succeeded, but DryRun flag is set.")


def snapshot(**fields: Any) -> Json:
    """A snapshot that can be restored."""
    return {
        "SnapshotId": SNAPSHOT, "VolumeId": VOLUME, "State": "completed", "StartTime": datetime.now(UTC),
        "VolumeSize": 8, "OwnerId": ACCOUNT, "StorageTier": "standard", "Encrypted": True, "KmsKeyId": KEY,
        **fields,
    }  # fmt: skip


def instance(**fields: Any) -> Json:
    """DescribeInstances of one that runs."""
    found = {
        "InstanceId": INSTANCE, "InstanceType": "m5.large", "Architecture": "x86_64", "State": {"Name": "running"},
        "Placement": {"AvailabilityZone": f"{REGION}a"}, "SubnetId": "subnet-1", "VpcId": "vpc-1",
        "PrivateIpAddress": "10.0.0.7", "SecurityGroups": [{"GroupId": "sg-1"}],
        "NetworkInterfaces": [{"NetworkInterfaceId": "eni-1"}],
        "BlockDeviceMappings": [{"DeviceName": "/dev/xvda", "Ebs": {"VolumeId": "vol-root"}}],
        "IamInstanceProfile": {"Arn": f"arn:aws:iam::{ACCOUNT}:instance-profile/web"}, **fields,
    }  # fmt: skip
    return {"Reservations": [{"Instances": [found]}]}


def managed(**fields: Any) -> Json:
    """What Systems Manager says of it."""
    known = {"InstanceId": INSTANCE, "PingStatus": "Online", "AgentVersion": "3.3", "PlatformName": "Ubuntu"}
    return {"InstanceInformationList": [{**known, **fields}]}


def endpoint(service: str, **fields: Any) -> Json:
    """A VPC endpoint; of an interface unless the fields say otherwise."""
    return {
        "VpcEndpointId": f"vpce-{service}", "VpcEndpointType": "Interface", "State": "available",
        "ServiceName": f"com.amazonaws.{REGION}.{service}", "PrivateDnsEnabled": True,
        "Groups": [{"GroupId": "sg-endpoint"}], **fields,
    }  # fmt: skip


def routes(**target: str) -> Json:
    """DescribeRouteTables with a route to everywhere, or without one."""
    listed = [{"DestinationCidrBlock": "0.0.0.0/0", **target}] if target else []
    return {"RouteTables": [{"RouteTableId": "rtb-1", "Routes": listed}]}


def group(**fields: Any) -> Json:
    """DescribeSecurityGroups of one."""
    everything = [{"IpProtocol": "-1", "IpRanges": [{"CidrIp": "0.0.0.0/0"}]}]
    return {
        "SecurityGroups": [
            {"GroupId": "sg-1", "IpPermissionsEgress": everything, "IpPermissions": [], **fields}
        ]
    }


def acl(*entries: tuple[int, bool, str, str, tuple[int, int] | None]) -> Json:
    """DescribeNetworkAcls: number, egress, action, network, and TCP ports or None for all."""
    listed = [
        {
            "RuleNumber": number, "Egress": egress, "RuleAction": action, "CidrBlock": network,
            "Protocol": "6" if ports else "-1", **({"PortRange": {"From": ports[0], "To": ports[1]}} if ports else {}),
        }
        for number, egress, action, network, ports in entries
    ]  # fmt: skip
    return {"NetworkAcls": [{"NetworkAclId": "acl-1", "Entries": listed}]}


OPEN_ACL = (
    (100, True, "allow", "0.0.0.0/0", None),
    (32_767, True, "deny", "0.0.0.0/0", None),
    (100, False, "allow", "0.0.0.0/0", None),
    (32_767, False, "deny", "0.0.0.0/0", None),
)


def quotas(parameters: Json) -> Json:
    """AWS's defaults."""
    values = {"L-631ECBD3": 5.0, "L-A37D9CF3": 5000.0, "L-39BD5252": 5.0}
    return {"Quota": {"Value": values[parameters["QuotaCode"]]}}


def sound(api_url: str) -> Json:
    """An account in which nothing is wrong."""
    outputs = {
        "ApiUrl": api_url, "RestApiId": "abc123", "ArtifactsBucket": "rewarm-artifacts", "RestoresTable": "rewarm-t",
        "NotificationTopicArn": TOPIC, "ChatTopicArn": f"{TOPIC}-chat", "WarmerDocumentName": "rewarm-warmer",
        "AlarmRuleName": "rewarm-alarms-rewarm-",
        "RestoreStateMachineArn": f"arn:aws:states:{REGION}:{ACCOUNT}:stateMachine:r",
    }  # fmt: skip
    stack = {
        "StackName": "rewarm", "StackStatus": "UPDATE_COMPLETE", "CreationTime": datetime(2026, 1, 1, tzinfo=UTC),
        "Outputs": [{"OutputKey": name, "OutputValue": value} for name, value in outputs.items()],
        "Parameters": [
            {"ParameterKey": "NotificationEmail", "ParameterValue": "a@example.com"},
            {"ParameterKey": "MaxRestoresInFlight", "ParameterValue": "2000"}, {"ParameterKey": "Applications", "ParameterValue": "yes"},
            {"ParameterKey": "PriceOverrides", "ParameterValue": ""},
            {"ParameterKey": "AlarmNamePrefix", "ParameterValue": "rewarm-"},
            {"ParameterKey": "AlarmCooldownMinutes", "ParameterValue": "15"},
        ],
    }  # fmt: skip
    resources = [
        {"LogicalResourceId": f"{name}Role", "PhysicalResourceId": f"rewarm-{name}Role-1"} for name in ROLES
    ]
    resources.append({"LogicalResourceId": "SlackWebhookSecret", "PhysicalResourceId": "secret"})
    mail = {"Protocol": "email", "Endpoint": "a@example.com", "SubscriptionArn": f"{TOPIC}:1"}
    listed = [json.dumps({"product": {"attributes": {"usagetype": f"EU-{usage}"}}}) for usage in USAGES]
    ebs = {"NvmeSupport": "required", "MaximumEbsAttachments": 28, "AttachmentLimitType": "shared"}
    return {
        "GetCallerIdentity": {"Arn": f"arn:aws:iam::{ACCOUNT}:user/ada", "Account": ACCOUNT, "UserId": "A"},
        "DescribeStacks": {"Stacks": [stack]},
        "ListStackResources": {"StackResourceSummaries": resources},
        "ListSubscriptionsByTopic": lambda asked: {"Subscriptions": [mail] if asked["TopicArn"] == TOPIC else []},
        "SimulatePrincipalPolicy": allowed,
        "GetRole": lambda asked: {"Role": {"Arn": f"arn:aws:iam::{ACCOUNT}:role/path/{asked['RoleName']}"}},
        "DescribeAvailabilityZones": {"AvailabilityZones": [{"ZoneName": f"{REGION}a"}]},
        **dict.fromkeys(("CreateVolume", "AttachVolume", "ModifyVolume", "EnableFastSnapshotRestores"), would_do),
        "GetServiceQuota": quotas,
        "DescribeFastSnapshotRestores": {"FastSnapshotRestores": []},
        "DescribeVolumes": {"Volumes": [volume()]},
        "DescribeVolumeStatus": {"VolumeStatuses": []},
        "GetAccountSettings": {
            "AccountLimit": {"ConcurrentExecutions": 1000, "UnreservedConcurrentExecutions": 1000}
        },
        "GetProducts": {"PriceList": listed},
        "DescribeInstances": instance(),
        "DescribeInstanceTypes": {"InstanceTypes": [{"EbsInfo": ebs}]},
        "DescribeInstanceInformation": managed(),
        "DescribeRouteTables": routes(NatGatewayId="nat-1"),
        "DescribeVpcEndpoints": {"VpcEndpoints": []},
        "DescribeSecurityGroups": group(),
        "DescribeNetworkAcls": acl(*OPEN_ACL),
        "SendCommand": {"Command": {"CommandId": "01234567-89ab-cdef-0123-456789abcdef"}},
        "GetCommandInvocation": said("mount=/\nkib=9000000\noptions=rw,relatime\ndevices=1\ns3=403\n"),
        "DescribeSnapshots": {"Snapshots": [snapshot()]},
        "DescribeSnapshotTierStatus": {"SnapshotTierStatuses": []},
        "ListSnapshotsInRecycleBin": {"Snapshots": []},
        "DescribeKey": key(),
        "DescribeAlarms": alarm(),
        "DescribeRule": {"State": "ENABLED"},
        "GetLifecyclePolicies": {"Policies": [{"PolicyId": "policy-1"}]},
        "GetLifecyclePolicy": lifecycle_policy(),
        "DescribeProtectedResource": Refused("ResourceNotFoundException"),
    }  # fmt: skip


def alarm(**fields: Any) -> Json:
    """DescribeAlarms of one that is quiet."""
    found = {
        "AlarmName": ALARM,
        "StateValue": "OK",
        "StateUpdatedTimestamp": datetime.now(UTC),
        "ActionsEnabled": True,
    }
    return {"MetricAlarms": [{**found, **fields}], "CompositeAlarms": []}


def lifecycle_policy(value: str = "daily", *kinds: str) -> Json:
    """GetLifecyclePolicy of one that takes what has the tag `backup` with this value."""
    details = {"ResourceTypes": list(kinds) or ["VOLUME"], "TargetTags": [{"Key": "backup", "Value": value}]}
    return {"Policy": {"PolicyId": "policy-1", "PolicyDetails": details}}


def volume(**fields: Any) -> Json:
    """A volume that is available."""
    return {
        "VolumeId": VOLUME, "State": "available", "Size": 8, "VolumeType": "gp3", "AvailabilityZone": f"{REGION}a",
        "CreateTime": datetime.now(UTC), "Encrypted": True, "KmsKeyId": KEY, "Attachments": [],
        "Tags": [{"Key": "backup", "Value": "daily"}], **fields,
    }  # fmt: skip


def key(**fields: Any) -> Json:
    """DescribeKey of one that can be used."""
    metadata = {"KeyId": KEY.rpartition("/")[2], "Arn": KEY, "KeyState": "Enabled", "KeyManager": "CUSTOMER"}
    return {"KeyMetadata": {**metadata, **fields}}


def said(output: str, status: str = "Success") -> Json:
    """GetCommandInvocation of a command that has ended."""
    return {
        "Status": status,
        "StatusDetails": status,
        "StandardOutputContent": output,
        "StandardErrorContent": "",
    }
