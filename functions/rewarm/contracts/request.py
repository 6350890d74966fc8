"""RestoreRequest: the one truth for the API, the events, the schedules and the runbooks."""

import re
from datetime import timedelta
from typing import Annotated, Literal, get_args

from pydantic import (
    AfterValidator,
    ConfigDict,
    Field,
    JsonValue,
    StrictBool,
    StrictInt,
    StrictStr,
    StringConstraints,
    WithJsonSchema,
)
from pydantic_core import PydanticCustomError, PydanticKnownError

from rewarm.contracts.after import After
from rewarm.contracts.base import Contract, Instant, JsonObject, Usd
from rewarm.domain.benchmark.benchmarks import (
    LEAST_RUNTIME_SECONDS,
    MOST_RUNTIME_SECONDS,
    ON_DEVICE,
    PatternName,
)
from rewarm.domain.model import IMAGE_ID, INSTANCE_ID, SNAPSHOT_ID, VOLUME_ID, LeftOut, OnFailure
from rewarm.domain.ready.reads import (
    DEFAULT_PATIENCE_SECONDS,
    DEFAULT_SAMPLES,
    DEFAULT_STABLE_MINUTES,
    MAX_SAMPLES,
    MOST_PATIENCE_SECONDS,
    MOST_STABLE_MINUTES,
    StableRule,
)
from rewarm.domain.volume.extents import Scope
from rewarm.domain.volume.replacing import MOUNT_PATH

WantedStrategy = Literal[
    "auto", "background", "warm-up-agent", "provisioned-rate", "fast-snapshot-restore", "volume-clone",
    "boosted-warm-up", "direct-write",
]  # fmt: skip
"""How a new volume may be brought to full speed: as Strategy has it, without what makes no volume."""
SnapshotId = Annotated[StrictStr, Field(pattern=f"^{SNAPSHOT_ID}$")]
VolumeId = Annotated[StrictStr, Field(pattern=f"^{VOLUME_ID}$")]
InstanceId = Annotated[StrictStr, Field(pattern=f"^{INSTANCE_ID}$")]
ImageId = Annotated[StrictStr, Field(pattern=f"^{IMAGE_ID}$")]
RegionName = Annotated[StrictStr, Field(pattern=r"^[a-z]{2}(-[a-z]+)+-\d$")]
ZoneName = Annotated[StrictStr, Field(pattern=r"^[a-z]{2}(-[a-z]+)+-\d[a-z]$")]
RestoreId = Annotated[StrictStr, Field(pattern=r"^[A-Za-z0-9_-]{1,80}$")]
"""The name of an execution (botocore: stepfunctions StartExecution), which is part of keys in the bucket."""
RewindEvidence = Literal["snapshot", "undo-log"]
"""What keeps a volume as it was before a rewind."""
RewindCompare = Literal["snapshots", "device"]
"""How a rewind finds the blocks that differ."""
MountPath = Annotated[StrictStr, Field(pattern=MOUNT_PATH, max_length=200)]
AccountId = Annotated[StrictStr, Field(pattern=r"^[0-9]{12}$")]
NOT_BLANK: JsonObject = {"pattern": r"\S"}
"""For schemas: a text is stripped before its length is checked."""
AlarmName = Annotated[StrictStr, Field(min_length=1, max_length=255, json_schema_extra=NOT_BLANK)]
CONTROL = r"[\u0000-\u001f\u007f-\u009f]"
NO_CONTROL: JsonObject = {"not": {"pattern": CONTROL}}


def _printable(text: str) -> str:
    """EC2 takes any character in tags, and answers in XML, which has no NUL and few control characters."""
    if re.search(CONTROL, text):
        raise PydanticCustomError("control_characters", "control characters")
    return text


def _not_blank(text: str) -> str:
    if not text.strip():
        raise PydanticKnownError("string_too_short", {"min_length": 1})
    return text


