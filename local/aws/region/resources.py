"""The things that exist in a Region. Plain records: the parts beside this file give them their life."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from local.aws.machines.dataplane import BLOCK_BYTES, Extent, Layer, SnapshotImage, VolumeLimits
from local.aws.region.settings import GIB_BYTES
from local.aws.region.snapshots.block_lists import block_count

NO_VOLUME = "vol-ffffffff"
"""What DescribeSnapshots shows for a copy (EBS user guide, "Copy an Amazon EBS snapshot")."""


@dataclass(slots=True)
class Snapshot:
    """An EBS snapshot (botocore shape Snapshot), with the blocks that it holds."""

    snapshot_id: str
    size_gib: int
    extents: Sequence[Extent]
    path: Path | None
    owner_id: str
    start_time: float
    state: str = "completed"
    state_message: str | None = None
    progress: int = 100
    completion_time: float | None = None
    completes: float | None = None
    """When one that is being made is to be completed."""
    volume_id: str = NO_VOLUME
    description: str = ""
    encrypted: bool = False
    kms_key_id: str | None = None
    storage_tier: str = "standard"
    outpost_arn: str | None = None
    availability_zone: str | None = None
    """The Local Zone in which it is stored; None in the Region."""
    restore_expiry: float | None = None
    owner_alias: str | None = None
    shared_with_me: bool = False
    public: bool = False
    full_size_known: bool = True
    tags: dict[str, str] = field(default_factory=dict)
    tiering_status: str | None = None
    tiering_start: float | None = None
    tiering_progress: int | None = None
    archival_complete: float | None = None
    bin_entered: float | None = None
    bin_leaves: float | None = None
    copied: bool = False
    copy_minutes: int | None = None
    """The completion duration of a time-based copy."""
    layers: tuple[Layer, ...] = ()
    """Where it has no file: what its bytes are generated from. None: one layer, the same for a lineage."""
    lineage: str = ""
    """Snapshots of one lineage can be compared; by default those of one volume."""
    copied_lineage: str = ""
    """Of the snapshot that this one is a copy of."""

    def __post_init__(self) -> None:
        self.lineage = self.lineage or (self.snapshot_id if self.volume_id == NO_VOLUME else self.volume_id)

    @property
    def is_local(self) -> bool:
        """Stored on an Outpost or in a Local Zone, and not in the Region."""
        return bool(self.outpost_arn or self.availability_zone)

    @property
    def written_bytes(self) -> int:
        """All blocks that the snapshot holds, capped at the volume's size."""
        return min(block_count(self.extents) * BLOCK_BYTES, self.size_gib * GIB_BYTES)

    @property
    def image(self) -> SnapshotImage:
        """The snapshot as the data plane takes it."""
        layers = self.layers or ((self.extents, self.lineage),)
        return SnapshotImage(self.snapshot_id, self.size_gib, self.extents, self.path, layers)


@dataclass(slots=True)
class Key:
    """A KMS key (botocore shape KeyMetadata); `allowed` says whether this account may use it."""

    arn: str
    state: str = "Enabled"
    deletion_date: float | None = None
    allowed: bool = True

    @property
    def usable(self) -> bool:
        """KMS developer guide, "Key states": those in which it encrypts and decrypts."""
        return self.allowed and self.state in ("Enabled", "Updating")


@dataclass(slots=True)
class Attachment:
    """A volume on an instance (botocore shape VolumeAttachment)."""

    instance_id: str
    device: str
    attach_time: float
    state: str = "attaching"
    delete_on_termination: bool = False
    card: int | None = None
    """The index of the EBS card; None where the instance has one."""


@dataclass(slots=True)
class Initialization:
    """How a volume's snapshot blocks become local, and how far DescribeVolumeStatus says it is."""

    kind: str
    rate_mib_s: float
    total_bytes: int
    start: float
    frozen_at: float | None = None
    read_fraction: float = 0.0
    completed: float | None = None
    reported_progress: int = 0
    reported_completed: bool = False
    reported_at: float = 0.0
    applied_fraction: float = 0.0
    look_at: float = math.inf
    """When the Region looks at it next."""

    def reaches(self, fraction: float) -> float:
        """When so much is loaded, if nothing is read; infinity where that never comes."""
        if fraction > 1.0 or self.rate_mib_s <= 0 or self.completed is not None:
            return math.inf
        at = self.start + fraction * self.total_bytes / (self.rate_mib_s * 1024**2)
        return at if self.frozen_at is None or at <= self.frozen_at else math.inf

    def fraction(self, now: float) -> float:
        """The share of the written blocks that is local, 0 to 1."""
        if self.completed is not None or self.total_bytes == 0:
            return 1.0
        until = now if self.frozen_at is None else min(now, self.frozen_at)
        loaded = max(0.0, until - self.start) * self.rate_mib_s * 1024**2 / self.total_bytes
        return min(1.0, max(loaded, self.read_fraction))


