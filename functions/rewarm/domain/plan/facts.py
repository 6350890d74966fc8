"""What is known of a volume and its target before anything is made, alone and beside its restore's others."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from rewarm.domain.model import GIB, FastSnapshotRestore, InstanceEbsLimits, Strategy, VolumeSettings
from rewarm.domain.time.timings import PRIORS, Quantiles, Timings
from rewarm.domain.value import Value
from rewarm.domain.volume.extents import Scope
from rewarm.domain.volume.performance import ModificationRule
from rewarm.domain.volume.volume_types import VolumeLimits

FSR_RUNNING = frozenset({"enabling", "optimizing", "enabled"})
"""botocore: ec2 FastSnapshotRestoreStateCode, those in which it is there or on its way."""
IN_PLACE = frozenset({Strategy.WARM_UP_AGENT, Strategy.BACKGROUND})
"""What brings an adopted volume to full speed without a new volume or other settings."""
NO_WAIT = Quantiles(0.0, 0.0)


def in_place(*, boost: bool) -> frozenset[Strategy]:
    """What may bring a volume that is there to full speed, where its request allows a boost or not."""
    return IN_PLACE | {Strategy.BOOSTED_WARM_UP} if boost else IN_PLACE


class UnusedQuotas(Value):
    """What the Region's quotas leave at this moment."""

    fast_snapshot_restores: int
    """Snapshots that may still get fast snapshot restore."""
    initialization_rate_mib_s: int
    volume_copies: int
    being_copied: frozenset[str] = frozenset()
    """Volumes of which a copy is made just now."""


class CloneSource(Value):
    """A living volume that CopyVolumes could copy."""

    volume_id: str
    size_gib: int
    speed: VolumeLimits
    being_copied: bool = False
    """EBS user guide, "Copy volumes": one copy of a volume at a time."""


