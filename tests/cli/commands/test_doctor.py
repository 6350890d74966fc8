"""`rewarm doctor`: each finding both ways, and no call that could change anything."""
# ruff: noqa: E501  # the rows of a table

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest
import yaml

from rewarm.adapters import prices as adapter
from rewarm.adapters import quotas as shipped
from rewarm.domain.parts import WORDS
from rewarm_cli.doctor import identity, prices, quotas
from rewarm_cli.doctor.account import Account, Wanted
from rewarm_cli.doctor.reach import on_instance
from rewarm_cli.problems import DONE, FAILED, USAGE
from rewarm_cli.settings import Settings
from tests.lint.test_powershell import PARSER
from tests.support.commands import aws_account as aws
from tests.support.commands.aws_account import INSTANCE, SNAPSHOT, VOLUME, Refused
from tests.support.tree import ROOT, complaints

WITH_INSTANCE = ("--instance", INSTANCE)
WITH_DATA = ("--snapshot", SNAPSHOT, "--volume", VOLUME)
ALL = (*WITH_INSTANCE, "--on-instance", *WITH_DATA)
OLD = datetime.now(UTC) - timedelta(days=30)
DENIED = Refused("AccessDenied", "not authorized")
POLICY = ROOT / "docs" / "policies" / "doctor.json"


@pytest.fixture
def examined(account, rewarm):
    """Runs the command: exit status, and check -> the findings of that name."""

    def called(*words):
        ended = rewarm("doctor", *words, "--output", "json")
        listed = json.loads(ended.out)["findings"]
        by_check = {}
        for finding in listed:
            by_check.setdefault(finding["check"], []).append(finding)
        return SimpleNamespace(status=ended.status, listed=listed, err=ended.err, of=by_check)

    return called


def test_a_sound_account_has_no_complaint(examined):
    found = examined(*ALL)
    assert [one for one in found.listed if one["status"] != "ok"] == []
    assert found.status == DONE
    groups = list(dict.fromkeys(one["group"] for one in found.listed))
    assert groups == [
        "identity", "clock", "stack", "permissions", "quotas", "prices", "runbooks",
        "instance", "network", "on the instance", "snapshots", "keys",
    ]  # fmt: skip


def test_people_read_groups_with_what_to_do_and_a_sum(account, rewarm):
    account.answers["DescribeStacks"] = Refused("ValidationError", "Stack with id rewarm does not exist")
    ended = rewarm("doctor")
    assert ended.status == FAILED
    assert re.search(
        r"^stack\n  problem  stack +there is no stack rewarm in eu-west-1 *\n +→ deploy it",
        ended.out,
        re.MULTILINE,
    )
    assert re.search(r"^1 problem, (1 warning|\d+ warnings), \d+ unknown, \d+ ok$", ended.out, re.MULTILINE)


def test_yaml_and_a_query_are_for_programs(account, rewarm):
    assert yaml.safe_load(rewarm("doctor", "-o", "yaml").out)["summary"]["problem"] == 0
    assert rewarm("doctor", "--query", "summary.problem").out == "0\n"


def test_a_command_on_no_instance_is_a_wrong_option(rewarm):
    assert rewarm("doctor", "--on-instance").status == USAGE


# ------------------------------------------------------------------------------- what each finding says
SUBSCRIPTION = {"Protocol": "email", "Endpoint": "a@example.com", "SubscriptionArn": "PendingConfirmation"}
EXPIRED = Refused("ExpiredToken", "The security token included in the request is expired")
BOUNDARY = {"PermissionsBoundaryDecisionDetail": {"AllowedByPermissionsBoundary": False}}
ORGANIZATION = {"OrganizationsDecisionDetail": {"AllowedByOrganizations": False}}
CLOSED = aws.group(IpPermissionsEgress=[])
TO_LIST = [{"IpProtocol": "tcp", "FromPort": 443, "ToPort": 443, "PrefixListIds": [{"PrefixListId": "pl-1"}]}]
SSH_OUT = [{"IpProtocol": "tcp", "FromPort": 22, "ToPort": 22, "IpRanges": [{"CidrIp": "0.0.0.0/0"}]}]
LISTENS = [{"IpProtocol": "tcp", "FromPort": 443, "ToPort": 443, "IpRanges": [{"CidrIp": "10.0.0.0/16"}]}]
OFFLINE = aws.managed(PingStatus="ConnectionLost", LastPingDateTime=OLD)
BOTH = {"VpcEndpoints": [aws.endpoint("ssm"), aws.endpoint("ssmmessages")]}
GATEWAY = {"VpcEndpointType": "Gateway", "RouteTableIds": ["rtb-1"], "PrivateDnsEnabled": False}
OWN_POLICY = json.dumps({"Statement": [{"Effect": "Allow", "Action": "s3:GetObject", "Resource": "*"}]})
BINNED = {"SnapshotId": SNAPSHOT, "VolumeId": VOLUME, "RecycleBinExitTime": datetime(2027, 1, 1, tzinfo=UTC)}
FULL = [{"DeviceName": f"/dev/sd{letter}"} for letter in "fghijklmnop"]


def types(**ebs):
    return {"InstanceTypes": [{"EbsInfo": ebs}]}


def fsr(count):
    return {"FastSnapshotRestores": [{"SnapshotId": f"snap-{number}"} for number in range(count)]}