AS_IT_IS = StringConstraints(strict=True, strip_whitespace=False)
"""A tag with a blank at its end is another one."""
TagKey = Annotated[
    str, AS_IT_IS, Field(max_length=128), AfterValidator(_not_blank), AfterValidator(_printable)
]
TagValue = Annotated[
    str, AS_IT_IS, Field(max_length=256, json_schema_extra=NO_CONTROL), AfterValidator(_printable)
]
Tags = Annotated[
    dict[TagKey, TagValue],
    Field(json_schema_extra={"propertyNames": {"minLength": 1, "maxLength": 128, **NOT_BLANK, **NO_CONTROL}}),
]

MAX_BLOCKS = 134_217_728
"""Of 512 KiB: 64 TiB, the largest volume (botocore: ec2 CreateVolume Size)."""
MAX_FIRST_EXTENTS = 1_000
"""About 40 KiB of JSON: the request is in the payload of every state, which holds 256 KiB."""
MOST_LEARN_MINUTES = 360
MAX_COOLDOWN_MINUTES = 10_080
"""Seven days."""
MAX_OBJECTIVE_MINUTES = 525_600
"""A year."""
DevicePattern = Literal[PatternName.RANDOM_READ, PatternName.INIT]
"""Benchmarks that write to nothing."""

MAX_COST = {
    "anyOf": [
        {"type": "number", "minimum": 0, "maximum": 1_000_000},
        {"type": "string", "pattern": r"^([0-9]{1,6}(\.[0-9]+)?|1000000(\.0+)?)$"},
    ]
}
"""pydantic's own pattern for a decimal number takes negative ones, which are refused."""
CostLimit = Annotated[Usd, Field(le=1_000_000), WithJsonSchema(MAX_COST)]
SELECTORS = (
    "snapshotId", "volumeId", "tags", "instanceId", "imageId", "volumes", "existing", "alarm", "undoOf"
)  # fmt: skip
EXISTING_SELECTORS = ("volumeIds", "instanceId", "tags")
MOST_LISTED = 40
"""Volumes of one request: like the extents, they are in the payload of every state."""
AttachmentMinutes = Annotated[StrictInt, Field(ge=1, le=1_440)]


def given(name: str, **schema: JsonValue) -> dict[str, JsonValue]:
    """JSON Schema: the field is there and not null."""
    return {"required": [name], "properties": {name: {"not": {"type": "null"}, **schema}}}


def _exactly_one(names: tuple[str, ...]) -> ConfigDict:
    return ConfigDict(json_schema_extra={"oneOf": [given(name) for name in names]})


def _at_most_one(names: tuple[str, str]) -> ConfigDict:
    return ConfigDict(json_schema_extra={"not": {"allOf": [given(name) for name in names]}})


class WantedSettings(Contract):
    """Type, size, performance and key of a volume to make."""

    volume_type: Literal["gp3", "gp2", "io2", "io1", "st1", "sc1"] | None = None
    size_gib: Annotated[StrictInt, Field(ge=1, le=65_536)] | None = None
    iops: Annotated[StrictInt, Field(ge=100, le=256_000)] | None = None
    throughput_mib_s: Annotated[StrictInt, Field(ge=125, le=2_000)] | None = None
    kms_key_id: (
        Annotated[StrictStr, Field(min_length=1, max_length=2_048, json_schema_extra=NOT_BLANK)] | None
    ) = None


LEAST_PRIORITY = 9
"""The priority of a volume that names none."""


class ListedVolume(Contract):
    """One of several volumes: its snapshot, or the volume whose newest one is taken."""

    model_config = _exactly_one(("snapshotId", "volumeId"))

    snapshot_id: SnapshotId | None = None
    volume_id: VolumeId | None = None
    at: Literal["latest"] | Instant | None = Field(
        default=None,
        description="With volumeId: the newest snapshot not later than this time; default latest.",
    )
    device: StrictStr | None = Field(
        default=None, description="Its device name on target.instanceId, as target.device of one volume."
    )
    volume: WantedSettings | None = Field(
        default=None, description="In place of type, size, performance and key in the request's volume."
    )
    priority: Annotated[StrictInt, Field(ge=1, le=LEAST_PRIORITY)] = Field(
        default=LEAST_PRIORITY,
        description="Where not all volumes can be ready in time or within maxCostUsd, those with a lower "
        "number are ready first.",
    )


