"""Permissions that stay although no run of the fast lab uses them, with the reason and the calls."""

from __future__ import annotations

from collections.abc import Iterator

from local.aws.permissions.conditions import Context
from local.aws.permissions.policies import Need
from local.aws.permissions.requests import Place
from local.soak.lab.template import ACCOUNT, REGION, STACK
from local.soak.trouble.permissions.permission_use import Use

Call = tuple[str, str, Context] | tuple[str, str]
_PLACE = Place(ACCOUNT, REGION)
_VOLUME, _INSTANCE = _PLACE.ec2("vol-0123456789abcdef0"), _PLACE.ec2("i-0123456789abcdef0")
_SNAPSHOT = f"arn:aws:ec2:{REGION}::snapshot/snap-0aaaaaaaaaaaaaaaa"
_KEY = _PLACE.arn("kms", "key/11111111-2222-3333-4444-555555555555")
_BUCKET = f"arn:aws:s3:::{STACK}-artifactsbucket"
_AGENT = f"{_BUCKET}/agents/sha256/warmer"
_TABLE, _IDEMPOTENCY = (
    _PLACE.arn("dynamodb", f"table/{STACK}-{name}Table") for name in ("Restores", "Idempotency")
)
_SLACK_BOT = _PLACE.arn("secretsmanager", f"secret:{STACK}-SlackBotSecret")
_GRANT: Context = {
    "kms:viaservice": f"ec2.{REGION}.amazonaws.com",
    "kms:grantisforawsresource": "true",
}
_OURS: Context = {"aws:resourcetag/rewarm:stack": STACK, "aws:resourcetag/rewarm:creation": "0"}
_OF_DRILL: Context = {**_OURS, "aws:resourcetag/rewarm:drill": "true"}
_FOR_DRILLS: Context = {"aws:resourcetag/rewarm:drills": "true"}
_COPY: Context = {**_OURS, "aws:resourcetag/rewarm:copy-of": "snap-0aaaaaaaaaaaaaaaa"}


def _document(name: str) -> str:
    return _PLACE.arn("ssm", f"document/{STACK}-{name}Document")


def _execution(machine: str) -> str:
    return _PLACE.arn("states", f"execution:{STACK}-{machine}StateMachine:name")


def _held(prefix: str) -> Context:
    return {"dynamodb:leadingkeys": (f"{prefix}#1",)}


LINUX_ONLY = "the fast lab's instances run Linux; this is the same call for Windows"
BENCHMARKS = "the fast lab has no benchmarks; the embedded AWS has: tests/workflow/volume/test_benchmarks.py"
DEPLOYMENT = (
    "CloudFormation calls it: tests/contract/test_storage_adapters.py, tests/contract/test_end_of_stack.py"
)
SHARED_POLICY = "others need the policy whole; here only after an answer that was lost"
NO_DRILL = "the paths play it in the function of the same name that is not for drills"
NO_DOWNLOAD = "the fast lab looks at devices and writes them without an agent; the embedded AWS downloads it"
NOT_ONLINE = "an instance that is not online, of which the message says more"
HALF_WAY = "an upload in parts that fails half way"
PUT_BACK = "a clean-up that puts a replaced volume back itself, or that the state Replace could not finish"
_BENCHMARK_CALLS: tuple[Call, ...] = (
    ("ssm:SendCommand", _document("Benchmark")),
    ("s3:GetObject", f"{_BUCKET}/benchmarks/1/output.json"),
    ("s3:PutObject", f"{_BUCKET}/benchmarks/1/output.json"),
)
_LOOKS: tuple[Call, ...] = (
    ("ssm:SendCommand", _document("DeviceUse")),
    ("ssm:SendCommand", _document("DeviceUseWindows")),
    ("ssm:SendCommand", _INSTANCE),
    ("ssm:GetCommandInvocation", "*"),
    ("kms:CreateGrant", _KEY, _GRANT),
)