def stack_with(account, **fields):
    return {"Stacks": [{**account.answers["DescribeStacks"]["Stacks"][0], **fields}]}


CASES = [
    # operation, its answer, options, check, status, words of what is found
    ("GetCallerIdentity", EXPIRED, (), "credentials", "problem", "ExpiredToken"),
    ("DescribeStacks", Refused("ValidationError"), (), "stack", "problem", "no stack rewarm"),
    ("DescribeStacks", Refused("ValidationError"), (), "API", "unknown", "want of the stack"),
    ("DescribeStacks", Refused("ValidationError"), (), "messages", "unknown", "want of the stack"),
    ("DescribeStacks", Refused("ValidationError"), (), "roles", "unknown", "want of the stack"),
    ("DescribeStacks", DENIED, (), "stack", "unknown", "cloudformation:DescribeStacks: AccessDenied"),
    ("ListSubscriptionsByTopic", {"Subscriptions": [SUBSCRIPTION]}, (), "e-mail", "problem", "not confirmed"),
    ("ListSubscriptionsByTopic", {"Subscriptions": []}, (), "e-mail", "problem", "has no subscription"),
    ("ListSubscriptionsByTopic", DENIED, (), "messages", "unknown", "sns:ListSubscriptionsByTopic"),
    ("SimulatePrincipalPolicy", lambda asked: aws.allowed(asked, "implicitDeny"), (), "caller: look", "problem", "no policy"),
    ("SimulatePrincipalPolicy", lambda asked: aws.allowed(asked, "implicitDeny"), (), "caller: restore", "warning", "no policy"),
    ("SimulatePrincipalPolicy", lambda asked: aws.allowed(asked, "explicitDeny"), (), "ApiFunction", "problem", "a policy denies"),
    ("SimulatePrincipalPolicy", lambda asked: aws.allowed(asked, "implicitDeny", **BOUNDARY), (), "CreateVolumeFunction",
     "problem", "ec2:CreateVolume on arn:aws:ec2:eu-west-1:123456789012:volume/vol-0123456789abcdef0: the permissions boundary"),
    ("SimulatePrincipalPolicy", lambda asked: aws.allowed(asked, "implicitDeny", **ORGANIZATION), (), "CleanUpFunction",
     "problem", "service control policy"),
    ("SimulatePrincipalPolicy", lambda asked: aws.allowed(asked, "implicitDeny", MissingContextValues=["aws:x"]), (),
     "AttachVolumeFunction", "unknown", "ask for aws:x"),
    ("SimulatePrincipalPolicy", DENIED, (), "roles", "unknown", "iam:SimulatePrincipalPolicy: AccessDenied"),
    ("GetCallerIdentity", {"Arn": "arn:aws:iam::123456789012:root", "Account": "123456789012"}, (), "caller", "unknown", ":root"),
    ("ListStackResources", {"StackResourceSummaries": [{"LogicalResourceId": "X", "PhysicalResourceId": "x"}]}, (),
     "ApiFunction", "unknown", "no role ApiFunctionRole"),
    ("CreateVolume", Refused("UnauthorizedOperation"), (), "dry run", "warning", "ec2:CreateVolume"),
    ("CreateVolume", Refused("VolumeLimitExceeded"), (), "dry run: CreateVolume", "unknown", "VolumeLimitExceeded"),
    ("EnableFastSnapshotRestores", Refused("UnauthorizedOperation"), WITH_DATA, "dry run", "warning", "ec2:EnableFastSnapshotRestores"),
    ("DescribeAvailabilityZones", DENIED, (), "dry runs", "unknown", "ec2:DescribeAvailabilityZones"),
    ("DescribeFastSnapshotRestores", fsr(2), (), "fast snapshot restore", "ok", "2 of 5 snapshots in use"),
    ("DescribeFastSnapshotRestores", fsr(5), (), "fast snapshot restore", "warning", "no restore can use it"),
    ("DescribeFastSnapshotRestores", DENIED, (), "fast snapshot restore", "unknown", "5 snapshots allowed; what is in use"),
    ("GetServiceQuota", Refused("NoSuchResourceException"), (), "volume copies", "ok", "0 of 5 copies in use (AWS's default"),
    ("DescribeVolumes", {"Volumes": [aws.volume(VolumeInitializationRate=300)]}, (), "initialization rate", "ok", "300 of 5,000"),
    ("DescribeVolumes", {"Volumes": [aws.volume(VolumeInitializationRate=5000)]}, (), "initialization rate", "warning", "5,000 of 5,000"),
    ("DescribeVolumes", {"Volumes": [aws.volume(SourceVolumeId="vol-1")]}, (), "volume copies", "ok", "1 of 5"),
    ("GetAccountSettings", {"AccountLimit": {"ConcurrentExecutions": 10, "UnreservedConcurrentExecutions": 10}}, (), "Lambda",
     "warning", "MaxRestoresInFlight is 2,000"),
    ("GetAccountSettings", DENIED, (), "lambda concurrency", "unknown", "lambda:GetAccountSettings"),
    ("GetProducts", {"PriceList": []}, (), "Price List", "warning", "0 of the 15 prices"),
    ("GetProducts", DENIED, (), "prices", "unknown", "pricing:GetProducts"),
    ("DescribeInstances", Refused("InvalidInstanceID.NotFound"), WITH_INSTANCE, "instance", "problem", "there is no i-"),
    ("DescribeInstances", DENIED, WITH_INSTANCE, "state", "unknown", "ec2:DescribeInstances"),
    ("DescribeInstances", aws.instance(State={"Name": "stopped"}), WITH_INSTANCE, "instance", "problem", "is stopped"),
    ("DescribeInstances", aws.instance(Architecture="i386"), WITH_INSTANCE, "agent", "warning", "none for i386"),
    ("DescribeInstances", aws.instance(BlockDeviceMappings=FULL), WITH_INSTANCE, "device names", "problem", "all in use"),
    ("DescribeInstanceTypes", types(NvmeSupport="unsupported"), WITH_INSTANCE, "NVMe", "warning", "has none"),
    ("DescribeInstanceTypes", types(), WITH_INSTANCE, "NVMe", "unknown", "does not tell"),
    ("DescribeInstanceTypes", types(), WITH_INSTANCE, "attachments", "unknown", "does not tell"),
    ("DescribeInstanceTypes", types(MaximumEbsAttachments=2), WITH_INSTANCE, "attachments", "problem", "1 volume and 1 network interfaces and disks"),
    ("DescribeInstanceTypes", types(MaximumEbsAttachments=2, AttachmentLimitType="dedicated"), WITH_INSTANCE, "attachments",
     "ok", "1 volume, of 2 attachments for volumes alone"),
    ("DescribeInstanceInformation", {"InstanceInformationList": []}, WITH_INSTANCE, "Systems Manager", "problem", "not know"),
    ("DescribeInstanceInformation", OFFLINE, WITH_INSTANCE, "Systems Manager", "problem", "ConnectionLost, agent 3.3"),
    ("DescribeInstanceInformation", OFFLINE, WITH_INSTANCE, "to Systems Manager", "ok", "by the way out"),
    ("DescribeInstances", aws.instance(IamInstanceProfile=None), WITH_INSTANCE, "instance profile", "ok", "manages the instance without"),
    ("DescribeRouteTables", aws.routes(), WITH_INSTANCE, "to S3", "problem", "nor a way out"),
    ("DescribeRouteTables", aws.routes(GatewayId="igw-1"), WITH_INSTANCE, "way out", "warning", "no public address"),
    ("DescribeRouteTables", aws.routes(NatGatewayId="nat-1", State="blackhole"), WITH_INSTANCE, "way out", "problem", "gone"),
    ("DescribeRouteTables", aws.routes(TransitGatewayId="tgw-1"), WITH_INSTANCE, "to S3", "unknown", "wherever that leads"),
    ("DescribeVpcEndpoints", {"VpcEndpoints": [aws.endpoint("s3", **GATEWAY)]}, WITH_INSTANCE, "to S3", "ok", "Gateway endpoint vpce-s3"),
    ("DescribeVpcEndpoints", {"VpcEndpoints": [aws.endpoint("s3", **GATEWAY, PolicyDocument=OWN_POLICY)]}, WITH_INSTANCE,
     "to S3", "warning", "policy of its own"),
    ("DescribeVpcEndpoints", DENIED, WITH_INSTANCE, "path", "unknown", "ec2:DescribeVpcEndpoints"),
    ("DescribeSecurityGroups", CLOSED, WITH_INSTANCE, "security groups", "problem", "no HTTPS out"),
    ("DescribeSecurityGroups", aws.group(IpPermissionsEgress=SSH_OUT), WITH_INSTANCE, "security groups", "problem", "no HTTPS out"),
    ("DescribeSecurityGroups", aws.group(IpPermissionsEgress=TO_LIST), WITH_INSTANCE, "security groups", "warning", "pl-1 only"),
    ("DescribeNetworkAcls", aws.acl(), WITH_INSTANCE, "network ACL", "problem", "HTTPS out is denied"),
    ("DescribeNetworkAcls", aws.acl((50, True, "deny", "52.0.0.0/8", None), *aws.OPEN_ACL), WITH_INSTANCE, "network ACL",
     "warning", "allowed, but not for 52.0.0.0/8"),
    ("DescribeNetworkAcls", aws.acl((50, True, "allow", "52.0.0.0/8", (443, 443))), WITH_INSTANCE, "network ACL", "warning",
     "allowed for 52.0.0.0/8 only"),
    ("DescribeNetworkAcls", aws.acl((50, True, "allow", "0.0.0.0/0", (80, 80))), WITH_INSTANCE, "network ACL", "problem", "denied"),
    ("DescribeInstances", aws.instance(), WITH_INSTANCE, "agent's folder", "unknown", "only the instance knows"),
    ("GetCommandInvocation", aws.said("mount=/var\noptions=rw,noexec\nkib=9\ns3=000\ndevices=0\nmissing=curl\n"),
     (*WITH_INSTANCE, "--on-instance"), "agent's folder", "problem", "mounted noexec"),
    ("GetCommandInvocation", aws.said("mount=/\noptions=ro\n"), (*WITH_INSTANCE, "--on-instance"), "agent's folder", "problem", "read-only"),
    ("GetCommandInvocation", aws.said("kib=9\n"), (*WITH_INSTANCE, "--on-instance"), "space", "problem", "9 KiB free"),
    ("GetCommandInvocation", aws.said(""), (*WITH_INSTANCE, "--on-instance"), "space", "unknown", "did not tell"),
    ("GetCommandInvocation", aws.said("s3=000\n"), (*WITH_INSTANCE, "--on-instance"), "S3", "problem", "does not answer"),
    ("GetCommandInvocation", aws.said("devices=0\n"), (*WITH_INSTANCE, "--on-instance"), "EBS volumes", "warning", "no EBS volume"),
    ("GetCommandInvocation", aws.said("missing=curl\n"), (*WITH_INSTANCE, "--on-instance"), "programs", "problem", "missing: curl"),
    ("GetCommandInvocation", aws.said("", "Failed"), (*WITH_INSTANCE, "--on-instance"), "command", "unknown", "it is Failed"),
    ("GetCommandInvocation", aws.said("", "InProgress"), (*WITH_INSTANCE, "--on-instance"), "command", "unknown", "still runs"),
    ("SendCommand", DENIED, (*WITH_INSTANCE, "--on-instance"), "look", "unknown", "ssm:SendCommand"),
    ("DescribeSnapshots", Refused("InvalidSnapshot.NotFound"), WITH_DATA[:2], "snapshot", "problem", "there is no snap-"),
    ("DescribeSnapshots", {"Snapshots": []}, WITH_DATA[:2], "snapshot", "problem", "does not share it"),
    ("DescribeSnapshots", {"Snapshots": [aws.snapshot(State="pending", Progress="30%")]}, WITH_DATA[:2], "snapshot", "problem", "pending (30%)"),
    ("DescribeSnapshots", {"Snapshots": [aws.snapshot(State="error", StateMessage="key")]}, WITH_DATA[:2], "snapshot", "problem", "error (key)"),
    ("DescribeSnapshots", {"Snapshots": [aws.snapshot(StorageTier="archive")]}, WITH_DATA[:2], "snapshot", "problem", "is archived"),
    ("DescribeSnapshots", {"Snapshots": [aws.snapshot(OutpostArn="arn:aws:outposts:us-east-1:123456789012:outpost/op-0")]}, WITH_DATA[:2],
     "snapshot", "problem", "makes volumes on that Outpost only"),
    ("DescribeSnapshots", {"Snapshots": [aws.snapshot(AvailabilityZone="us-east-1-atl-2a")]}, WITH_DATA[:2], "snapshot", "problem",
     "is stored in us-east-1-atl-2a"),
    ("DescribeSnapshots", {"Snapshots": [aws.snapshot(AvailabilityZone="us-east-1-atl-2a")]}, WITH_DATA[2:], "snapshots", "problem",
     "makes volumes in that Local Zone only"),
    ("DescribeSnapshots", {"Snapshots": [aws.snapshot(OwnerId="999999999999")]}, WITH_DATA[:2], "owner", "warning", "account 999999999999"),
    ("DescribeSnapshots", {"Snapshots": []}, WITH_DATA[2:], "snapshots", "problem", "none of 0 snapshots"),
    ("DescribeSnapshots", {"Snapshots": [aws.snapshot(StorageTier="archive")]}, WITH_DATA[2:], "snapshots", "problem", "is archived"),
    ("DescribeSnapshots", {"Snapshots": [aws.snapshot(StartTime=OLD)]}, WITH_DATA[2:], "snapshots", "warning", "30 d"),
    ("DescribeSnapshots", {"Snapshots": [aws.snapshot(StartTime=OLD), aws.snapshot(State="pending")]}, WITH_DATA[2:], "snapshots",
     "warning", "is newer, and is pending"),
    ("ListSnapshotsInRecycleBin", {"Snapshots": [BINNED]}, WITH_DATA[2:], "Recycle Bin", "warning", "1 snapshot of vol-"),
    ("DescribeVolumes", Refused("InvalidVolume.NotFound"), WITH_DATA[2:], "volume", "unknown", "any more"),
    ("DescribeVolumes", DENIED, WITH_DATA[2:], "lineage", "unknown", "ec2:DescribeVolumes"),
    ("DescribeKey", aws.key(KeyState="Disabled"), WITH_DATA, "key", "problem", "is Disabled"),
    ("DescribeKey", aws.key(KeyState="PendingDeletion", DeletionDate=OLD), WITH_DATA, "key", "problem", "is deleted at"),
    ("DescribeKey", aws.key(KeyState="PendingImport"), WITH_DATA, "key", "problem", "PendingImport"),
    ("DescribeKey", aws.key(KeyManager="AWS"), WITH_DATA, "use of the key", "ok", "AWS manages it"),
    ("DescribeKey", Refused("NotFoundException"), WITH_DATA, "key", "problem", "does not exist"),
    ("DescribeKey", Refused("AccessDeniedException"), WITH_DATA, "key", "unknown", "kms:DescribeKey"),
]  # fmt: skip


