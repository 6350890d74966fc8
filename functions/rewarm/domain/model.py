"""The vocabulary of a restore as frozen values; AWS's words, units in the names, money as Decimal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Literal

from rewarm.domain.value import Value

BLOCK_BYTES = 524_288
"""Block size of the EBS direct APIs (EBS user guide, "Use EBS direct APIs": blocks of 512 KiB)."""
PRICE_FRESH = timedelta(days=90)
"""An older price is marked."""
GIB = 1 << 30
MIB = 1 << 20
DELTA_SECONDS = 43_200
"""How long addresses of packs and manifests are valid at most; so the agent writes no longer."""


class Strategy(StrEnum):
    """How the volume gets to full speed; spelled the same in JSON, tags, metrics and code."""

    BACKGROUND = "background"
    WARM_UP_AGENT = "warm-up-agent"
    PROVISIONED_RATE = "provisioned-rate"
    FAST_SNAPSHOT_RESTORE = "fast-snapshot-restore"
    VOLUME_CLONE = "volume-clone"
    BOOSTED_WARM_UP = "boosted-warm-up"
    DIRECT_WRITE = "direct-write"
    REWIND = "rewind"

    @property
    def makes_volume(self) -> bool:
        """Whether it makes a new volume; a rewind puts back the one that is there."""
        return self is not Strategy.REWIND

    @property
    def reads_with_agent(self) -> bool:
        """The warm-up agent reads the blocks on the instance."""
        return self in {Strategy.WARM_UP_AGENT, Strategy.BOOSTED_WARM_UP}

    @property
    def writes_with_agent(self) -> bool:
        """The agent writes blocks that were copied out of the snapshot."""
        return self in {Strategy.DIRECT_WRITE, Strategy.REWIND}


CallerKind = Literal["iam", "token", "slack", "alarm", "schedule", "rule", "unknown"]
_MOST_NAME, _MOST_SUBJECT = 640, 256
"""Characters. The ARN of a user with the longest path and name has about 620 (IAM user guide, "IAM and STS
quotas"); a token's subject has at most 255 (OpenID Connect Core, "ID Token")."""


class Caller(Value):
    """Who asked for something. The name says its kind first, unless it is an ARN that AWS has checked.

    So nobody can choose a name in a token or in Slack that looks like somebody else's ARN.
    """

    kind: CallerKind
    name: str

    def __post_init__(self) -> None:
        """Callers choose a part of their names, so it is one line of bounded length."""
        line = "".join(letter if letter.isprintable() else " " for letter in self.name)
        object.__setattr__(self, "name", line[:_MOST_NAME])

    @classmethod
    def with_token(cls, issuer: str, subject: str) -> Caller:
        """Whoever sent a token of this issuer."""
        return cls("token", f"token of {issuer}: {subject[:_MOST_SUBJECT]}")


NOBODY = Caller("unknown", "a caller without a name")


class OnFailure(StrEnum):
    """What becomes of a volume whose restore failed before it was announced as usable."""

    CLEAN_UP = "clean-up"
    KEEP = "keep"


class Extent(Value):
    """A run of written 512 KiB blocks."""

    start_block: int
    block_count: int


HEX = "([0-9a-f]{8}|[0-9a-f]{17})"
"""How ids of EC2 end: in 17 hexadecimal digits; those of old resources in eight (EC2 user guide, "IDs")."""
VOLUME_ID, SNAPSHOT_ID = f"vol-{HEX}", f"snap-{HEX}"
INSTANCE_ID, IMAGE_ID = f"i-{HEX}", f"ami-{HEX}"

WantedTags = Mapping[str, str | None]
"""What something must carry: key -> value; None stands for any value."""


class Snapshot(Value):
    """A snapshot as DescribeSnapshots shows it."""

    snapshot_id: str
    state: str
    state_message: str | None
    storage_tier: str
    volume_id: str | None
    size_gib: int
    full_size_bytes: int | None
    """FullSnapshotSizeInBytes: all blocks written on the source volume; may be absent on old snapshots."""
    started_at: datetime
    completed_at: datetime | None
    encrypted: bool
    kms_key_id: str | None
    owner_id: str
    progress_percent: int
    tags: dict[str, str]
    description: str = ""
    """Given to every snapshot of one CreateSnapshots call alike (botocore: ec2 CreateSnapshots)."""
    is_copy: bool = False
    """Its volume id is "an arbitrary volume ID that you should not use" (botocore: ec2 Snapshot)."""
    outpost_arn: str | None = None
    """The Outpost on which it is stored; None in the Region."""
    zone: str | None = None
    """AvailabilityZone: the Local Zone in which it is stored; None in the Region."""


class BinnedSnapshot(Value):
    """A deleted snapshot that the Recycle Bin still holds, as ListSnapshotsInRecycleBin shows it."""

    snapshot_id: str
    volume_id: str | None
    entered_at: datetime
    leaves_at: datetime


class ImageVolume(Value):
    """A volume in the block device mapping of an AMI; None where EC2 does not say."""

    snapshot_id: str
    volume_type: str | None = None
    size_gib: int | None = None
    iops: int | None = None
    throughput_mib_s: int | None = None
    delete_on_termination: bool = False


class ArchiveRestore(Value):
    """RestoreSnapshotTier at work, as DescribeSnapshotTierStatus shows it."""

    started_at: datetime
    progress_percent: int


class VolumeSettings(Value):
    """The volume to create."""

    volume_type: str
    size_gib: int
    iops: int | None = None
    throughput_mib_s: int | None = None
    kms_key_id: str | None = None
    encrypted: bool = False
    """Also without a key; set only for a volume that is made of no snapshot."""
    multi_attach: bool = False
    tags: dict[str, str] = field(default_factory=dict)


class Boost(Value):
    """The settings that the volume has until it is warm; afterwards it goes back to those of `volume`."""

    volume_type: str
    iops: int
    throughput_mib_s: int | None = None


class Volume(Value):
    """A volume as DescribeVolumes shows it."""

    volume_id: str
    state: str
    availability_zone: str
    settings: VolumeSettings
    snapshot_id: str | None
    fast_restored: bool | None
    attachments: tuple[Attachment, ...]
    created_at: datetime
    managed_by: str | None = None
    """The AWS service that the volume belongs to (botocore: ec2 OperatorResponse)."""
    source_volume_id: str | None = None
    """Of a copy (botocore: ec2 Volume.SourceVolumeId)."""


class Attachment(Value):
    """One attachment of a volume; `state` is attaching, attached, detaching, detached or busy."""

    instance_id: str
    device: str
    state: str
    since: datetime | None = None
    delete_on_termination: bool = False
    card: int = 0
    """EbsCardIndex, where the instance has more than one EBS card."""


class Instance(Value):
    """An instance as DescribeInstances and DescribeInstanceInformation tell it."""

    instance_id: str
    state: str
    availability_zone: str
    instance_type: str
    architecture: str
    platform: str
    """`linux` or `windows`."""
    image_id: str
    devices: dict[str, str]
    """Device name to volume id."""
    ssm_online: bool
    root_device: str | None = None
    system: str | None = None
    """The operating system's name as Systems Manager knows it, such as `Amazon Linux`."""
    heard_at: datetime | None = None
    """When Systems Manager last heard from the agent on it; None where it never did."""
    state_reason: str | None = None
    """What EC2 says of the last change of its state."""
    tags: Mapping[str, str] = field(default_factory=dict)
    ending: frozenset[str] = frozenset()
    """Devices whose volumes are deleted when the instance is terminated."""

    @property
    def is_gone(self) -> bool:
        """It never comes back."""
        return self.state in {"shutting-down", "terminated"}

    @property
    def reach_in_words(self) -> str:
        """Why no command reaches it, for people: `i-… is stopped`."""
        if self.state != "running":
            return f"{self.instance_id} is {self.state}"
        return f"{self.instance_id} is not online in Systems Manager"


class StatusChecks(Value):
    """EC2's status checks of a running instance, as DescribeInstanceStatus shows them."""

    system: str
    """`ok`, `impaired`, `initializing`, `insufficient-data` or `not-applicable`; the others alike."""
    instance: str
    attached_ebs: str

    @property
    def passed(self) -> bool:
        """Whether all checks have passed; EC2 may not apply that of the volumes."""
        required = {self.system, self.instance} == {"ok"}
        return required and self.attached_ebs in {"ok", "not-applicable"}

    @property
    def in_words(self) -> str:
        """For a sentence."""
        return f"system {self.system}, instance {self.instance}, attached EBS {self.attached_ebs}"


class InstanceEbsLimits(Value):
    """EbsInfo.EbsOptimizedInfo of an instance type; None where AWS does not say."""

    baseline_throughput_mib_s: float | None
    maximum_throughput_mib_s: float | None
    baseline_iops: int | None
    maximum_iops: int | None
    nvme: bool = True
    """EbsInfo.NvmeSupport. Without NVMe (Xen) no program on the instance can tell which volume is which."""
    cards: tuple[InstanceEbsLimits, ...] = ()
    """EbsInfo.EbsCards: each card's own by its index; empty where there is one. The others count all."""

    def of_card(self, card: int | None) -> InstanceEbsLimits:
        """What the volumes on this card have together; the instance's own where it has one card."""
        return self if card is None or card >= len(self.cards) else self.cards[card]


class FastSnapshotRestore(Value):
    """State of fast snapshot restore for a snapshot in an Availability Zone."""

    state: str
    """enabling, optimizing, enabled, disabling, disabled."""
    enabled_at: datetime | None = None
    credits: float | None = None
    """FastSnapshotRestoreCreditsBalance; None where CloudWatch has no datapoint yet."""
    optimizing_seconds: float = 0.0
    """For how long it has been `optimizing`, by OptimizingTime; 0 in other states."""


class InitializationStatus(Value):
    """DescribeVolumeStatus; None where AWS leaves a part out (then it is unknown, not done)."""

    state: str | None
    """`initializing` or `completed`."""
    initialization_type: str | None
    """`default`, `provisioned-rate` or `volume-copy`."""
    progress_percent: int | None
    eta_seconds: int | None


class ReadActivity(Value):
    """One minute of a volume's CloudWatch metrics."""

    minute: datetime
    read_ops: float
    read_bytes: float
    read_seconds: float


class CommandStatus(Value):
    """An SSM Run Command invocation."""

    status: str
    """Pending, InProgress, Delayed, Success, Cancelled, TimedOut, Failed or Cancelling."""
    status_details: str
    exit_code: int | None
    stdout: str
    stderr: str
    ended_at: datetime | None = None
    """By the instance's clock; None while it runs, and where SSM names no end."""

    @property
    def finished(self) -> bool:
        """Nothing more will come."""
        return self.status in {"Success", "Cancelled", "TimedOut", "Failed"}


class CommandDocument(Value):
    """One version of a document, as Systems Manager describes it."""

    kind: str
    """Only a document of the kind Command can be sent to instances."""
    version: str
    default_version: str
    sha256: str
    platforms: frozenset[str]
    """Linux, MacOS, Windows."""
    tags: Mapping[str, str]


class PriceFigure(Value):
    """One price in US dollars, with where it comes from."""

    usd: Decimal
    as_of: datetime
    source: str
    borrowed_from: str | None = None
    """The Region whose figure this is, where it stands in for that of another one."""

    def is_stale(self, now: datetime) -> bool:
        """Prices change seldom, but they do."""
        return now - self.as_of > PRICE_FRESH


class CopyOrder(Value):
    """A copy of another Region's snapshot, as CopySnapshot takes it."""

    snapshot_id: str
    region: str
    minutes: int
    kms_key_id: str | None
    """KMS key of the copy. None: the copy of an encrypted snapshot has the Region's default key."""
    tags: Mapping[str, str]
    description: str


class PriceBook(Value):
    """Prices of one Region in US dollars; `as_of` dates the oldest figure."""

    region: str
    as_of: datetime
    source: str
    fsr_usd_per_hour: Decimal
    rate_usd_per_gib_mib_s: Decimal
    list_blocks_usd_per_thousand: Decimal
    get_blocks_usd_per_thousand: Decimal
    snapshot_usd_per_gib_month: Decimal
    """Standard tier: of the blocks that a snapshot keeps and no other one has."""
    storage_usd_per_gib_month: dict[str, Decimal]
    iops_usd_per_month: dict[str, Decimal]
    throughput_usd_per_mib_s_month: dict[str, Decimal]
    packs_usd_per_gib_month: Decimal = Decimal(0)
    """For the bucket, S3 Standard."""
    functions_usd_per_gb_second: Decimal = Decimal(0)
    functions_usd_per_million: Decimal = Decimal(0)
    """Runs of functions (Lambda)."""
    transitions_usd_per_thousand: Decimal = Decimal(0)
    """Of state machines (Step Functions)."""
    clone_usd_per_gib: Decimal | None = None
    """For each GiB of a volume clone, once; None where AWS names no price."""
    figures: Mapping[str, PriceFigure] = field(default_factory=dict)
    """All of them by their names in prices.json."""


class RunningFastRestore(Value):
    """Fast snapshot restore that EC2 has active and that we enabled."""

    snapshot_id: str
    availability_zone: str
    since: datetime
    """When it was enabled; each minute since then counts."""
    users: frozenset[str]
    """The volumes that rely on it, as `restore-id/index`; empty where it was released and is active still."""


class LeftOut(Value):
    """What a restore does without: a part that the stack lacks, or a volume that cannot be adopted."""

    parameter: str | None = field(
        metadata={"description": "The stack's parameter that adds the part; null for a volume."}
    )
    effect: str = field(metadata={"description": "What therefore does not happen."})
    because: str = field(metadata={"description": "Why, and how to have it."})
    field: str = field(metadata={"description": "The field of the request that names it."})

    @property
    def sentence(self) -> str:
        """For people."""
        return f"{self.effect}, because {self.because}."

    @property
    def missing(self) -> str:
        """What people would otherwise believe was done; empty if the volumes are as they would have been."""
        return {
            "after": "the application is not back",
            "target.mode": "nothing was rewound",
            "source.existing": self.effect,
        }.get(self.field, "")