class ExistingVolumes(Contract):
    """Volumes that are there and attached to one instance: exactly one of the selectors."""

    model_config = _exactly_one(EXISTING_SELECTORS)

    volume_ids: Annotated[list[VolumeId], Field(min_length=1, max_length=MOST_LISTED)] | None = None
    instance_id: InstanceId | None = Field(
        default=None, description="Every volume that is attached to this instance."
    )
    tags: Annotated[Tags, Field(min_length=1, max_length=50)] | None = Field(
        default=None, description="Every attached volume that carries every one of these tags."
    )
    wait_for_attachment_minutes: AttachmentMinutes | None = Field(
        default=None,
        description="So long after the request volumes may be attached, and their instance come online in "
        "Systems Manager. With tags, volumes that are not attached yet count then. Default: no wait.",
    )
    boost: StrictBool = Field(
        default=False,
        description="Volumes with the tag rewarm:managed=true may have more IOPS and throughput while they "
        "are warmed up. That costs money by the hour, and they are lowered afterwards.",
    )


class Source(Contract):
    """What to restore: exactly one of the selectors."""

    model_config = _exactly_one(SELECTORS)

    snapshot_id: SnapshotId | None = None
    volume_id: VolumeId | None = None
    at: Literal["latest"] | Instant | None = Field(
        default=None,
        description="With volumeId: the newest snapshot not later than this time; default latest.",
    )
    owner_id: AccountId | None = Field(
        default=None,
        description="With volumeId: take the newest snapshot that this account shares, instead of one of the "
        "stack's account. With snapshotId: refuse a snapshot of another account.",
    )
    region: RegionName | None = Field(
        default=None,
        description="With snapshotId, volumeId or tags: the Region of the snapshot, which is copied first. "
        "Default: the stack's Region.",
    )
    keep_copy: StrictBool = Field(
        default=False, description="With region: the copy stays when the restore is over."
    )
    tags: Annotated[Tags, Field(min_length=1, max_length=50)] | None = Field(
        default=None, description="The newest snapshot that carries every one of these tags."
    )
    instance_id: InstanceId | None = Field(
        default=None,
        description="The newest CreateSnapshots call that left a snapshot of each volume attached to this "
        "instance; else the newest snapshot of each, and the plan says so.",
    )
    devices: Annotated[list[StrictStr], Field(min_length=1, max_length=28)] | None = Field(
        default=None, description="With instanceId or imageId: only these device names."
    )
    image_id: ImageId | None = None
    volumes: Annotated[list[ListedVolume], Field(min_length=1, max_length=MOST_LISTED)] | None = Field(
        default=None, description="Several volumes for one target, which are planned together."
    )
    existing: ExistingVolumes | None = Field(
        default=None,
        description="Volumes that are in use already are brought to full speed where they are. Nothing is "
        "made, attached, detached or deleted.",
    )
    alarm: AlarmName | None = Field(
        default=None, description="The runbook of this CloudWatch alarm says the rest."
    )
    undo_of: RestoreId | None = Field(
        default=None,
        description="With target.mode rewind: a restore that has rewound volumes with an undo log. They go "
        "back to what they had before it.",
    )