@pytest.mark.parametrize(
    "case",
    CASES,
    ids=[f"{case[0]}-{case[3]}-{case[4]}-{number}" for number, case in enumerate(CASES)],
)
def test_a_finding(case, account, examined):
    operation, answer, words, check, status, found = case
    account.answers[operation] = answer
    said = examined(*words)
    matching = [one for one in said.of.get(check, []) if found in one["found"]]
    assert matching, said.listed
    assert {one["status"] for one in matching} == {status}
    assert all(bool(one["todo"]) == (one["status"] != "ok") for one in said.listed), said.listed
    has_problem = any(one["status"] == "problem" for one in said.listed)
    assert said.status == (FAILED if has_problem else DONE)


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ("CREATE_COMPLETE", "ok"),
        ("UPDATE_IN_PROGRESS", "warning"),
        ("UPDATE_ROLLBACK_COMPLETE", "warning"),
        ("ROLLBACK_COMPLETE", "problem"),
        ("UPDATE_ROLLBACK_FAILED", "problem"),
        ("DELETE_FAILED", "problem"),
    ],
)
def test_the_state_of_the_stack(status, expected, account, examined):
    account.answers["DescribeStacks"] = stack_with(account, StackStatus=status)
    assert examined().of["stack"][0]["status"] == expected


