"""What the user and the stack's roles may do: by IAM's simulator, and by EC2's DryRun."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rewarm_cli.doctor.account import Account, NoAnswerError
from rewarm_cli.doctor.findings import Finding, ok, unknown, warning
from rewarm_cli.doctor.simulation import Need, principal_of, simulated
from rewarm_cli.doctor.snapshots import described_volume

Json = dict[str, Any]

EXAMPLE = "0123456789abcdef0"
"""The simulator accepts resources that do not exist (botocore, iam SimulatePrincipalPolicy)."""
ROUTES = {
    "look": ("GET/restores", "POST/plans"),
    "restore": ("POST/restores", f"DELETE/restores/{EXAMPLE}"),
    "runbooks": ("PUT/runbooks/rewarm-example", "DELETE/runbooks/rewarm-example"),
}
"""What people do -> its routes, as execute-api has them behind the stage."""
OPERATOR = "attach docs/policies/operator.json to these credentials, if they are to do this"
STACK_AGAIN = "make deploy again: the stack's roles are not as its template has them"


def caller(account: Account) -> Iterator[Finding]:
    """The user may look, restore and write runbooks."""
    api_id = account.stack.outputs.get("RestApiId")
    principal = principal_of(account)
    if api_id is None:
        yield unknown("caller", "the API is not known, for want of the stack", "find the stack first")
        return
    if principal is None:
        yield unknown(
            "caller",
            f"the simulator takes users and roles only, and you are {account.caller}",
            "use a user or a role; the root user may do all that the organization does not deny",
        )
        return
    for name, routes in ROUTES.items():
        needs = [
            Need(("execute-api:Invoke",), account.arn("execute-api", f"{api_id}/v1/{route}"))
            for route in routes
        ]
        finding = simulated(account, principal, f"caller: {name}", needs, OPERATOR)
        # A person who only reads, or only restores, needs only the permissions for that.
        is_optional = name != "look" and finding.status == "problem"
        yield warning(finding.check, finding.found, finding.todo) if is_optional else finding


def roles(account: Account) -> Iterator[Finding]:
    """Whether the stack's roles may do what a restore needs, within their boundary and organization."""
    if not account.stack.resources:
        yield unknown("roles", "they are not known, for want of the stack", "find the stack first")
        return
    for name, needs in _needs(account).items():
        role = account.stack.resources.get(f"{name}Role")
        if role is None:
            yield unknown(name, f"the stack has no role {name}Role", STACK_AGAIN)
            continue
        arn = account.arn("iam", f"role/{role}", region=False)
        yield simulated(account, arn, name, needs, STACK_AGAIN)


def _needs(account: Account) -> dict[str, list[Need]]:
    """Function -> what it does in the course of a restore (template.yaml, docs/permissions.md)."""
    stack = account.settings.stack
    outputs = account.stack.outputs
    wanted = account.wanted
    volume = account.arn("ec2", f"volume/{wanted.volume or f'vol-{EXAMPLE}'}")
    instance = account.arn("ec2", f"instance/{wanted.instance or f'i-{EXAMPLE}'}")
    snapshot = account.arn("ec2", f"snapshot/{wanted.snapshot or f'snap-{EXAMPLE}'}", account=False)
    document = account.arn("ssm", f"document/{outputs.get('WarmerDocumentName', EXAMPLE)}")
    agents = account.arn(
        "s3", f"{outputs.get('ArtifactsBucket', EXAMPLE)}/agents/x", region=False, account=False
    )
    tags = {"rewarm:stack": stack, "rewarm:creation": EXAMPLE}
    asked, own = ({f"aws:{of}Tag/{key}": tags[key] for key in tags} for of in ("Request", "Resource"))
    return {
        "CreateVolumeFunction": [
            Need(("ec2:CreateVolume",), volume, asked),
            Need(("ec2:CreateVolume",), snapshot),
            Need(("ec2:CreateTags",), volume, {"ec2:CreateAction": "CreateVolume"}),
        ],
        "AttachVolumeFunction": [
            Need(("ec2:AttachVolume",), volume, own),
            Need(("ec2:AttachVolume",), instance),
        ],
        "PrepareSnapshotFunction": [Need(("ec2:EnableFastSnapshotRestores",), snapshot)],
        "DispatchWarmerFunction": [
            Need(("ssm:SendCommand",), document),
            Need(("ssm:SendCommand",), instance),
            Need(("s3:GetObject",), agents),
        ],
        "CleanUpFunction": [
            Need(("ec2:DetachVolume", "ec2:DeleteVolume"), volume, own),
            Need(("ec2:DisableFastSnapshotRestores",), snapshot),
        ],
        "AnnounceFunction": [Need(("sns:Publish",), outputs.get("NotificationTopicArn", "*"))],
        "ApiFunction": [Need(("states:StartExecution",), outputs.get("RestoreStateMachineArn", "*"))],
    }


def dry_runs(account: Account) -> Iterator[Finding]:
    """What EC2 itself answers these credentials with DryRun. Rewarm uses its own roles for these calls."""
    refused = []
    for operation, parameters in _calls(account):
        try:
            account.ask("ec2", operation, **parameters, DryRun=True)
        except NoAnswerError as error:
            if error.code == "DryRunOperation":
                yield ok(f"dry run: {operation}", "EC2 would do it for these credentials")
            elif error.is_denied:
                refused.append(error.action)
            else:
                yield unknown(
                    f"dry run: {operation}", str(error), "nothing: EC2 checked something else first"
                )
    if refused:
        yield warning(
            "dry run",
            f"EC2 does not do {', '.join(refused)} for these credentials; Rewarm's roles do it",
            "nothing; allow it to people who mend things by hand",
        )


def _calls(account: Account) -> Iterator[tuple[str, Json]]:
    """Operations and parameters; those for a volume or a snapshot only if the user named one."""
    wanted = account.wanted
    zones = account.ask("ec2", "DescribeAvailabilityZones")["AvailabilityZones"]
    zone = next(found["ZoneName"] for found in zones)
    made_of: Json = {"SnapshotId": wanted.snapshot} if wanted.snapshot else {"Size": 1}
    yield "CreateVolume", {"AvailabilityZone": zone, "VolumeType": "gp3", **made_of}
    if wanted.snapshot:
        pairs = {"AvailabilityZones": [zone], "SourceSnapshotIds": [wanted.snapshot]}
        yield "EnableFastSnapshotRestores", pairs
    if wanted.volume:
        yield "ModifyVolume", {"VolumeId": wanted.volume, "VolumeType": "gp3"}
    volume = described_volume(account, wanted.volume) if wanted.volume and wanted.instance else None
    # For a volume in use EC2 would say what it lacks, and not whether the call is allowed.
    if volume is not None and volume["State"] == "available":
        place = {"InstanceId": wanted.instance, "Device": "/dev/sdp"}
        yield "AttachVolume", {"VolumeId": wanted.volume, **place}