class Target(Contract):
    """Where the volume goes: onto an instance, or only into an Availability Zone.

    Left out with source.existing, whose volumes stay where they are.
    """

    model_config = _at_most_one(("instanceId", "availabilityZone"))

    instance_id: InstanceId | None = None
    device: StrictStr | None = Field(
        default=None,
        description="Default: the first free one of /dev/sdf to /dev/sdp. With mode replace: that of the "
        "volume to be replaced.",
    )
    mode: Literal["attach", "replace", "rewind"] | None = Field(
        default=None,
        description="replace: the volume at device (for source.instanceId and source.imageId at each one's "
        "own device) is detached and kept, and the new one takes its place; where the restore fails, the old "
        "one goes back. rewind: the snapshot's own volume, or the one in volumeId, goes back to the "
        "snapshot. It must be attached to this instance. Just the blocks that differ are written, and what "
        "they had is kept, as evidence says. Default: attach.",
    )
    unmount: StrictBool | None = Field(
        default=None,
        description="With mode replace: unmount the volume that leaves its place; with mode rewind, the one "
        "that goes back. Default: a volume that is mounted is not touched, and the restore is refused.",
    )
    bring_online: StrictBool | None = Field(
        default=None,
        description="On Windows: bring the disk online once it is attached. Windows may write to a disk that "
        "is online. Default: it stays as Windows finds it.",
    )
    mount_path: MountPath | None = Field(
        default=None,
        description="With bringOnline: the drive letter (E:) or empty folder (E:\\data) that the volume "
        "gets. Default: with mode replace that of the replaced volume, if it had just one; else what Windows "
        "gives it.",
    )
    start: StrictBool | None = Field(
        default=None,
        description="With mode replace, for a stopped instance: each volume of the source takes its own "
        "place, the root volume too, and the instance is started once all are attached. If it does not come "
        "up, it is stopped and its old volumes go back. Default: the instance must be running.",
    )
    reboot: StrictBool | None = Field(
        default=None,
        description="With mode replace, for the root volume of a running Linux instance: the new volume is "
        "brought to full speed beside it, and then EC2 swaps it in, which reboots the instance. The old one "
        "is kept. Default: the root volume of a running instance is not touched.",
    )
    force_root: SnapshotId | None = Field(
        default=None,
        description="With start or reboot: this snapshot becomes the root volume even if its source volume "
        "is a data volume somewhere, or boots another operating system or architecture. Default: refused.",
    )
    evidence: Literal["auto"] | RewindEvidence | None = Field(
        default=None,
        description="With mode rewind: what keeps the volume as it was. snapshot: a snapshot of all of it, "
        "which must be completed before the first write. undo-log: the old blocks of each write, in the "
        "stack's bucket; it goes with compare device. Default: auto, the sooner one within maxCostUsd.",
    )
    compare: Literal["auto"] | RewindCompare | None = Field(
        default=None,
        description="With mode rewind: how the blocks that differ are found. snapshots: EBS lists them, "
        "between snapshots of the volume itself. device: the agent reads the whole volume and compares it "
        "with the snapshot, which may be one of another volume. Default: auto, the sooner one within "
        "maxCostUsd.",
    )
    volume_id: VolumeId | None = Field(
        default=None,
        description="With mode rewind: the volume that goes back, where that is not the snapshot's own, such "
        "as a clone, or where the snapshot is a copy. It has the size of the snapshot. Not with compare "
        "snapshots.",
    )
    availability_zone: ZoneName | None = None


class VolumeRequest(WantedSettings):
    """The volume to make; what is left out comes from the source volume where it still exists, else gp3."""

    tags: Annotated[Tags, Field(max_length=40)] = Field(default_factory=dict)
    multi_attach: StrictBool = False


class Objective(Contract):
    """What matters: when it must be fast, what it may cost, and how."""

    ready_within_minutes: Annotated[StrictInt, Field(ge=1, le=10_080)] | None = None
    hot_within_minutes: Annotated[StrictInt, Field(ge=1, le=10_080)] | None = Field(
        default=None,
        description="When what applications read first has to be warm; the whole volume where nothing is "
        "recorded. The plan says whether it will be (P90), and with strict it is refused otherwise.",
    )
    max_cost_usd: CostLimit | None = Field(
        default=None, description="For all volumes of this restore together."
    )
    approve_above_usd: CostLimit | None = Field(
        default=None,
        description="A plan that costs more, all volumes together, waits until somebody approves it; with 0 "
        "every plan does. As of maxCostUsd, what every plan costs alike does not count. What was approved is "
        "then the most that other plans may cost, too.",
    )
    approve_replace: StrictBool = Field(
        default=False,
        description="With target.mode replace or rewind: whatever it costs, the plan waits until somebody "
        "approves it.",
    )
    strategy: WantedStrategy = "auto"
    strict: StrictBool = Field(
        default=False, description="Refuse where nothing meets the deadline and the budget."
    )


class FirstExtent(Contract):
    """A run of 512 KiB blocks of the volume."""

    start_block: Annotated[StrictInt, Field(ge=0, lt=MAX_BLOCKS)]
    block_count: Annotated[StrictInt, Field(ge=1, le=MAX_BLOCKS)]


class Learn(Contract):
    """Recording what the application reads of the volume, for later restores."""

    minutes: Annotated[StrictInt, Field(ge=1, le=MOST_LEARN_MINUTES)] = 30