@pytest.mark.parametrize(("version", "status"), [("0.0.1", "warning"), (None, None)])
def test_the_version_of_the_stack(version, status, account, examined):
    outputs = account.answers["DescribeStacks"]["Stacks"][0]["Outputs"]
    if version:
        outputs.append({"OutputKey": "Version", "OutputValue": version})
    assert [one["status"] for one in examined().of.get("version", [])] == ([status] if status else [])


def test_a_stack_of_somebody_else(account, examined):
    account.answers["DescribeStacks"] = stack_with(account, Outputs=[])
    assert examined().of["outputs"][0]["status"] == "problem"


def test_nobody_hears_of_restores(account, examined):
    account.answers["DescribeStacks"] = stack_with(account, Parameters=[])
    account.answers["ListSubscriptionsByTopic"] = {"Subscriptions": []}
    account.answers["ListStackResources"]["StackResourceSummaries"].pop()
    assert examined().of["messages"][0]["status"] == "warning"


def test_programs_that_listen_are_counted(account, examined):
    queue = {"Protocol": "sqs", "Endpoint": "q", "SubscriptionArn": "arn:aws:sns:x"}
    account.answers["ListSubscriptionsByTopic"] = {"Subscriptions": [queue]}
    assert examined().of["subscribers"][0]["found"] == "2 subscriptions (sqs)"


