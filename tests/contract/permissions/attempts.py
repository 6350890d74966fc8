"""What somebody could ask AWS for with a role of the stack: actions on our things and on others'."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product

from botocore.session import get_session

from local.aws.permissions import reference
from local.aws.permissions.conditions import Context
from local.aws.permissions.policies import Need
from local.aws.permissions.requests import Place
from local.soak.lab.template import ACCOUNT, REGION, STACK, stack
from rewarm.domain.volume.replacing import TAGS as REPLACED

HERE = Place(ACCOUNT, REGION)
ELSEWHERE = Place(ACCOUNT, "eu-west-1")
OTHER = Place("123456999999", REGION)
RESTORES, IDEMPOTENCY = (f"table/{STACK}-{name}Table" for name in ("Restores", "Idempotency"))
OTHERS = f"{STACK}2"
"""Another stack, and what stands for a function, a document and so on that is not ours."""
OF_TESTS = ("awsbackup-restore-test", "restore-testing")
"""Tags that are not Rewarm's: AWS Backup's on the volume of a restore test, and an owner's on an instance."""

OBJECTS = (
    "agents/sha256/warmer", "restores/r/plans.json", "restores/r/volumes.json", "restores/r/report.html",
    "restores/r/report.sent",
    "restores/r/0/plan.json", "restores/r/0/blocks.map", "restores/r/0/first.map",
    "restores/r/0/samples.json",
    "restores/r/0/progress-1.json", "restores/r/0/result.json", "restores/fleet-1/fleet-request.json",
    "restores/fleet-1/report.html", "restores/fleet-1/run-1.json",
    "restores/fleet-1/results-1/manifest.json",
    "deltas/snap-1/pack", "deltas/r/0/part-000001", "deltas/r/0/failed-000000.json",
    "deltas/r/0/blocks-0.jsonl",
    "deltas/r/0/results-0/manifest.json", "undo/r/0/log.json", "undo/r/0/1/000001-000", "rewound/vol-1.json",
    "recordings/vol-1/1-r-0", "benchmarks/b/output.json", "others/file", "file",
)  # fmt: skip
"""An object of each kind that the bucket has, and two that nobody has asked for."""
ITEMS = (
    "restore", "restore-volume", "page-key", "target", "running", "history", "pace", "signal", "runbook",
    "alarm", "approval", "cancel", "command", "drills", "fsr", "performance", "volume", "calibration",
    "rule", "message", "adoption", "boost",
)  # fmt: skip
"""Kinds of items in the table of restores."""
SINGLE_ATTRIBUTES = tuple(
    name
    for name, shape in get_session()
    .get_service_model("ec2")
    .shape_for("ModifyInstanceAttributeRequest")
    .members.items()  # type: ignore[attr-defined]
    if shape.type_name == "structure" and set(shape.members) == {"Value"}
)
"""EC2 user guide, "ec2:Attribute condition key": attributes with a single value can be named in a policy."""


@dataclass(frozen=True, slots=True)
class Thing:
    """What somebody could act on. The kind of what is not of this stack or place begins with `others'`."""

    kind: str
    arn: str


