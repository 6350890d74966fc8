"""Who may do what to which things, in rules that say what they are for. Nobody may what no rule gives.

The rules are written from the things' side: who deletes volumes, and which; who writes what decides what runs
on an instance. template.yaml has the same from the roles' side.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache

from local.soak.lab.template import ACCOUNT, STACK
from rewarm.domain.volume.adopting import WARM_SINCE_TAG
from rewarm.domain.volume.leftovers import FAILED_TAG, INCOMPLETE_TAG, REWINDING_STACK_TAG, REWINDING_TAG
from rewarm.domain.volume.performance import BOOST_TAG
from rewarm.domain.volume.replacing import STARTED_TAG
from rewarm.domain.volume.replacing import TAGS as REPLACED_TAGS
from tests.contract.permissions.meanings import (
    ANY_KEY,
    ANY_SNAPSHOT,
    INSTANCE,
    KEY,
    NOTHING,
    SNAPSHOT,
    VOLUME,
    Rule,
    Where,
    a_document,
    belongs_to,
    called_by,
    carries,
    consents,
    either,
    for_aws,
    items,
    made,
    made_for_a_drill,
    marked,
    marks,
    no_named_attribute,
    objects,
    of_this_account,
    on,
    only_keys,
    rule,
    says_who_makes_it,
    through_any_ec2,
    through_ec2,
    while_making,
)
from tests.contract.repository import MACHINES

IN_PARTS = "s3: GetObject PutObject ListMultipartUploadParts AbortMultipartUpload"
"""How a Distributed Map writes its results."""
DRILLS = "DrillAttachVolume DrillDispatchWarmer DrillVerifyVolume"


def _made() -> Iterator[Rule]:
    # Volumes are made with the tags that later prove whose they are, and nothing else gets them.
    yield rule("CreateVolume", "ec2: CreateVolume CopyVolumes", on("new volume"), says_who_makes_it)
    yield rule("DrillCreateVolume", "ec2: CreateVolume", on("new volume"), says_who_makes_it,
               lambda attempt: attempt.asked("drill") == "true")  # fmt: skip
    yield rule("CreateVolume DrillCreateVolume", "ec2: CreateVolume", SNAPSHOT)
    yield rule("CreateVolume", "ec2: CopyVolumes", VOLUME)
    yield rule(
        "CreateVolume", "ec2: CreateTags", on("new volume"), while_making("CreateVolume", "CopyVolumes")
    )
    yield rule("DrillCreateVolume", "ec2: CreateTags", on("new volume"), while_making("CreateVolume"))
    # Snapshots: copies, and the evidence of a rewind, which nobody deletes.
    yield rule("PrepareSnapshot", "ec2: CopySnapshot", on("new snapshot"), says_who_makes_it)
    yield rule("Rewind", "ec2: CreateSnapshot", VOLUME)
    ours = [on("new snapshot"), lambda attempt: attempt.asked("stack") == STACK]
    yield rule("Rewind", "ec2: CreateSnapshot", *ours)
    yield rule("Rewind", "ec2: CreateTags", *ours, while_making("CreateSnapshot"))
    yield rule("PrepareSnapshot", "ec2: CreateTags", *ours, while_making("CopySnapshot"))
    yield rule("Release CleanUp Sweep", "ec2: DeleteSnapshot", SNAPSHOT, made, carries("copy-of"))
    yield rule("Sweep", "ec2: DeleteSnapshot", SNAPSHOT, made, carries("calibration"))
    # Fast snapshot restore costs money by the hour; the record says whose it is.
    yield rule("PrepareSnapshot", "ec2: EnableFastSnapshotRestores", SNAPSHOT)
    yield rule("Release CleanUp Sweep", "ec2: DisableFastSnapshotRestores", SNAPSHOT)


def _changed() -> Iterator[Rule]:
    # A volume is deleted only if this stack made it; a drill deletes only drills' volumes.
    yield rule("CleanUp Sweep", "ec2: DeleteVolume DetachVolume", VOLUME, made)
    yield rule("DrillCleanUp", "ec2: DeleteVolume DetachVolume", VOLUME, made_for_a_drill)
    yield rule("Replace", "ec2: DetachVolume", VOLUME, either(made, marked("replaced")))
    yield rule("CleanUp Sweep Replace", "ec2: DetachVolume", INSTANCE)
    yield rule("DrillCleanUp", "ec2: DetachVolume", INSTANCE, consents("drills"))
    yield rule("AttachVolume", "ec2: AttachVolume", VOLUME, made)
    yield rule("CleanUp Sweep", "ec2: AttachVolume", VOLUME, marked("replaced"))
    yield rule("DrillAttachVolume", "ec2: AttachVolume", VOLUME, made_for_a_drill)
    yield rule("AttachVolume CleanUp Sweep", "ec2: AttachVolume", INSTANCE)
    yield rule("DrillAttachVolume", "ec2: AttachVolume", INSTANCE, consents("drills"))
    # What AWS Backup has made for a restore test, on an instance that its owner gives to such tests.
    tests, both = "RestoreTestingStateMachine", "ec2: AttachVolume DetachVolume"
    yield rule(tests, both, VOLUME, carries("awsbackup-restore-test"))
    yield rule(tests, both, INSTANCE, lambda attempt: attempt.tag("restore-testing") == "yes")
    # Performance: of our volumes, and of those whose owner has said so where a person names the volume, or a
    # boost of one that was there begins or ends.
    yield rule("Release CleanUp Sweep ChangePerformance", "ec2: ModifyVolume", VOLUME, made)
    yield rule("DrillRelease", "ec2: ModifyVolume", VOLUME, made_for_a_drill)
    changers = "BoostVolume Release CleanUp Sweep ChangePerformance"
    yield rule(changers, "ec2: ModifyVolume", VOLUME, consents("managed"))
    # Instances.
    yield rule("Replace", "ec2: CreateReplaceRootVolumeTask", on("instance", "volume", "task"))
    yield rule("AttachVolume CleanUp Sweep Replace", "ec2: ModifyInstanceAttribute", on("instance", "volume"),
               no_named_attribute)  # fmt: skip
    yield rule("StartInstance", "ec2: StartInstances", INSTANCE, marked("started"))
    yield rule("CleanUp Sweep", "ec2: StopInstances", INSTANCE, marked("started"))


def _tags() -> Iterator[Rule]:
    # On what is there, only tags that give no right to it, or that this stack takes off again.
    yield rule("Replace", "ec2: CreateTags", VOLUME, marks("replaced"), only_keys(*REPLACED_TAGS))
    yield rule("Rewind", "ec2: CreateTags", VOLUME, marks("rewinding"),
               only_keys(REWINDING_TAG, REWINDING_STACK_TAG))  # fmt: skip
    yield rule("StartInstance", "ec2: CreateTags", INSTANCE, marks("started"), only_keys(STARTED_TAG))
    yield rule("Release", "ec2: CreateTags", VOLUME, only_keys(WARM_SINCE_TAG))
    failed = only_keys(FAILED_TAG, INCOMPLETE_TAG)
    yield rule("CleanUp Sweep", "ec2: CreateTags", VOLUME, made, failed)
    yield rule("DrillCleanUp", "ec2: CreateTags", VOLUME, made_for_a_drill, failed)
    # A request without keys removes all tags, so each is named.
    yield rule("Release CleanUp Sweep", "ec2: DeleteTags", VOLUME, made, only_keys(BOOST_TAG))
    yield rule("DrillRelease", "ec2: DeleteTags", VOLUME, made_for_a_drill, only_keys(BOOST_TAG))
    yield rule("CleanUp Sweep", "ec2: DeleteTags", VOLUME, marked("replaced"), only_keys(*REPLACED_TAGS))
    yield rule("CleanUp Sweep StartInstance", "ec2: DeleteTags", INSTANCE, marked("started"),
               only_keys(STARTED_TAG))  # fmt: skip
    yield rule("Rewind", "ec2: DeleteTags", VOLUME, marked("rewinding"),
               only_keys(REWINDING_TAG, REWINDING_STACK_TAG))  # fmt: skip


def _looks() -> Iterator[Rule]:
    # Looking changes nothing. AWS knows no resources of these actions, but of the last four.
    planners = "Api ChooseStrategy PrepareFleet"
    finders = "Api PrepareFleet SelectSnapshot"
    at_instances = (f"{finders} {DRILLS} AttachVolume ChooseStrategy CleanUp DispatchWarmer DrillRunHook "
                    "PollInitialization Replace Rewind Rules RunHook StartInstance Sweep "
                    "VerifyVolume")  # fmt: skip
    enders, announcers = "Release CleanUp Sweep", "Announce Report Sweep"
    at_volumes = (f"{planners} {enders} AttachVolume BoostVolume CheckVolume CreateVolume DrillAttachVolume "
                  "DrillCleanUp DrillCreateVolume DrillRelease DrillVerifyVolume PollInitialization Replace "
                  "RestoreTestingStateMachine Rewind Rules SelectSnapshot StartInstance "
                  "VerifyVolume")  # fmt: skip
    at_metrics = (f"{planners} CheckPerformance ConfirmReadiness DispatchWarmer DrillDispatchWarmer "
                  "PollInitialization PrepareSnapshot")  # fmt: skip
    for who, actions in (
        (f"{at_instances} RestoreTestingStateMachine", "ec2: DescribeInstances"),
        ("RestoreTestingStateMachine", "backup: DescribeRestoreJob PutRestoreValidationResult"),
        (at_instances, "ssm: DescribeInstanceInformation"),
        ("StartInstance", "ec2: DescribeInstanceStatus"),
        (f"{planners} Rules SelectSnapshot VerifyVolume DrillVerifyVolume", "ec2: DescribeInstanceTypes"),
        (f"{at_volumes} {announcers}", "ec2: DescribeVolumes"),
        (f"{planners} PollInitialization SelectSnapshot", "ec2: DescribeVolumeStatus"),
        (f"{enders} Api BoostVolume ChangePerformance CheckPerformance DrillRelease",
         "ec2: DescribeVolumesModifications"),
        (finders, "ec2: DescribeAvailabilityZones DescribeImages DescribeSnapshotTierStatus"),
        (f"{finders} {announcers}", "ec2: ListSnapshotsInRecycleBin"),
        (f"{finders} {enders} {announcers} ChooseStrategy PrepareSnapshot Rewind Rules",
         "ec2: DescribeSnapshots"),
        (f"{planners} {enders} PrepareSnapshot", "ec2: DescribeFastSnapshotRestores"),
        ("Replace", "ec2: DescribeReplaceRootVolumeTasks"),
        ("Api CheckPerformance", "cloudtrail: LookupEvents"),
        (at_metrics, "cloudwatch: GetMetricData"),
        (f"{planners} Rules Sweep", "pricing: GetProducts"),
    ):  # fmt: skip
        yield rule(who, actions, NOTHING)
    yield rule("Replace", "ec2: DescribeVolumeAttribute", VOLUME)
    yield rule(planners, "servicequotas: GetServiceQuota", on("quota"))
    yield rule("ListBlocks", "servicequotas: GetServiceQuota",
               lambda attempt: f":{ACCOUNT}:ebs/" in attempt.thing.arn)  # fmt: skip
    yield rule("Sweep", "cloudformation: DescribeStacks", on(f"stack/{STACK}/1"))


def _data() -> Iterator[Rule]:
    # Only one role reads what is on snapshots; others see which blocks are written.
    yield rule("CopyShard", "ebs: GetSnapshotBlock", ANY_SNAPSHOT)
    yield rule(
        "ChooseStrategy CopyShard ListBlocks SelectSnapshot",
        "ebs: ListChangedBlocks ListSnapshotBlocks",
        ANY_SNAPSHOT,
    )
    yield rule("Api", "ebs: ListChangedBlocks", SNAPSHOT)
    # Keys are used by EC2 in the roles' name, and never by the roles themselves.
    makers, use = (
        "CreateVolume DrillCreateVolume",
        ("kms: Decrypt DescribeKey GenerateDataKeyWithoutPlaintext ReEncryptFrom ReEncryptTo"),
    )
    yield rule(makers, use, KEY, through_ec2)
    yield rule("PrepareSnapshot", use, ANY_KEY, through_any_ec2)
    yield rule("ChooseStrategy CopyShard ListBlocks SelectSnapshot", "kms: Decrypt", ANY_KEY, through_any_ec2)
    yield rule("Api", "kms: Decrypt", KEY, through_ec2)
    yield rule(f"{makers} AttachVolume CleanUp DrillAttachVolume Replace RestoreTestingStateMachine "
               "StartInstance Sweep",
               "kms: CreateGrant", KEY, through_ec2, for_aws)  # fmt: skip
    yield rule("PrepareSnapshot", "kms: CreateGrant", ANY_KEY, through_any_ec2, for_aws)
    yield rule("Api PrepareFleet SelectSnapshot", "kms: DescribeKey", ANY_KEY)


def _bucket() -> Iterator[Rule]:
    # Agents run as root on instances: only the deployment writes them.
    yield rule("PublishAgent", "s3: PutObject DeleteObject", objects("agents/*"))
    runs_agents = (
        f"AttachVolume CleanUp DispatchWarmer {DRILLS} DrillRunHook Replace Rewind RunHook Sweep VerifyVolume"
    )
    yield rule(f"{runs_agents} Api", "s3: GetObject", objects("agents/*"))
    # What is written on volumes: packs and manifests, and what undoes that.
    yield rule(
        "ListBlocks CopyShard", "s3: GetObject PutObject", objects("deltas/*", "undo/*/[0-9]*/[0-9]*/*")
    )
    yield rule("ListBlocks CopyShard", "s3: AbortMultipartUpload", objects("deltas/*"))
    yield rule("Rewind", "s3: GetObject", objects("deltas/*"))
    yield rule("Rewind", "s3: PutObject", objects("deltas/*/part-*"))
    yield rule("Rewind", "s3: GetObject PutObject", objects("undo/*/log.json", "rewound/*"))
    yield rule("Announce Api Report SelectSnapshot Sweep", "s3: GetObject", objects("undo/*/log.json"))
    yield rule("Api ChooseStrategy", "s3: GetObject", objects("rewound/*"))
    yield rule("Api", "s3: DeleteObject", objects("undo/*"))
    yield rule("JoinParts", "s3: GetObject", objects("deltas/*/part-*", "deltas/*/failed-*"))
    yield rule("CopyBlocksStateMachine", IN_PARTS, objects("deltas/*/results-*"))
    yield rule("CopyBlocksStateMachine", "s3: GetObject", objects("deltas/*/blocks-*.jsonl"))


def _files() -> Iterator[Rule]:
    # Files of restores: what is to be made, how it goes, and how it went.
    written = objects("restores/*/volumes.json", "restores/*/blocks.map", "restores/*/first.map")
    yield rule("SelectSnapshot", "s3: PutObject", written)
    yield rule("SelectSnapshot", "s3: AbortMultipartUpload", objects("restores/*/blocks.map"))
    yield rule("ChooseStrategy", "s3: PutObject", objects("restores/*/plan*.json"))
    progress = objects("restores/*/progress*.json")
    yield rule("DispatchWarmer DrillDispatchWarmer Rewind", "s3: PutObject", progress)
    warmers, recordings = "DispatchWarmer DrillDispatchWarmer", objects("recordings/*")
    yield rule(warmers, "s3: PutObject", objects("restores/*/first.map", "recordings/*"))
    yield rule(f"Api SelectSnapshot ChooseStrategy Report {warmers}", "s3: GetObject", recordings)
    yield rule("Api", "s3: DeleteObject", recordings)
    yield rule("KeepResult", "s3: PutObject", objects("restores/*/result.json"))
    yield rule("KeepResult", "s3: GetObject", objects("restores/*/result.json", "restores/*/report.json"))
    yield rule("Report Sweep", "s3: PutObject", objects("restores/*/report.*"))
    yield rule("Announce", "s3: GetObject PutObject", objects("restores/*/report.sent"))
    yield rule("PollInitialization", "s3: PutObject", objects("restores/*/samples.json"))
    yield rule("PrepareFleet ReportFleet", "s3: PutObject", objects("restores/fleet-*"))
    yield rule("Api", "s3: PutObject", objects("restores/fleet-*/fleet-request.json"))
    yield rule("FleetStateMachine", IN_PARTS, objects("restores/fleet-*/results-*"))
    yield rule("FleetStateMachine", "s3: GetObject", objects("restores/fleet-*/run-*.json"))
    yield rule("Api ChooseStrategy ConfirmReadiness DispatchWarmer DrillDispatchWarmer DrillVerifyVolume "
               "LoadPlan PollInitialization PrepareFleet Report ReportFleet Rewind Sweep VerifyVolume",
               "s3: GetObject", objects("restores/*"))  # fmt: skip
    yield rule("Announce", "s3: GetObject", objects("restores/*/plans.json"))
    yield rule("Public", "s3: GetObject", objects("restores/*/report.html", "restores/*/progress*.json"))
    yield rule("Api VerifyVolume DrillVerifyVolume", "s3: GetObject PutObject", objects("benchmarks/*"))
    yield rule("Announce Api ChooseStrategy CopyShard DispatchWarmer DrillDispatchWarmer DrillVerifyVolume "
               "JoinParts KeepResult ListBlocks PollInitialization PrepareFleet Public PublishAgent Report "
               "ReportFleet Rewind SelectSnapshot Sweep VerifyVolume",
               "s3: ListBucket", on("bucket"))  # fmt: skip


def _records() -> Iterator[Rule]:
    """The table of restores is the proof of what is ours, so each role has only what its step keeps there."""
    steps = ("Announce AwaitSignal BoostVolume ChangePerformance CheckApproval CreateVolume DispatchWarmer "
             "DrillCleanUp DrillCreateVolume DrillDispatchWarmer DrillRelease DrillRunHook DrillVerifyVolume "
             "PollInitialization PrepareFleet PrepareSnapshot Replace Report Rewind RunHook SelectSnapshot "
             "StartInstance VerifyVolume")  # fmt: skip
    yield rule(f"{steps} ParseRequest Release CleanUp Sweep Api", "dynamodb: GetItem UpdateItem", items())
    yield rule("AttachVolume DrillAttachVolume CheckVolume ReportFleet", "dynamodb: GetItem", items())
    yield rule("ChooseFallback CheckPerformance", "dynamodb: UpdateItem", items())
    yield rule("ParseRequest Sweep Api", "dynamodb: PutItem", items())
    yield rule("Release CleanUp Sweep Api WakeUp", "dynamodb: DeleteItem", items())
    yield rule("Sweep", "dynamodb: BatchGetItem", items())
    # Holds on devices and on places in the stack.
    yield rule("ReleaseTarget", "dynamodb: GetItem PutItem UpdateItem DeleteItem", items("target", "running"))
    yield rule("ParseRequest", "dynamodb: BatchGetItem DeleteItem", items("target", "running"))
    yield rule("SelectSnapshot", "dynamodb: PutItem DeleteItem", items("target"))
    # What an adopted volume goes back to, noted before it is raised, and again if the note is lost.
    yield rule("BoostVolume Release CleanUp", "dynamodb: PutItem", items("boost"))
    # Some kinds only.
    yield rule("ChooseStrategy CopyShard", "dynamodb: UpdateItem", items("pace"))
    yield rule("ListBlocks", "dynamodb: UpdateItem", items("restore-volume"))
    yield rule("ChooseStrategy", "dynamodb: BatchGetItem", items("history"))
    yield rule("Announce Report Public", "dynamodb: BatchGetItem", items("restore-volume"))
    yield rule("ReportFleet", "dynamodb: BatchGetItem", items("restore"))
    yield rule("PrepareFleet", "dynamodb: BatchGetItem", items("restore", "history"))
    yield rule("Api", "dynamodb: BatchGetItem", items("history", "running", "restore", "restore-volume"))
    # What everybody can call.
    yield rule("KeepResult", "dynamodb: GetItem", items("restore", "restore-volume"))
    yield rule("Public", "dynamodb: GetItem", items("restore", "restore-volume", "page-key"))
    yield rule("Public", "dynamodb: UpdateItem", items("restore"))
    yield rule("Public", "dynamodb: DeleteItem", items("signal"))
    yield rule("Api", "dynamodb: GetItem PutItem UpdateItem DeleteItem", on("IdempotencyTable"))
    # What rules know, and what their limits depend on.
    known = "adoption", "adoptions", "adoptions-look"
    yield rule("Rules", "dynamodb: PutItem UpdateItem DeleteItem", items(*known))
    read = items(*known, "target", "running", "restore")
    yield rule("Rules", "dynamodb: GetItem BatchGetItem", read)
    yield rule("Api Rules Sweep", "dynamodb: Query", on("RestoresTable/index/by-status"))


def _commands() -> Iterator[Rule]:
    # What runs as root on an instance is a document of this stack. One role only has the one that writes.
    documents = {
        "Apply": "Rewind", "DeviceUse": "Rewind Replace CleanUp Sweep",
        "DeviceUseWindows": "AttachVolume DrillAttachVolume Replace CleanUp Sweep",
        "Warmer": "DispatchWarmer VerifyVolume DrillDispatchWarmer DrillVerifyVolume",
        "WarmerWindows": "DispatchWarmer VerifyVolume DrillDispatchWarmer DrillVerifyVolume",
        "Benchmark": "Api VerifyVolume DrillVerifyVolume", "BenchmarkWindows": "Api",
        "Hook": "RunHook DrillRunHook",
    }  # fmt: skip
    for document, who in documents.items():
        yield rule(who, "ssm: SendCommand", on(f"{document}Document"))
    # Or one whose owner has given it to this stack.
    yield rule("RunHook DrillRunHook", "ssm: SendCommand", a_document, belongs_to("hooks"))
    lookers = "Api DrillRunHook RunHook SelectSnapshot"
    yield rule(lookers, "ssm: DescribeDocument ListTagsForResource", a_document)
    yield rule("RunHook DrillRunHook", "ssm: ListCommandInvocations", NOTHING)
    any_instance = "AttachVolume Api CleanUp DispatchWarmer Replace Rewind RunHook Sweep VerifyVolume"
    yield rule(any_instance, "ssm: SendCommand", INSTANCE)
    yield rule(f"{DRILLS} DrillRunHook", "ssm: SendCommand", INSTANCE, consents("drills"))
    follow = (
        "CleanUp DispatchWarmer DrillCleanUp DrillDispatchWarmer DrillRunHook DrillVerifyVolume Rewind "
        "RunHook Sweep VerifyVolume"
    )
    yield rule(follow, "ssm: CancelCommand GetCommandInvocation ListCommands", NOTHING)
    yield rule(
        "Api AttachVolume DrillAttachVolume PollInitialization Replace Report",
        "ssm: GetCommandInvocation",
        NOTHING,
    )


def _machines() -> Iterator[Rule]:
    for machine, definition in MACHINES.items():
        # A machine calls what its definition names, and starts its own children.
        text = json.dumps(definition)
        if ":lambda:" in text:
            yield rule(machine, "lambda: InvokeFunction", _named_in(text))
        children = tuple(name for name in MACHINES if f"${{{name}Arn}}" in text)
        children += (machine,) if "DISTRIBUTED" in text else ()
        if children:
            yield rule(machine, "states: StartExecution", on(*children))
            yield rule(machine, "states: DescribeExecution StopExecution",
                       on(*(f"execution of {name}" for name in children)))  # fmt: skip
        if ".sync" in text:
            yield rule(machine, "events: PutTargets PutRule DescribeRule",
                       on("rule/StepFunctionsGetEventsForStepFunctionsExecutionRule"))  # fmt: skip
        yield rule(machine, "logs: CreateLogDelivery GetLogDelivery UpdateLogDelivery DeleteLogDelivery "
                   "ListLogDeliveries PutResourcePolicy DescribeResourcePolicies DescribeLogGroups",
                   NOTHING)  # fmt: skip
    restore, volume, fleet = (f"{name}StateMachine" for name in ("Restore", "RestoreVolume", "Fleet"))
    yield rule("Api", "states: StartExecution", on(restore, fleet, "ChangePerformanceStateMachine"))
    yield rule("Drills Rules", "states: StartExecution", on(restore))
    yield rule("Api", "states: DescribeExecution StopExecution", on(f"execution of {fleet}"))
    yield rule("Api", "states: DescribeExecution", on(f"execution of {restore}", f"execution of {volume}"))
    yield rule("Rules", "states: DescribeExecution", on(f"execution of {restore}", f"execution of {volume}"),
               lambda attempt: ":rule-" in attempt.thing.arn)  # fmt: skip
    yield rule("KeepResult", "states: DescribeExecution", on(f"execution of {volume}"))
    yield rule("Sweep", "states: ListExecutions", on(restore, volume))
    yield rule("Sweep", "states: DescribeExecution StopExecution",
               on(*(f"execution of {name}" for name in (restore, volume, fleet))))  # fmt: skip
    yield rule("Api Public Sweep WakeUp", "states: SendTaskSuccess", NOTHING)


def _named_in(text: str) -> Where:
    return lambda attempt: f"${{{attempt.thing.kind}Arn}}" in text


def _messages() -> Iterator[Rule]:
    tellers = "Announce Rules Sweep"
    yield rule(tellers, "sns: Publish", on("NotificationTopic", "ChatTopic"))
    yield rule(tellers, "events: PutEvents", on("event-bus/default"),
               lambda attempt: attempt.context["events:source"] == "rewarm")  # fmt: skip
    yield rule(tellers, "secretsmanager: GetSecretValue", on("SlackWebhookSecret", "SlackBotSecret"))
    yield rule("Public", "secretsmanager: GetSecretValue", on("SlackSigningSecretValue"))
    yield rule("Drills", "sqs: SendMessage", on("DrillsDeadLetterQueue"))
    # What AWS's services may do, by the policies of functions, queues and roles.
    yield rule("events.amazonaws.com", "sqs: SendMessage", on("AlarmEventsDeadLetterQueue"), of_this_account)
    yield rule("scheduler.amazonaws.com", "sts: AssumeRole", on("DrillsRole"), of_this_account)
    yield rule("apigateway.amazonaws.com", "sts: AssumeRole", on("ApiLogsWriter"))
    for function, api in (("Api", "RestApi/v1/"), ("Api", "JwtApi/"), ("Public", "PublicApi/v1/")):
        yield rule("apigateway.amazonaws.com", "lambda: InvokeFunction", on(f"{function}Function"),
                   called_by(api))  # fmt: skip


@cache
def rules() -> tuple[Rule, ...]:
    """All of them."""
    groups = (
        _made,
        _changed,
        _tags,
        _looks,
        _data,
        _bucket,
        _files,
        _records,
        _commands,
        _machines,
        _messages,
    )
    return tuple(one for group in groups for one in group())