@pytest.mark.parametrize(("status", "words"), [(403, "execute-api:Invoke"), (500, "log group")])
def test_an_api_that_refuses(status, words, stack, examined):
    stack.answers["GET", "/restores"] = status, {"error": "ACCESS_DENIED", "detail": "not for you"}
    (finding,) = examined().of["API"]
    assert (finding["status"], words in finding["todo"]) == ("problem", True)
    assert "not for you" in finding["found"]


def test_an_api_that_nobody_answers_for(account, examined):
    outputs = account.answers["DescribeStacks"]["Stacks"][0]["Outputs"]
    outputs[0]["OutputValue"] = "http://127.0.0.1:1/v1"
    assert "cannot be reached" in examined().of["API"][0]["found"]


@pytest.mark.parametrize(("seconds", "status"), [(2, "ok"), (120, "warning"), (-400, "problem")])
def test_the_clock_is_compared_with_awss(seconds, status, account, examined):
    account.behind_seconds = seconds
    assert examined().of["clock"][0]["status"] == status


def test_a_clock_that_is_wrong_is_seen_in_a_refusal_too(account, examined):
    account.behind_seconds = 4_000
    account.answers["GetCallerIdentity"] = Refused("SignatureDoesNotMatch", "Signature expired")
    found = examined()
    assert [found.of[check][0]["status"] for check in ("credentials", "clock")] == ["problem", "problem"]
    assert found.of["stack"][0]["status"] == "unknown"


def test_without_a_region_nothing_else_is_looked_at(account, examined, monkeypatch):
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    found = examined()
    assert found.of["Region"][0]["status"] == "problem"
    assert account.calls == []


def test_a_profile_that_does_not_exist(examined, account):
    found = examined("--profile", "nobody")
    assert (found.listed[0]["status"], found.status) == ("problem", FAILED)


def test_a_session_is_simulated_as_its_role_with_its_path(account, examined):
    session = "arn:aws:sts::123456789012:assumed-role/Admin/ada"
    account.answers["GetCallerIdentity"] = {"Arn": session, "Account": "123456789012"}
    assert examined().of["caller: look"][0]["status"] == "ok"
    asked = [call.parameters for call in account.calls if call.operation == "SimulatePrincipalPolicy"]
    assert asked[0]["PolicySourceArn"] == "arn:aws:iam::123456789012:role/path/Admin"
    account.answers["GetRole"] = DENIED
    examined()
    asked = [call.parameters for call in account.calls if call.operation == "SimulatePrincipalPolicy"]
    assert asked[-1]["PolicySourceArn"].startswith("arn:aws:iam::123456789012:role/rewarm-")


def test_your_own_prices_stand_for_rows_that_are_not_listed(account, examined):
    account.answers["GetProducts"] = {"PriceList": []}
    own = dict.fromkeys([*prices.ROWS.values(), prices.RATE], 1)
    account.answers["DescribeStacks"] = stack_with(
        account, Parameters=[{"ParameterKey": "PriceOverrides", "ParameterValue": json.dumps(own)}]
    )
    found = examined()
    assert [found.of[check][0]["status"] for check in ("your own prices", "Price List")] == ["ok", "ok"]
    account.answers["DescribeStacks"] = stack_with(
        account, Parameters=[{"ParameterKey": "PriceOverrides", "ParameterValue": "{"}]
    )
    assert examined().of["your own prices"][0]["status"] == "problem"