UNPLAYED: tuple[tuple[str, str, tuple[Call, ...]], ...] = (
    (NO_DOWNLOAD, "ReplaceFunctionRole", (("s3:GetObject", _AGENT),)),
    (NO_DOWNLOAD, "RewindFunctionRole", (("s3:GetObject", _AGENT),)),
    (BENCHMARKS, "ApiFunctionRole", (
        *_BENCHMARK_CALLS,
        ("ssm:SendCommand", _document("BenchmarkWindows")),
        ("ssm:SendCommand", _INSTANCE),
        ("ssm:GetCommandInvocation", "*"),
        ("s3:GetObject", _AGENT),
    )),
    (LINUX_ONLY, "DispatchWarmerFunctionRole", (("ssm:SendCommand", _document("WarmerWindows")),)),
    (LINUX_ONLY, "VerifyVolumeFunctionRole", (("ssm:SendCommand", _document("WarmerWindows")),)),
    (LINUX_ONLY, "ReplaceFunctionRole", (("ssm:SendCommand", _document("DeviceUseWindows")),)),
    (LINUX_ONLY, "AttachVolumeFunctionRole", (
        ("ssm:SendCommand", _document("DeviceUseWindows")),
        ("ssm:SendCommand", _INSTANCE),
        ("ssm:GetCommandInvocation", "*"),
        ("s3:GetObject", _AGENT),
    )),
    (LINUX_ONLY, "DrillAttachVolumeFunctionRole", (
        ("ssm:SendCommand", _document("DeviceUseWindows")),
        ("ssm:SendCommand", _INSTANCE, _FOR_DRILLS),
        ("ssm:GetCommandInvocation", "*"),
        ("s3:GetObject", _AGENT),
    )),
    (LINUX_ONLY, "DrillDispatchWarmerFunctionRole", (("ssm:SendCommand", _document("WarmerWindows")),)),
    (LINUX_ONLY, "DrillVerifyVolumeFunctionRole", (("ssm:SendCommand", _document("WarmerWindows")),)),
    (BENCHMARKS, "DrillVerifyVolumeFunctionRole", (*_BENCHMARK_CALLS, ("ec2:DescribeVolumes", "*"))),
    (NO_DRILL, "DrillCreateVolumeFunctionRole", (("ec2:DescribeVolumes", "*"),)),
    (NO_DRILL, "DrillCleanUpFunctionRole", (
        ("ec2:CreateTags", _VOLUME, _OF_DRILL),
        ("ssm:GetCommandInvocation", "*"),
        ("ssm:ListCommands", "*"),
    )),
    (NO_DRILL, "DrillDispatchWarmerFunctionRole", (
        ("ssm:CancelCommand", "*"),
        ("ssm:GetCommandInvocation", "*"),
        ("ssm:ListCommands", "*"),
        ("s3:PutObject", f"{_BUCKET}/restores/1/0/first.map"),
        ("s3:PutObject", f"{_BUCKET}/recordings/vol-1/1-restore-1-0"),
        ("s3:GetObject", f"{_BUCKET}/recordings/vol-1/1-restore-1-0"),
    )),
    (NO_DRILL, "DrillVerifyVolumeFunctionRole", (
        ("ssm:CancelCommand", "*"),
        ("ssm:ListCommands", "*"),
        ("s3:ListBucket", _BUCKET),
    )),
    (NO_DRILL, "DrillRunHookFunctionRole", (
        ("ssm:CancelCommand", "*"),
        ("ssm:ListCommands", "*"),
    )),
    (SHARED_POLICY, "DispatchWarmerFunctionRole", (("ssm:CancelCommand", "*"),)),
    (SHARED_POLICY, "VerifyVolumeFunctionRole", (("ssm:CancelCommand", "*"), ("s3:ListBucket", _BUCKET))),
    *((NOT_ONLINE, f"Drill{name}FunctionRole", (("ec2:DescribeInstances", "*"),))
      for name in ("DispatchWarmer", "VerifyVolume")),
    (SHARED_POLICY, "DrillAttachVolumeFunctionRole",
     (("ec2:DescribeInstances", "*"), ("ssm:DescribeInstanceInformation", "*"))),
    *((HALF_WAY, f"{name}FunctionRole", (("s3:AbortMultipartUpload", f"{_BUCKET}/deltas/list"),))
      for name in ("ListBlocks", "CopyShard")),
    ("a shard whose tokens have expired: tests/workflow/rewind/test_copy_blocks.py", "CopyShardFunctionRole",
     (("ebs:ListChangedBlocks", _SNAPSHOT), ("ebs:ListSnapshotBlocks", _SNAPSHOT))),
    ("a pack of a log of which an earlier attempt has a part: tests/unit/steps/blocks/test_copy_shard.py",
     "CopyShardFunctionRole", (("s3:GetObject", f"{_BUCKET}/undo/restore/0/1/000003-000"),)),
    (SHARED_POLICY, "RewindFunctionRole", (("ssm:CancelCommand", "*"), ("ssm:ListCommands", "*"))),
    ("others need the policy whole; a rewind lists just the blocks that differ", "ChooseStrategyFunctionRole",
     (("ebs:ListSnapshotBlocks", _SNAPSHOT),)),
    ("an encrypted volume that goes back to a snapshot", "ChooseStrategyFunctionRole",
     (("kms:Decrypt", _KEY, {"kms:viaservice": f"ec2.{REGION}.amazonaws.com"}),)),
    ("a shard that could not be copied: tests/workflow/rewind/test_copy_blocks.py", "JoinPartsFunctionRole",
     (("s3:ListBucket", _BUCKET), ("s3:GetObject", f"{_BUCKET}/deltas/restore/0/failed-000000.json"))),
    (PUT_BACK, "SweepFunctionRole", (*_LOOKS, ("s3:GetObject", _AGENT))),
    ("a stopped rewind whose way back is looked for: tests/unit/steps/record/test_way_back.py",
     "SweepFunctionRole",
     (("ec2:ListSnapshotsInRecycleBin", "*"), ("s3:GetObject", f"{_BUCKET}/undo/restore/0/log.json"))),
    (PUT_BACK, "CleanUpFunctionRole", (
        *_LOOKS,
        ("s3:GetObject", _AGENT),
        ("ec2:DeleteTags", _VOLUME, {**_OURS, "aws:tagkeys": ("rewarm:boost",)}),
    )),
    ("a plan while volumes have rates that other restores use", "ChooseStrategyFunctionRole",
     (("ec2:DescribeVolumeStatus", "*"),)),
    *(("the fast lab's Slack app has no channel: the embedded AWS has, tests/workflow/stack/test_chat.py",
       f"{name}FunctionRole", (("secretsmanager:GetSecretValue", _SLACK_BOT),))
      for name in ("Announce", "Rules", "Sweep")),
    ("a rule that matches snapshots, and a volume that was deleted: tests/unit/steps/adopt/test_look.py",
     "RulesFunctionRole",
     (("ec2:DescribeSnapshots", "*"),
      ("dynamodb:DeleteItem", _TABLE, {"dynamodb:leadingkeys": ("adoption#vol-1",)}))),
    ("a page of a restore whose agent has written nothing yet", "PublicFunctionRole",
     (("s3:ListBucket", _BUCKET),)),
    ("a request that asks for a device of a restore whose execution may be over", "ApiFunctionRole",
     (("states:DescribeExecution", _execution("Restore")),
      ("states:DescribeExecution", _execution("RestoreVolume")))),
    ("somebody fetches a fleet's plan that is being made", "ApiFunctionRole",
     (("states:DescribeExecution", _execution("Fleet")),)),
    ("Powertools reads and removes a key whose first request failed", "ApiFunctionRole",
     (("dynamodb:GetItem", _IDEMPOTENCY), ("dynamodb:DeleteItem", _IDEMPOTENCY))),
    ("a restore that has to give back what it holds", "ParseRequestFunctionRole",
     (("dynamodb:DeleteItem", _TABLE, _held("target")),)),
    ("a restore that has to give back what it holds", "SelectSnapshotFunctionRole",
     (("dynamodb:DeleteItem", _TABLE, _held("target")),)),
    ("other restores hold other devices of the instance", "ReleaseTargetFunctionRole",
     (("dynamodb:PutItem", _TABLE, _held("target")),)),
    ("a snapshot that is being restored from the archive", "SelectSnapshotFunctionRole",
     (("ec2:DescribeSnapshotTierStatus", "*"),)),
    ("an upload of a large block map that fails half way", "SelectSnapshotFunctionRole",
     (("s3:AbortMultipartUpload", f"{_BUCKET}/restores/1/0/blocks.map"),)),
    (DEPLOYMENT, "PublishAgentFunctionRole", (
        *((f"s3:{verb}Object", _AGENT) for verb in ("Put", "Delete")),
        ("s3:ListBucket", _BUCKET),
    )),
    (DEPLOYMENT, "SweepFunctionRole", (
        ("states:StopExecution", _execution("Restore")),
        ("states:StopExecution", _execution("RestoreVolume")),
        ("states:StopExecution", _execution("Fleet")),
        ("cloudformation:DescribeStacks", _PLACE.arn("cloudformation", f"stack/{STACK}/1")),
    )),
    ("a snapshot that is being restored from the archive", "PrepareFleetFunctionRole",
     (("ec2:DescribeSnapshotTierStatus", "*"),)),
    ("a fleet beside restores with a rate or fast snapshot restore", "PrepareFleetFunctionRole",
     (("ec2:DescribeVolumeStatus", "*"), ("cloudwatch:GetMetricData", "*"))),
    ("a calibration that was killed: tests/workflow/volume/test_calibration.py", "SweepFunctionRole",
     (("ec2:DeleteSnapshot", _PLACE.ec2("snap-0123456789abcdef0"),
       {**_OURS, "aws:resourcetag/rewarm:calibration": "calibration-1"}),)),
    ("a restore that is stopped after its snapshot was copied: tests/unit/steps/volume/test_copy_snapshot.py",
     "SweepFunctionRole",
     (("ec2:DeleteSnapshot", _PLACE.ec2("snap-0123456789abcdef0"), _COPY),)),
    ("a restore that fails after its snapshot was copied: tests/workflow/volume/test_snapshot_copies.py",
     "CleanUpFunctionRole",
     (("ec2:DeleteSnapshot", _PLACE.ec2("snap-0123456789abcdef0"), _COPY), ("ec2:DescribeSnapshots", "*"))),
    ("a volume's execution that has outlived its restore and waits", "SweepFunctionRole",
     (("states:SendTaskSuccess", "*"),)),
    ("EventBridge Scheduler could not start a drill", "DrillsRole",
     (("sqs:SendMessage", _PLACE.arn("sqs", f"{STACK}-DrillsDeadLetterQueue")),)),
    ("EventBridge could not start a restore for an alarm", "events.amazonaws.com",
     (("sqs:SendMessage", _PLACE.arn("sqs", f"{STACK}-AlarmEventsDeadLetterQueue"),
       {"aws:sourceaccount": ACCOUNT}),)),
    ("the fast lab has no API for tokens: tests/workflow/stack/test_tokens.py plays it on the embedded AWS",
     "apigateway.amazonaws.com",
     (("lambda:InvokeFunction", _PLACE.arn("lambda", f"function:{STACK}-ApiFunction"),
       {"aws:sourcearn": _PLACE.arn("execute-api", f"{STACK}-JwtApi/$default/GET/restores")}),)),
    ("API Gateway writes access logs, which no lab has", "apigateway.amazonaws.com",
     (("sts:AssumeRole", f"arn:aws:iam::{ACCOUNT}:role/{STACK}-ApiLogsWriter"),)),
)  # fmt: skip


FORBIDDEN: tuple[tuple[str, str, tuple[Call, ...]], ...] = tuple(
    ("user data runs as root at the next boot", principal,
     (("ec2:ModifyInstanceAttribute", _INSTANCE, {"ec2:attribute": "UserData"}),))
    for principal in ("AttachVolumeFunctionRole", "ReplaceFunctionRole")
)  # fmt: skip
"""What an explicit denial keeps functions from, with the reason."""


def unplayed() -> Iterator[Use]:
    """Each line's calls."""
    yield from _uses(UNPLAYED)


def forbidden() -> Iterator[Use]:
    """Calls that must be refused."""
    yield from _uses(FORBIDDEN)


def _uses(table: tuple[tuple[str, str, tuple[Call, ...]], ...]) -> Iterator[Use]:
    for why, principal, calls in table:
        for call in calls:
            yield Use(why, principal, Need(*call))
