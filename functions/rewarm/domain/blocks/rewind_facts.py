"""The facts of a volume to rewind: how many blocks differ, and whether a rewind is possible, or why not.

EBS lists the blocks that differ between the good snapshot and the newest completed one. VolumeWriteBytes and
VolumeWriteOps give bounds for what was written since.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from operator import attrgetter
from typing import Literal

from rewarm.domain.blocks.shards import ChangedCount
from rewarm.domain.model import BLOCK_BYTES, Instance, InstanceEbsLimits, Snapshot, Volume
from rewarm.domain.snapshots import unusable
from rewarm.domain.time.timings import PRIORS, Timings
from rewarm.domain.value import Value
from rewarm.domain.volume.volume_types import VolumeLimits


class RewindManner(Value):
    """What keeps the volume as it was, and how the blocks that differ are found."""

    evidence: Literal["snapshot", "undo-log"]
    compare: Literal["snapshots", "device"]
    words: str

    @property
    def reads_device(self) -> bool:
        """Whether the agent reads all of the volume, and every written block of the snapshot is fetched."""
        return self.compare == "device"

    @property
    def waits(self) -> bool:
        """Whether a snapshot is completed before the last blocks are written."""
        return self.evidence == "snapshot"


LISTED = RewindManner("snapshot", "snapshots", "a snapshot first, and EBS's lists of changed blocks")
LOGGED = RewindManner("undo-log", "device", "an undo log, and a comparison of the whole device")
COMPARED = RewindManner("snapshot", "device", "a snapshot first, and a comparison of the whole device")
WAYS = (LISTED, LOGGED, COMPARED)
"""If price and time are the same, the earlier one is chosen."""


class WrittenSince(Value):
    """VolumeWriteOps and VolumeWriteBytes since the newest completed snapshot was started."""

    ops: float
    size_bytes: float


class RewindFacts(Value):
    """A living volume, and what has changed on it since the good snapshot."""

    volume_bytes: int
    speed: VolumeLimits
    instance_limits: InstanceEbsLimits
    changed: ChangedCount
    since: WrittenSince | None
    """None where CloudWatch does not say: then all of the volume may have changed."""
    written_blocks: int = 0
    """Blocks of the good snapshot, which are fetched if the device is compared."""
    least: int = 0
    """Blocks that differ at least, by what is known of an earlier rewind of the volume."""
    logged: int = 0
    """Blocks that an undo log has in place of the snapshot."""
    alone: bool = False
    """Only what differs is read, because a list of it or an undo log is at hand."""
    is_equal: bool = False
    """A snapshot equals the volume, so it is the way back, and none is made."""
    max_mib_s: float = math.inf
    """What the request allows the agent."""
    timings: Timings = PRIORS

    @property
    def volume_blocks(self) -> int:
        """All blocks of the volume."""
        return math.ceil(self.volume_bytes / BLOCK_BYTES)


class RewindLoad(Value):
    """What is expected, or at most, to be written. The first part differs already in the newest snapshot."""

    first_blocks: int
    blocks: int
    zeros: int

    @property
    def fetched(self) -> int:
        """Blocks that have to be read from the snapshot."""
        return self.blocks - self.zeros


def loads(facts: RewindFacts) -> tuple[RewindLoad, RewindLoad]:
    """What is expected to be written, and what at most.

    At least, the bytes written since fill whole blocks. At most, each operation also met another block; few
    cross from one block to the next. Expected is the geometric mean of both: a choice. If CloudWatch does not
    say, it is what is known to differ, else the geometric mean of one block and all.

    Blocks that changed both before and since are counted twice: too many are better than too few.
    """
    volume = facts.volume_blocks
    found = facts.changed
    since = facts.since
    unlisted = math.ceil(volume * (1 - found.listed_share))
    likely = round(min(volume, found.blocks / found.listed_share)) if found.listed_share else volume
    if since is None:
        between = facts.least or round(math.sqrt(volume))
        touched = volume
    else:
        full = math.ceil(since.size_bytes / BLOCK_BYTES)
        touched = max(facts.least, full + math.ceil(since.ops))
        between = max(facts.least, round(math.sqrt(full * (full + math.ceil(since.ops)))))

    def load(first: int, later: int) -> RewindLoad:
        return RewindLoad(first, min(volume, first + later), found.zeros)

    return load(likely, between), load(min(volume, found.blocks + unlisted), touched)


MOST_REWOUND = 8
"""Volumes of one request: their changed blocks are listed while somebody waits."""
MOST_LEARNED_FROM = 20
_STARTED_AT = attrgetter("started_at")
BESIDE = "target.mode replace puts a new volume of the snapshot in its place"


def newest_of_lineage(snapshots: Iterable[Snapshot], volume_id: str) -> Snapshot | None:
    """The newest snapshot of the volume whose blocks can be listed; None where there is none.

    Copies carry an arbitrary volume id, so they are left out (botocore: ec2 Snapshot.VolumeId).
    """
    found = [snapshot for snapshot in _own(snapshots, volume_id) if not unusable(snapshot)]
    return max(found, key=_STARTED_AT, default=None)


def pending_seconds(snapshots: Iterable[Snapshot], volume_id: str) -> list[float]:
    """How long the volume's latest snapshots were pending; without its first one, which had all blocks."""
    later = sorted(_own(snapshots, volume_id), key=_STARTED_AT)[1:][-MOST_LEARNED_FROM:]
    ends = [(snapshot.started_at, snapshot.completed_at) for snapshot in later]
    return [(completed_at - started_at).total_seconds() for started_at, completed_at in ends if completed_at]