def test_a_region_without_a_price_list_is_not_asked_for_prices(account, examined, monkeypatch):
    monkeypatch.setenv("AWS_REGION", "cn-north-1")
    assert examined().of["Price List"][0]["status"] == "warning"
    assert "pricing" not in {call.service for call in account.calls}


def test_volumes_that_are_initialized_use_no_quota(account, examined):
    account.answers["DescribeVolumes"] = {"Volumes": [aws.volume(VolumeInitializationRate=300)]}
    status = {"VolumeId": VOLUME, "InitializationStatusDetails": {"Progress": 100}}
    account.answers["DescribeVolumeStatus"] = {"VolumeStatuses": [status]}
    assert "0 of 5,000" in examined().of["initialization rate"][0]["found"]


def test_the_path_of_an_instance_that_is_not_online(account, examined):
    account.answers["DescribeInstanceInformation"] = OFFLINE
    account.answers["DescribeRouteTables"] = aws.routes()
    assert "ssm, ssmmessages" in examined(*WITH_INSTANCE).of["to Systems Manager"][0]["found"]
    account.answers["DescribeVpcEndpoints"] = BOTH
    assert examined(*WITH_INSTANCE).of["to ssm"][0]["status"] == "problem"
    account.answers["DescribeSecurityGroups"] = aws.group(IpPermissions=LISTENS)
    found = examined(*WITH_INSTANCE)
    assert [found.of[check][0]["status"] for check in ("to ssm", "to ssmmessages")] == ["ok", "ok"]
    account.answers["DescribeVpcEndpoints"] = {"VpcEndpoints": [aws.endpoint("ssm", PrivateDnsEnabled=False)]}
    assert examined(*WITH_INSTANCE).of["to ssm"][0]["status"] == "warning"


def test_an_instance_without_a_profile_that_is_not_online(account, examined):
    account.answers["DescribeInstances"] = aws.instance(IamInstanceProfile=None)
    account.answers["DescribeInstanceInformation"] = {"InstanceInformationList": []}
    assert examined(*WITH_INSTANCE).of["instance profile"][0]["status"] == "problem"


def test_an_instance_without_a_subnet(account, examined):
    described = aws.instance()
    del described["Reservations"][0]["Instances"][0]["SubnetId"]
    account.answers["DescribeInstances"] = described
    assert examined(*WITH_INSTANCE).of["subnet"][0]["status"] == "unknown"


def test_the_main_route_table_counts_where_the_subnet_has_none(account, examined):
    def tables(asked):
        is_main = asked["Filters"][-1]["Name"] == "association.main"
        return aws.routes(GatewayId="igw-1") if is_main else {"RouteTables": []}

    account.answers["DescribeRouteTables"] = tables
    account.answers["DescribeInstances"] = aws.instance(PublicIpAddress="192.0.2.1")
    found = examined(*WITH_INSTANCE)
    assert [found.of[check][0]["status"] for check in ("way out", "to S3")] == ["ok", "ok"]


def test_a_snapshot_that_was_deleted_is_looked_for_in_the_recycle_bin(account, examined):
    account.answers["DescribeSnapshots"] = Refused("InvalidSnapshot.NotFound")
    account.answers["ListSnapshotsInRecycleBin"] = {"Snapshots": [BINNED]}
    finding = examined(*WITH_DATA[:2]).of["snapshot"][0]
    assert finding["todo"] == f"aws ec2 restore-snapshot-from-recycle-bin --snapshot-id {SNAPSHOT}"
    account.answers["ListSnapshotsInRecycleBin"] = DENIED
    assert "the Recycle Bin is closed" in examined(*WITH_DATA[:2]).of["snapshot"][0]["found"]


def test_a_snapshot_on_its_way_from_the_archive(account, examined):
    account.answers["DescribeSnapshots"] = {"Snapshots": [aws.snapshot(StorageTier="archive")]}
    status = {"LastTieringOperationStatus": "temporary-restore-in-progress", "LastTieringProgress": 40}
    account.answers["DescribeSnapshotTierStatus"] = {"SnapshotTierStatuses": [status]}
    assert "40 % done" in examined(*WITH_DATA[:2]).of["snapshot"][0]["found"]


def test_a_newer_snapshot_of_the_same_volume(account, examined):
    newer = aws.snapshot(SnapshotId="snap-newer")
    older = aws.snapshot(StartTime=OLD)
    account.answers["DescribeSnapshots"] = lambda asked: {
        "Snapshots": [older] if "SnapshotIds" in asked else [older, newer]
    }
    assert "snap-newer" in examined(*WITH_DATA[:2]).of["newer snapshot"][0]["found"]


def test_a_key_of_another_account_says_so(account, examined):
    theirs = aws.KEY.replace("123456789012", "999999999999")
    account.answers["DescribeKey"] = aws.key(Arn=theirs)
    assert "account 999999999999 must also" in examined(*WITH_DATA).of["use of the key"][0]["found"]


def test_the_roles_use_of_a_key_is_simulated_through_ec2(account, examined):
    def decide(asked):
        is_key = asked["ResourceArns"] == [aws.KEY]
        names = {entry["ContextKeyName"] for entry in asked["ContextEntries"]} if is_key else set()
        assert not is_key or "kms:ViaService" in names
        return aws.allowed(asked, "implicitDeny" if is_key else "allowed")

    account.answers["SimulatePrincipalPolicy"] = decide
    assert examined(*WITH_DATA).of["use of the key"][0]["status"] == "problem"