OrderSource = Literal["structures", "lists", "logs", "recent", "changed"]
"""Names of `--order` (warmer/warmer.1.md), and `changed`, which EBS lists and the agent does not look for."""


class WarmUp(Contract):
    """What the warm-up agent reads, in which order, and how hard."""

    scope: Scope = Field(
        default=Scope.WRITTEN,
        description="written: the snapshot's written blocks. used: those of them that file systems have in "
        "use; the others stay cold. whole: every block of the volume.",
    )
    first: Annotated[list[FirstExtent], Field(max_length=MAX_FIRST_EXTENTS)] = Field(
        default_factory=list,
        description="Extents to read before the others, in this order; blocks not in the scope are left out. "
        "For a restore of one volume. `warmer extents FILE...` on the source instance prints those of files, "
        "`start count` a line.",
    )
    hot: Literal["auto", "off"] = Field(
        default="auto",
        description="auto: after `first`, read what recordings of the same volume have, at full speed "
        "whatever politeLatencyMs says. off: do not.",
    )
    order: Annotated[list[OrderSource], Field(max_length=len(get_args(OrderSource)))] | None = Field(
        default=None,
        description="What is read before the rest, where it is found. structures: of file systems. lists: "
        "databases' own, of what they had in memory. logs: write-ahead logs. recent: files of the last day. "
        "changed: blocks that the snapshot before it has not, unless there is a recording. An empty list: "
        "nothing. Default: all of them.",
    )
    learn: Learn | None = Field(
        default=None,
        description="Record for so many minutes which blocks are read: their numbers, their order and how "
        "often. On Linux instances. The tag rewarm:learn=false of a volume or snapshot forbids it.",
    )
    max_mib_per_second: Annotated[StrictInt, Field(ge=1, le=10_000)] | None = None
    polite_latency_ms: Annotated[float, Field(ge=1, le=60_000, strict=True, allow_inf_nan=False)] | None = (
        Field(
            default=None,
            description="Read less, or pause, while a 4 KiB read of the application takes nearly this long. "
            "How long the warm-up takes then depends on the application. Default: no limit; with "
            "source.existing what the volume's type and IOPS promise, 20 ms for most SSD volumes.",
        )
    )
    depth: Literal["auto"] | Annotated[StrictInt, Field(ge=1, le=1_024)] = "auto"


class Verify(Contract):
    """How the volume is measured afterwards, with random 4 KiB reads of written blocks."""

    samples: Annotated[StrictInt, Field(ge=0, le=MAX_SAMPLES)] = Field(
        default=DEFAULT_SAMPLES, description="0: do not measure."
    )
    max_p99_ms: Annotated[float, Field(ge=0.001, le=60_000, strict=True, allow_inf_nan=False)] | None = Field(
        default=None, description="Default: by the volume's type and IOPS; 20 ms for most SSD volumes."
    )
    benchmarks: Annotated[list[DevicePattern], Field(max_length=len(ON_DEVICE))] = Field(
        default_factory=list,
        description="Run with fio on the device when the volume is fast, for the report; they only read.",
    )
    benchmark_seconds: (
        Annotated[StrictInt, Field(ge=LEAST_RUNTIME_SECONDS, le=MOST_RUNTIME_SECONDS)] | None
    ) = Field(default=None, description="Of each benchmark; default 60.")
    install_fio: StrictBool = Field(
        default=False, description="Install fio with the instance's package manager where it is missing."
    )


class ReadinessRules(Contract):
    """When a volume counts as initialized: docs/operations.md, "When is a volume ready?"."""

    stable_minutes: Annotated[StrictInt, Field(ge=1, le=MOST_STABLE_MINUTES)] = Field(
        default=DEFAULT_STABLE_MINUTES,
        description="Whole minutes after the last read in which VolumeReadOps must be at its level before.",
    )
    metrics_patience_seconds: Annotated[StrictInt, Field(ge=0, le=MOST_PATIENCE_SECONDS)] = Field(
        default=DEFAULT_PATIENCE_SECONDS,
        description="How long CloudWatch is waited for after the last read: before the volume is called "
        "ready where nothing is measured (verify.samples 0), else afterwards, as a second witness.",
    )
    stalled_after_minutes: Annotated[StrictInt, Field(ge=10, le=10_080)] | None = Field(
        default=None, description="Without progress for so long it stands still; default by strategy."
    )

    def stable_rule(self, warm_read_ms: float) -> StableRule:
        """What VolumeReadOps is judged by, for a volume that answers a read within this time once warm."""
        patience = timedelta(seconds=self.metrics_patience_seconds)
        return StableRule(self.stable_minutes, patience, warm_read_ms)