def _own(snapshots: Iterable[Snapshot], volume_id: str) -> list[Snapshot]:
    return [snapshot for snapshot in snapshots if snapshot.volume_id == volume_id and not snapshot.is_copy]


def attached_to(volume: Volume) -> str | None:
    """The only instance that has the volume; None where there is none or several."""
    instances = {place.instance_id for place in volume.attachments if place.state == "attached"}
    return instances.pop() if len(instances) == 1 else None


def lineage_refusal(volume: Volume, good: Snapshot) -> str | None:
    """Why EBS cannot list what differs between the volume and the good snapshot; None where it may."""
    if good.is_copy:
        return f"{good.snapshot_id} is a copy, and EBS lists what differs between snapshots of one volume"
    if good.volume_id != volume.volume_id:
        return (
            f"{good.snapshot_id} is no snapshot of {volume.volume_id} itself, and EBS lists what differs "
            "between snapshots of one volume"
        )
    return None


def volume_refusal(volume: Volume, good: Snapshot, *, is_named: bool = False) -> str | None:
    """Why the volume cannot be rewound to the good snapshot; None where it can.

    A snapshot that is not the volume's own needs a request that names the volume.
    """
    if volume.managed_by is not None:
        return f"{volume.volume_id} belongs to {volume.managed_by}; {BESIDE}"
    if len(volume.attachments) > 1:
        return (
            f"{volume.volume_id} is attached to {len(volume.attachments)} instances, and another one could "
            "write meanwhile; detach it from all but one"
        )
    if attached_to(volume) is None:
        return (
            f"{volume.volume_id} is attached to no instance on which the agent could write; attach it to one"
        )
    foreign = None if is_named else lineage_refusal(volume, good)
    if foreign is not None:
        return f"{foreign}; name the volume in target.volumeId, and the device is compared"
    if good.size_gib != volume.settings.size_gib:
        return (
            f"{volume.volume_id} has {volume.settings.size_gib:,} GiB now and had {good.size_gib:,} then; "
            f"{BESIDE}"
        )
    return None


def instance_refusal(
    volume: Volume, instance: Instance, limits: InstanceEbsLimits, *, agent_available: bool
) -> str | None:
    """Why the agent on the volume's instance cannot write it; None where it can."""
    devices = {place.device for place in volume.attachments}
    if instance.root_device in devices:
        return _root(volume.volume_id, instance)
    if instance.state != "running" or not instance.ssm_online:
        return f"{instance.reach_in_words}, so the agent cannot write there"
    if instance.platform != "linux":
        return f"{instance.instance_id} runs Windows, where writing was never tried; {BESIDE}"
    if not limits.nvme:
        return (
            f"{instance.instance_id} is a {instance.instance_type}, which has no NVMe: no program on it can "
            "tell which volume a device is"
        )
    if not agent_available:
        return f"there is no agent for {instance.platform} on {instance.architecture}"
    return None


def _root(volume_id: str, instance: Instance) -> str:
    if instance.state != "running":
        return (
            f"{volume_id} is the root volume of {instance.instance_id}, which is {instance.state}, and the "
            "agent needs a running instance. What works is to attach the volume to another one as a data "
            "volume, and to rewind it there; or target.mode replace with target.device "
            f"{instance.root_device} and target.start"
        )
    return (
        f"{volume_id} is the root volume of {instance.instance_id}, which runs from it; what works is "
        f"target.mode replace with target.device {instance.root_device} and target.reboot: a new volume is "
        "brought to full speed beside it, and EC2 swaps that in, which reboots the instance (on a stopped "
        "instance: target.start in place of target.reboot)"
    )