def test_what_is_not_encrypted_needs_no_key(account, examined):
    account.answers["DescribeSnapshots"] = {"Snapshots": [aws.snapshot(Encrypted=False)]}
    account.answers["DescribeVolumes"] = {"Volumes": [aws.volume(Encrypted=False)]}
    assert set(examined(*WITH_DATA).of) & {"key", "encryption"} == {"encryption"}


# --------------------------------------------------------------------------- nothing stops, nothing changes
@pytest.mark.parametrize("answer", [Refused("InternalError"), {}], ids=["error", "empty"])
@pytest.mark.parametrize("operation", sorted(aws.sound("")))
def test_whatever_an_answer_is_the_other_checks_go_on(operation, answer, account, examined):
    account.answers[operation] = answer
    found = examined(*ALL)
    assert "Traceback" not in found.err
    others = {one["group"] for one in found.listed} if operation != "GetCallerIdentity" else {"clock"}
    assert {"clock"} <= others
    assert found.listed


def test_every_call_only_reads(account, examined):
    examined(*ALL)
    for call in account.calls:
        reads = re.match(r"Describe|Get|List|SimulatePrincipalPolicy$", call.operation)
        if call.operation == "SendCommand":
            assert call.parameters["DocumentName"] == "AWS-RunShellScript"
        else:
            assert reads or call.parameters["DryRun"] is True, call
    before = len(account.calls)
    examined(*WITH_INSTANCE, *WITH_DATA)
    assert "SendCommand" not in {call.operation for call in account.calls[before:]}


def test_a_call_that_would_change_something_is_refused_before_it_is_made(account):
    asking = Account(Settings(), Wanted())
    for operation in ("CreateVolume", "DeleteVolume", "SendCommand"):
        with pytest.raises(ValueError, match="is no call of the doctor's"):
            asking.ask("ssm" if operation == "SendCommand" else "ec2", operation)
    assert account.calls == []


def test_the_policy_allows_what_is_asked_and_no_more(account, examined):
    examined(*ALL)
    account.answers["DescribeSnapshots"] = {"Snapshots": [aws.snapshot(StorageTier="archive")]}
    account.answers["DescribeVolumes"] = {"Volumes": [aws.volume(VolumeInitializationRate=300)]}
    session = "arn:aws:sts::123456789012:assumed-role/Admin/ada"
    account.answers["GetCallerIdentity"] = {"Arn": session, "Account": "123456789012"}
    examined(*ALL)
    prefixes = {"service-quotas": "servicequotas"}
    asked = {f"{prefixes.get(call.service, call.service)}:{call.operation}" for call in account.calls
             if "DryRun" not in call.parameters}  # fmt: skip
    policies = (POLICY, POLICY.with_name("doctor-on-instance.json"))
    statements = [
        one
        for policy in policies
        for one in json.loads(policy.read_text(encoding="utf-8"))["Statement"]
        if one["Sid"] != "LookAtAlarms"  # tests/cli/commands/test_alarms.py
    ]
    allowed = {
        action
        for statement in statements
        for action in ([statement["Action"]] if isinstance(statement["Action"], str) else statement["Action"])
    }
    # STS API reference: GetCallerIdentity needs no permission. The API is no call of botocore's.
    assert allowed == asked - {"sts:GetCallerIdentity"} | {"execute-api:Invoke"}


def test_people_are_told_before_a_command_is_sent(examined):
    assert f"Running a command on {INSTANCE}" in examined(*WITH_INSTANCE, "--on-instance").err
    assert "Running" not in examined(*WITH_INSTANCE).err


def test_on_windows_the_command_is_of_powershell(account, examined):
    account.answers["DescribeInstances"] = aws.instance(Platform="windows")
    account.answers["GetCommandInvocation"] = aws.said("kib=9000000\r\ndevices=2\r\ns3=403\r\n")
    found = examined(*WITH_INSTANCE, "--on-instance")
    sent = [call.parameters for call in account.calls if call.operation == "SendCommand"]
    assert sent[0]["DocumentName"] == "AWS-RunPowerShellScript"
    assert {one["status"] for one in found.listed if one["group"] == "on the instance"} == {"ok"}


def test_an_invocation_that_is_not_known_yet_is_asked_for_again(account, examined):
    answers = iter([Refused("InvocationDoesNotExist"), account.answers["GetCommandInvocation"]])
    account.answers["GetCommandInvocation"] = lambda _asked: next(answers)
    assert examined(*WITH_INSTANCE, "--on-instance").of["S3"][0]["status"] == "ok"


def test_the_shell_script_is_sound_and_writes_to_nothing_but_dev_null(tmp_path):
    script = on_instance.script("bucket.s3.eu-west-1.amazonaws.com", is_windows=False)
    path = tmp_path / "script.sh"
    path.write_text(script, encoding="utf-8")
    assert complaints([ROOT / ".venv" / "bin" / "shellcheck", "--shell=sh", path]) == ""
    assert set(re.findall(r"(?:>>?|--output) *(\S+)", script)) <= {"/dev/null", "&1"}


def test_the_powershell_script_parses_and_writes_no_file():
    script = on_instance.script("bucket.s3.eu-west-1.amazonaws.com", is_windows=True)
    assert not PARSER.parse(script.encode()).root_node.has_error
    assert not re.search(r"(?i)out-file|set-content|add-content|outfile|new-item|>", script)