class Notify(Contract):
    """Who gets messages."""

    slack: StrictBool = True
    email: StrictBool = True


class RestoreNotify(Notify):
    """Who gets messages of a restore, and which."""

    hot: StrictBool = Field(default=True, description="Also say when a volume's hot set is warm.")


class Drill(Contract):
    """A drill: the runbook is restored to another target, measured against its objectives, and deleted.

    In a runbook it says how the runbook is drilled; an alarm's restore leaves it out.
    """

    target: Target | None = Field(
        default=None,
        description="Where drills go: an instance with the tag rewarm:drills (value true), or a zone alone. "
        "A drill never goes to the runbook's own target.",
    )
    recovery_time_minutes: Annotated[StrictInt, Field(ge=1, le=MAX_OBJECTIVE_MINUTES)] | None = Field(
        default=None,
        description="Recovery time objective: from the trigger to the last volume at full speed. Default: "
        "objective.readyWithinMinutes.",
    )
    recovery_point_minutes: Annotated[StrictInt, Field(ge=1, le=MAX_OBJECTIVE_MINUTES)] | None = Field(
        default=None, description="Recovery point objective: the age of the oldest snapshot at the trigger."
    )
    after: StrictBool = Field(
        default=False,
        description="Whether drills bring the application back, too, as `after` of the runbook says. The "
        "recovery time then ends with the application. Only with an instance and one volume; at the end what "
        "uses the volume is ended, and it is unmounted.",
    )
    runbook: AlarmName | None = Field(
        default=None, description="The runbook that is drilled; Rewarm fills it in from source.alarm."
    )


class RestoreRequest(Contract):
    """One restore."""

    model_config = ConfigDict(
        json_schema_extra={"anyOf": [given("target"), {"properties": {"source": given("existing")}}]}
    )

    source: Source
    target: Target = Field(default_factory=Target)
    volume: VolumeRequest = Field(default_factory=VolumeRequest)
    objective: Objective = Field(default_factory=Objective)
    warm_up: WarmUp = Field(default_factory=WarmUp)
    verify: Verify = Field(default_factory=Verify)
    readiness: ReadinessRules = Field(default_factory=ReadinessRules)
    on_failure: OnFailure = OnFailure.CLEAN_UP
    after: After | None = Field(
        default=None,
        description="With target.instanceId: what brings the application back. Whatever becomes of it, the "
        "volumes stay. Drills leave it out unless drill.after is true.",
    )
    notify: RestoreNotify = Field(default_factory=RestoreNotify)
    alarm_cooldown_minutes: Annotated[StrictInt, Field(ge=0, le=MAX_COOLDOWN_MINUTES)] | None = Field(
        default=None,
        description="In a runbook: so long after a restore its alarm starts no other. Default: the stack's "
        "parameter AlarmCooldownMinutes.",
    )
    drill: Drill | None = Field(
        default=None,
        description="With source.alarm: this restore is a drill. In a runbook: how it is drilled.",
    )
    dry_run: StrictBool = Field(default=False, description="Plan only: nothing is created.")
    left_out: list[LeftOut] = Field(
        default_factory=list,
        description="What the restore does without: what its runbook names and the stack lacks, or a volume "
        "that tags or an instance name and that cannot be adopted. Rewarm fills it in.",
    )

    @property
    def reads_asked(self) -> bool:
        """Whether the agent reads the volume even where it is known to be warm."""
        return self.objective.strategy == "warm-up-agent"

    @property
    def is_drill(self) -> bool:
        """Whether this restore is a drill; a runbook's `drill` alone does not make it one."""
        return self.drill is not None and self.drill.runbook is not None