@dataclass(slots=True)
class Modification:
    """One ModifyVolume (botocore shape VolumeModification)."""

    volume_id: str
    original: VolumePerformance
    target: VolumePerformance
    start: float
    state: str = "modifying"
    optimizing_start: float | None = None
    optimizing_seconds: float = 0.0
    end: float | None = None


@dataclass(frozen=True, slots=True)
class VolumePerformance:
    """What a volume's owner chooses, and ModifyVolume changes."""

    size_gib: int
    volume_type: str
    iops: int | None
    throughput_mib_s: int | None
    multi_attach: bool = False


@dataclass(slots=True)
class Volume:
    """An EBS volume (botocore shape Volume)."""

    volume_id: str
    zone: str
    performance: VolumePerformance
    create_time: float
    encrypted: bool = False
    kms_key_id: str | None = None
    snapshot: Snapshot | None = None
    source: Volume | None = None
    """The volume that this one is a copy of."""
    copied_bytes: int = 0
    copy_ceiling: VolumeLimits | None = None
    """What a copy may do at most until it is initialised."""
    card_ceiling: VolumeLimits | None = None
    """Its share of an EBS card that its volumes could fill."""
    rate_mib_s: int | None = None
    fast_restored: bool = False
    state: str = "creating"
    has_data: bool = True
    active_time: float | None = None
    delete_time: float | None = None
    tags: dict[str, str] = field(default_factory=dict)
    attachments: dict[str, Attachment] = field(default_factory=dict)
    initialization: Initialization | None = None
    modifications: list[Modification] = field(default_factory=list)
    product_codes: list[str] = field(default_factory=list)
    """Of AWS Marketplace."""
    managed_by: str | None = None
    """The AWS service that the volume belongs to (botocore shape OperatorResponse)."""

    @property
    def size_gib(self) -> int:
        """The volume's size."""
        return self.performance.size_gib

    @property
    def written_bytes(self) -> int:
        """The data that it was made with; what was written since is known to the data plane only."""
        return self.snapshot.written_bytes if self.snapshot is not None else self.copied_bytes


@dataclass(slots=True)
class FastRestore:
    """Fast snapshot restore of one snapshot in one zone, with its bucket of credits."""

    snapshot: Snapshot
    zone: str
    enabling: float
    optimizing: float | None = None
    enabled: float | None = None
    disabling: float | None = None
    disabled: float | None = None
    state: str = "enabling"
    reason: str = "Client.UserInitiated"
    credits: float = 0.0
    credits_at: float | None = None


@dataclass(slots=True)
class Instance:
    """An EC2 instance, and whether Systems Manager knows it."""

    instance_id: str
    zone: str
    instance_type: str
    image_id: str
    launch_time: float
    platform: str = "Linux"
    architecture: str = "x86_64"
    root_device: str = "/dev/xvda"
    state: str = "running"
    managed: bool = True
    reachable: bool = True
    online_at: float = 0.0
    """When its SSM agent listens again after a start."""
    checked_at: float = 0.0
    """When its status checks have a result after a start."""
    impaired: str = ""
    """The status check that fails: `system`, `instance` or `volumes`."""
    private_ip: str = "10.0.0.10"
    client_token: str = ""
    launched: dict[str, Any] = field(default_factory=dict)
    """What else RunInstances was given and DescribeInstances shows."""
    tags: dict[str, str] = field(default_factory=dict)

    def listens(self, now: float) -> bool:
        """Whether Systems Manager has it online."""
        return self.reachable and self.state == "running" and now >= self.online_at


@dataclass(frozen=True, slots=True)
class ImageDevice:
    """One block device of an image."""

    device: str
    snapshot_id: str
    size_gib: int
    volume_type: str = "gp3"
    delete_on_termination: bool = False


@dataclass(slots=True)
class Image:
    """An AMI, as far as a restore needs it."""

    image_id: str
    name: str
    devices: tuple[ImageDevice, ...]
    creation_time: float
    owner_id: str
    architecture: str = "x86_64"
    root_device: str = "/dev/xvda"
    tags: dict[str, str] = field(default_factory=dict)