def test_the_parts_of_the_stack_are_listed_those_left_out_too(account, examined):
    chosen = [{"ParameterKey": name, "ParameterValue": "yes"} for name in ("Drills", "Applications")]
    left_out = [{"ParameterKey": "Rewinds", "ParameterValue": "no"}]
    account.answers["DescribeStacks"] = stack_with(account, Parameters=[*chosen, *left_out])
    found = examined().of
    assert [one["found"] for one in found["parts"]] == [
        "Applications (bringing applications back), Drills (drills)"
    ]
    assert [one["found"] for one in found["parts left out"]] == ["Rewinds (rewinds and direct writes)"]


def test_a_stack_from_before_there_were_parts(account, examined):
    account.answers["DescribeStacks"] = stack_with(account, Parameters=[])
    assert examined().of["parts"][0]["status"] == "unknown"


def test_parts_have_the_words_of_the_functions():
    assert {part.value: words for part, words in WORDS.items()} == identity.PARTS


PLANNED = {"request": {"leftOut": []}, "summary": {"deadlineMissed": False}}
LEFT_OUT = {"field": "after", "effect": "The application is not brought back", "because": "it is"}
PLANS = {
    "rewarm-a": (200, PLANNED),
    "rewarm-b": (200, {**PLANNED, "request": {"leftOut": [LEFT_OUT]}}),
    "rewarm-c": (422, {"error": "SnapshotNotFoundError", "detail": "EC2 shows no snap-9"}),
    "rewarm-d": (200, {**PLANNED, "summary": {"deadlineMissed": True}}),
    "rewarm-e": (503, {"detail": "EC2 does not answer"}),
    **{f"rewarm-z{number}": (200, PLANNED) for number in range(200)},
}


def test_every_runbook_is_planned_and_each_that_would_fail_is_listed(account, stack, examined, monkeypatch):
    monkeypatch.setattr(
        stack, "_post_plans", lambda call, _: PLANS[call.body["source"]["alarm"]], raising=False
    )
    stack.runbooks |= {name: {"source": {"volumeId": "vol-1"}} for name in PLANS}
    found = examined()
    listed = {
        one["check"]: (one["status"], one["found"]) for one in found.listed if one["group"] == "runbooks"
    }
    assert listed == {
        "rewarm-b": ("warning", "The application is not brought back, because it is."),
        "rewarm-c": ("problem", "its alarm would restore nothing: EC2 shows no snap-9"),
        "rewarm-d": ("warning", "no plan meets its deadline"),
        "rewarm-e": ("unknown", "could not be planned: EC2 does not answer"),
        "runbooks": ("ok", "201 of 205 runbooks can be restored as they say"),
    }
    assert found.status == FAILED
    assert not [call for call in stack.calls if call.method != "GET" and call.path != "/plans"]


def test_prices_and_quotas_are_those_of_the_functions():
    figures = {usage: known.name for usage, known in adapter._USAGES.items()}
    assert figures == prices.ROWS
    assert adapter._RATE_USAGE.name == prices.RATE
    assert adapter._FAMILIES == prices.FAMILIES
    assert (shipped._FAST_SNAPSHOT_RESTORES, shipped._INITIALIZATION_RATE, shipped._VOLUME_COPIES) == (
        quotas.FAST_RESTORES, quotas.RATE, quotas.COPIES,
    )  # fmt: skip


def test_a_volume_in_use_is_not_attached_by_a_dry_run(account, examined):
    account.answers["DescribeVolumes"] = {"Volumes": [aws.volume(State="in-use")]}
    examined(*WITH_INSTANCE, *WITH_DATA)
    assert "AttachVolume" not in {call.operation for call in account.calls}


@pytest.mark.parametrize(
    "told",  # type, what EC2 says, what it takes, whether that is known to be wrong
    [
        ("m8gn.48xlarge", 128, 64, True),
        ("c8gn.48xlarge", 128, 64, True),
        ("c8gn.48xlarge", 64, 64, False),
        ("r8gn.48xlarge", 128, 128, False),
    ],
)
@pytest.mark.parametrize("is_full", [False, True])
def test_a_limit_that_is_known_to_be_wrong_is_not_believed(account, examined, told, *, is_full):
    kind, said, most, is_wrong = told
    volumes = most if is_full else most - 1
    attached = [{"DeviceName": f"/dev/xvd{number}"} for number in range(volumes)]
    account.answers["DescribeInstances"] = aws.instance(InstanceType=kind, BlockDeviceMappings=attached)
    account.answers["DescribeInstanceTypes"] = types(
        MaximumEbsAttachments=said, AttachmentLimitType="dedicated"
    )
    (found,) = examined(*WITH_INSTANCE).of["attachments"]
    assert found["status"] == ("problem" if is_full else "ok")
    assert f"{volumes} volumes, of {most} attachments for volumes alone" in found["found"]
    assert (f"says {said}, which is known to be wrong for {kind}" in found["found"]) == is_wrong


def test_disks_of_the_instances_own_take_places_too(account, examined):
    answer = types(MaximumEbsAttachments=4)
    answer["InstanceTypes"][0]["InstanceStorageInfo"] = {"Disks": [{"Count": 2, "SizeInGB": 900}]}
    account.answers["DescribeInstanceTypes"] = answer
    assert examined(*WITH_INSTANCE).of["attachments"][0]["status"] == "problem"