class VolumeFacts(Value):
    """One volume. The last eight say what it shares; `beside_each_other` fills them in."""

    data_bytes: int
    written_bytes: int
    written_blocks: int
    snapshot_size_gib: int
    speed: VolumeLimits
    instance_limits: InstanceEbsLimits | None
    """None where the volume goes to no instance."""
    agent_available: bool
    verified: bool
    """The volume is measured at the end, which takes time too."""
    settings: VolumeSettings | None = None
    """The settings that the volume gets in the end; a boost is above them. None: no boost."""
    snapshot_id: str = ""
    availability_zone: str = ""
    instance_id: str | None = None
    card: int | None = None
    """The EBS card, if the instance has several: `instance_limits` are then the card's. Else None."""
    max_warm_up_mib_s: int | None = None
    scope: Scope = Scope.WRITTEN
    polite_latency_ms: float | None = None
    is_there: bool = False
    """It exists and is in use: nothing is made. Its settings stay, or are raised while it is warmed up."""
    boost_refusal: str | None = None
    """Why the settings of a volume that is there stay."""
    modification_rule: ModificationRule = ModificationRule.FOUR_IN_24_H
    """How soon EC2 lowers a volume that is there and was raised."""
    warm_because: str | None = None
    """Why a volume that is there is taken to be warm."""
    starts_instance: bool = False
    """Its instance is stopped, and started with it."""
    swaps_root: bool = False
    """Its instance is rebooted with it as the root volume, once it is at full speed."""
    fast_restore: FastSnapshotRestore | None = None
    fast_restore_quota_left: int = 5
    """Snapshots that may still be enabled in this Region."""
    rate_quota_left_mib_s: int = 5_000
    """What running creations leave of the Region's initialization rate."""
    clone_source: CloneSource | None = None
    """The source volume, where it lives in the target's zone."""
    clone_quota_left: int = 5
    priority: int = 1
    """Where not all can be in time, those with a lower number are ready first."""
    of_drill: bool = False
    """A drill changes nothing of its snapshot, which is the source's."""
    agent_writes: bool = False
    """The agent may write to the volume: it runs on Linux."""
    writing_left_out: str | None = None
    """Why the stack has no agent that writes; None where it has one."""
    timings: Timings = PRIORS
    volumes_of_snapshot: int = 1
    """Volumes of this restore that come from the same snapshot in the same zone."""
    snapshots_of_restore: int = 1
    """Of this restore: snapshots for which fast snapshot restore is not enabled yet."""
    volumes_of_restore: int = 1
    clones_of_restore: int = 1
    """Volumes of this restore that could be clones."""
    queue_seconds: Quantiles = NO_WAIT
    """How long it waits until other volumes of this restore have left it the rate's quota."""
    snapshots_read: int = 1
    """Of this restore: snapshots whose blocks could be copied."""
    read_beside: tuple[int, ...] = ()
    """Bytes that the agent reads of each other volume on the same instance or card, ascending."""
    write_beside: tuple[int, ...] = ()
    """The same bytes if the agent writes this volume, with what it writes of the others."""
    writers_of_snapshot: int = 1
    """Volumes of this restore that could be written with the blocks of this snapshot."""

    @property
    def reads_through(self) -> str | None:
        """What it shares with the volumes beside it: its instance, or one EBS card of that."""
        return self.instance_id if self.card is None else f"{self.instance_id} {self.card}"

    @property
    def read_bytes(self) -> int:
        """What the agent reads; at most, where the scope is `used`."""
        return self.whole_bytes if self.scope is Scope.WHOLE else self.written_bytes

    @property
    def whole_bytes(self) -> int:
        """The volume's size."""
        size_gib = self.settings.size_gib if self.settings else self.snapshot_size_gib
        return max(self.written_bytes, size_gib * GIB)

    @property
    def write_bytes(self) -> int:
        """Bytes through the instance: the agent writes each block and reads it back."""
        return 2 * self.written_bytes

    @property
    def is_rate_typical(self) -> bool:
        """Whether the agent's rate will say something of other restores: the same blocks, and no pauses."""
        return self.scope is Scope.WRITTEN and self.polite_latency_ms is None

    @property
    def place(self) -> tuple[str, str]:
        """Fast snapshot restore is enabled, and paid, for a snapshot in an Availability Zone."""
        return (self.snapshot_id, self.availability_zone)

    @property
    def fast_restore_runs(self) -> bool:
        """Somebody has enabled it already."""
        return self.fast_restore is not None and self.fast_restore.state in FSR_RUNNING


def beside_each_other(volumes: Sequence[VolumeFacts]) -> list[VolumeFacts]:
    """The facts of one restore's volumes, with what they share filled in.

    Each volume is judged as if all others had the same strategy. Then they warm up side by side, use the same
    quota and wait for the same credits. The real case is never worse.
    """
    places = Counter(volume.place for volume in volumes)
    writers = Counter(volume.snapshot_id for volume in volumes if volume.agent_writes)
    waiting = {volume.place for volume in volumes if not volume.fast_restore_runs}
    snapshots = len({volume.snapshot_id for volume in volumes})
    clones = sum(volume.clone_source is not None for volume in volumes)
    together: dict[str, list[VolumeFacts]] = {}
    for volume in volumes:
        if volume.reads_through is not None:
            together.setdefault(volume.reads_through, []).append(volume)
    read = {name: sorted(volume.read_bytes for volume in group) for name, group in together.items()}
    written = {name: sorted(volume.write_bytes for volume in group) for name, group in together.items()}
    return [
        replace(
            volume,
            volumes_of_snapshot=places[volume.place],
            snapshots_of_restore=len(waiting),
            volumes_of_restore=len(volumes),
            clones_of_restore=max(1, clones),
            snapshots_read=snapshots,
            read_beside=_others(read.get(volume.reads_through or "", []), volume.read_bytes),
            write_beside=_others(written.get(volume.reads_through or "", []), volume.write_bytes),
            writers_of_snapshot=max(1, writers[volume.snapshot_id]),
        )
        for volume in volumes
    ]


def _others(sizes: list[int], own: int) -> tuple[int, ...]:
    place = bisect_left(sizes, own)
    return (*sizes[:place], *sizes[place + 1 :])