@dataclass(frozen=True, slots=True)
class Attempt:
    """One action on one thing, in circumstances."""

    action: str
    thing: Thing
    context: Context

    @property
    def need(self) -> Need:
        """As IAM is asked."""
        return Need(self.action, self.thing.arn, self.context)

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of the tags that the request names."""
        return tuple(self.context.get("aws:tagkeys", ()))

    def tag(self, name: str) -> object:
        """A tag that the thing carries."""
        return self.context.get(f"aws:resourcetag/{_key(name)}")

    def asked(self, name: str) -> object:
        """A tag that the request gives."""
        return self.context.get(f"aws:requesttag/rewarm:{name}")

    def __str__(self) -> str:
        """For people."""
        return f"{self.action} on {self.thing.kind} {self.thing.arn} with {dict(self.context)}"


@cache
def things() -> tuple[Thing, ...]:
    """One of each kind; of what a policy may name, each of ours."""
    found = [Thing("everything", reference.NO_RESOURCE)]
    for place, whose in ((HERE, ""), (ELSEWHERE, "others' "), (OTHER, "others' ")):
        found += [
            Thing(f"{whose}volume", place.ec2("vol-1")), Thing(f"{whose}instance", place.ec2("i-1")),
            Thing(f"{whose}new volume", place.new_volume),
            Thing(f"{whose}task", place.arn("ec2", "replace-root-volume-task/*")),
            Thing(f"key{' elsewhere' * (place is ELSEWHERE)}", place.arn("kms", "key/k")),
            Thing(f"{whose}quota", place.arn("servicequotas", "ebs/L-1")),
        ]  # fmt: skip
    for place, whose in ((HERE, ""), (ELSEWHERE, "others' ")):
        found += [Thing(f"{whose}snapshot", place.ec2("snap-1")), Thing(f"{whose}image", place.ec2("ami-1"))]
        found.append(Thing(f"{whose}new snapshot", place.new_snapshot))
    found.append(Thing("others' quota", HERE.arn("servicequotas", "ec2/L-1")))
    named = list(_of_services())
    return tuple(dict.fromkeys([*found, *named, *(twin for one in named for twin in _twins(one))]))


def _twins(one: Thing) -> Iterator[Thing]:
    """What has the same name in another Region, and in another account."""
    parts = one.arn.split(":")
    for at, other in ((3, ELSEWHERE.region), (4, OTHER.account)):
        if parts[at]:
            yield Thing("others'", ":".join((*parts[:at], other, *parts[at + 1 :])))


_NAMED = (
    *(HERE.arn("sns", f"{STACK}-{name}Topic") for name in ("Notification", "Chat")),
    *(HERE.arn("secretsmanager", f"secret:{STACK}-Slack{name}")
      for name in ("WebhookSecret", "BotSecret", "SigningSecretValue")),
)  # fmt: skip


def _of_services() -> Iterator[Thing]:
    deployed = stack()
    for bucket, whose in ((f"{STACK}-artifactsbucket", ""), (OTHERS, "others' ")):
        arn = HERE.arn("s3", bucket, region=False, account=False)
        yield Thing(f"{whose}bucket", arn)
        yield from (Thing(f"{whose}object", f"{arn}/{key}") for key in OBJECTS)
    for name in (RESTORES, IDEMPOTENCY, f"{RESTORES}/index/by-status", f"{RESTORES}/index/{OTHERS}"):
        yield Thing(name.removeprefix(f"table/{STACK}-"), HERE.arn("dynamodb", name))
    yield Thing("others' table", HERE.arn("dynamodb", f"table/{OTHERS}"))
    for arn in (*deployed.functions, *deployed.machines, *_NAMED):
        yield Thing(arn.rpartition(f"{STACK}-")[2], arn)
        owner, _, _ = arn.rpartition(":")
        yield Thing("others'", f"{owner}:{OTHERS}")
        if ":stateMachine:" in arn:
            execution = arn.replace(":stateMachine:", ":execution:")
            kind = f"execution of {arn.rpartition('-')[2]}"
            yield from (Thing(kind, f"{execution}:name"), Thing(kind, f"{execution}:rule-name"))
            yield Thing("others'", f"{owner.replace('stateMachine', 'execution')}:{OTHERS}:name")
    for name in deployed.documents:
        yield Thing(name.rpartition("-")[2], HERE.arn("ssm", f"document/{name}"))
    yield Thing("others'", HERE.arn("ssm", f"document/{OTHERS}"))
    yield Thing("others'", HERE.arn("ssm", "document/AWS-RunShellScript", account=False))
    for name in ("DrillsDeadLetterQueue", "AlarmEventsDeadLetterQueue"):
        yield Thing(name, HERE.arn("sqs", f"{STACK}-{name}"))
    for service, own, other in (
        ("ssm", "", f"parameter/{OTHERS}"),
        ("ssm", "", "managed-instance/mi-1"),
        ("events", "event-bus/default", f"event-bus/{OTHERS}"),
        ("events", "rule/StepFunctionsGetEventsForStepFunctionsExecutionRule", f"rule/{OTHERS}"),
        ("cloudformation", f"stack/{STACK}/1", f"stack/{OTHERS}/1"),
        ("cloudformation", "", f"stack/{STACK}/2"),
        ("sqs", "", OTHERS),
    ):
        if own:
            yield Thing(own, HERE.arn(service, own))
        yield Thing("others'", HERE.arn(service, other))
    for own in ("DrillsRole", "ApiLogsWriter"):
        yield Thing(own, HERE.arn("iam", f"role/{STACK}-{own}", region=False))
    yield Thing("others'", HERE.arn("iam", f"role/{OTHERS}", region=False))


def _key(name: str) -> str:
    return name if name in OF_TESTS else f"rewarm:{name}"


def _tagged(prefix: str, **tags: str) -> Context:
    return {f"aws:{prefix}tag/{_key(name.replace('_', '-'))}": value for name, value in tags.items()}


_MADE = {"stack": STACK, "creation": "c"}
_KINDS = ("drill", "copy_of", "calibration")
_EVERY = {**_MADE, "drill": "true", "copy_of": "s", "calibration": "c", "managed": "true", "drills": "true",
          "hooks": STACK, "replaced_by_stack": STACK, "rewinding_by_stack": STACK,
          "started_by_stack": STACK, "awsbackup_restore_test": "p", "restore_testing": "yes"}  # fmt: skip
CARRIED: tuple[dict[str, str], ...] = (
    {}, {"stack": STACK}, {"creation": "c"}, _MADE, {**_MADE, "stack": OTHERS}, {**_MADE, "creation": ""},
    *({**_MADE, name: value} for name in _KINDS for value in ("true", "", "false", "truly")),
    *({**_MADE, name: "true", "stack": OTHERS} for name in _KINDS),
    *({**_MADE, name: "true", "creation": ""} for name in _KINDS),
    *({"creation": "c", name: "true"} for name in _KINDS),
    *({"stack": STACK, name: "true"} for name in _KINDS),
    *({name: value} for name in ("managed", "drills") for value in ("true", "false", "truly")),
    *({f"{name}_by_stack": whose}
      for name in ("replaced", "rewinding", "started") for whose in (STACK, OTHERS)),
    *({"hooks": whose} for whose in (STACK, OTHERS)),
    {"awsbackup_restore_test": "nightly"}, *({"restore_testing": value} for value in ("yes", "yet", OTHERS)),
    _EVERY,
)  # fmt: skip
"""Tags that a thing may have: ours, somebody's imitation, another stack's, or all at once."""
ASKED: tuple[dict[str, str], ...] = (
    *CARRIED[:6], *({**one, "drill": value} for one in CARRIED[:6] for value in ("true", "false", "truly")),
)  # fmt: skip
"""Tags that a request to make something may give."""
_MARKS = tuple(
    keys
    for names in ((*REPLACED,), ("rewarm:rewinding", "rewarm:rewinding-by-stack"),
                  ("rewarm:started-by-stack",), ("rewarm:failed",), ("rewarm:incomplete",), ("rewarm:boost",),
                  ("rewarm:warm-since",))
    for keys in (names, (*names, "Name"), (*names, f"{names[0]}-2"))
)  # fmt: skip
KEYS = ((), *_MARKS, ("rewarm:stack",), ("rewarm:creation",), ("rewarm:drill",), ("Name",))
"""Keys of tags that a request may set or remove on what is there."""


def _setting(carried: list[Context]) -> Iterator[Context]:
    for tags, keys, whose in product(carried, KEYS[1:], (STACK, OTHERS)):
        yield {**tags, **{f"aws:requesttag/{key}": whose for key in keys}, "aws:tagkeys": keys}


def _creating() -> Iterator[Context]:
    how = (
        "CreateVolume",
        "CopyVolumes",
        "CopySnapshot",
        "CreateSnapshot",
        "CreateSnapshots",
        "RunInstances",
        None,
    )
    for asked, by in product(ASKED, how):
        given = {**_tagged("request", **asked), "aws:tagkeys": tuple(f"rewarm:{name}" for name in asked)}
        yield given if by is None else {**given, "ec2:createaction": by}


def _circumstances(action: str, thing: Thing) -> Iterator[Context]:
    service, _, name = action.partition(":")
    # With all tags at once, nothing of others may be touched either.
    of_others = thing.kind.startswith("others'") or thing.kind in ("image", "task")
    carried = [_tagged("resource", **tags) for tags in ((_EVERY,) if of_others else CARRIED)]
    if name == "CreateTags":
        yield from _creating() if " new " in f" {thing.kind}" else _setting(carried)
    elif name == "DeleteTags":
        yield from ({**tags, "aws:tagkeys": keys} for tags, keys in product(carried, KEYS))
    elif " new " in f" {thing.kind}":
        yield from (_tagged("request", **tags) for tags in ASKED)
    elif name == "ModifyInstanceAttribute":
        # Only a request that names no attribute of the instance names a volume.
        named = SINGLE_ATTRIBUTES if thing.kind.endswith("instance") else ()
        yield from ({}, *({"ec2:attribute": attribute} for attribute in named))
    elif service in ("ec2", "ssm"):
        yield from carried
    elif service in _OF_SERVICE:
        yield from _OF_SERVICE[service]
    else:
        yield {}


_ITEMS: tuple[Context, ...] = (
    *({"dynamodb:leadingkeys": (f"{kind}{more}#1",)} for kind in ITEMS for more in ("", "-2")),
    *({"dynamodb:leadingkeys": (f"{kind}#1", "page-key#1")} for kind in ITEMS),
)
_GRANTS: tuple[Context, ...] = tuple(
    {key: value for key, value in (("kms:viaservice", via), ("kms:grantisforawsresource", given)) if value}
    for via, given in product(
        (None, *(f"{name}.amazonaws.com"
                 for name in (f"ec2.{REGION}", f"ec2.{ELSEWHERE.region}", f"s3.{REGION}"))),
        (None, "true", "false"),
    )
)  # fmt: skip
_CALLERS: tuple[Context, ...] = tuple(
    {"aws:sourcearn": HERE.arn("execute-api", f"{api}/{stage}/GET/restores")}
    for api, stage in product((*(f"{STACK}-{name}Api" for name in ("Rest", "Public", "Jwt")), OTHERS),
                              ("v1", "v2"))
)  # fmt: skip
_ACCOUNTS: tuple[Context, ...] = ({"aws:sourceaccount": ACCOUNT}, {"aws:sourceaccount": OTHER.account})
_OF_SERVICE: dict[str, tuple[Context, ...]] = {
    "dynamodb": _ITEMS, "kms": _GRANTS, "lambda": _CALLERS, "sqs": _ACCOUNTS, "sts": _ACCOUNTS,
    "events": ({"events:source": "rewarm"}, {"events:source": OTHERS}),
}  # fmt: skip
_NEW = {
    "ec2:CreateVolume": ("new volume", "snapshot"), "ec2:CopyVolumes": ("new volume", "volume"),
    "ec2:CopySnapshot": ("new snapshot",), "ec2:CreateSnapshot": ("new snapshot", "volume"),
    "ec2:CreateTags": ("new volume", "new snapshot", "volume", "snapshot", "instance", "image", "task"),
    "ec2:CreateReplaceRootVolumeTask": ("instance", "volume", "task"),
}  # fmt: skip
"""Actions that make something -> the kinds of things that a request names; others name nothing new."""


@cache
def attempts(action: str) -> tuple[Attempt, ...]:
    """All of them."""
    known = reference.action(action)
    assert known is not None, action
    return tuple(
        Attempt(action, thing, context)
        for thing in things()
        if known.type_of(thing.arn) is not None and _is_named(action, thing.kind.removeprefix("others' "))
        for context in _circumstances(action, thing)
    )


def _is_named(action: str, kind: str) -> bool:
    return kind in _NEW[action] if action in _NEW else not kind.startswith("new ")
