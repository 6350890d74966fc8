"""The seam between the EBS Region simulator (control plane) and what really holds bytes and runs commands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

BLOCK_BYTES = 524_288
"""Block size of the EBS direct APIs (botocore ebs; EBS user guide, "Read EBS snapshots")."""

Extent = tuple[int, int]
"""A run of written blocks: (first block index, number of blocks)."""


Layer = tuple[Sequence[Extent], str]
"""Blocks that were written together, and what their bytes are generated from."""


@dataclass(frozen=True, slots=True)
class SnapshotImage:
    """What a volume is created from: the written extents and, if it has data, the image file."""

    snapshot_id: str
    size_gib: int
    extents: Sequence[Extent]
    path: Path | None
    layers: tuple[Layer, ...] = ()
    """Without a file: what was written one after the other; the last layer that has a block counts."""


@dataclass(frozen=True, slots=True)
class VolumeLimits:
    """What the volume's type and settings allow."""

    iops: int
    throughput_mib_s: float


@dataclass(frozen=True, slots=True)
class VolumeCounters:
    """What the instance really did to a volume since it was created; only ever grows."""

    read_ops: int = 0
    read_bytes: int = 0
    read_seconds: float = 0.0
    write_ops: int = 0
    write_bytes: int = 0
    write_seconds: float = 0.0
    written_blocks: int = 0
    """Blocks that the snapshot holds."""
    fetched_blocks: int = 0
    """Written blocks that are local now, by whatever way (read, or initialised in the background)."""
    read_blocks: int = 0
    """Written blocks of which the instance has read every byte."""


class CommandHandle(Protocol):
    """A command that runs on an instance."""

    def poll(self) -> int | None:
        """The exit status, None while it runs, -1 where a signal ended it (SSM agent, executers.go)."""

    def cancel(self) -> None:
        """End the command and everything it started. Safe to call at any time."""

    def output(self) -> tuple[str, str]:
        """Standard output and standard error so far."""


class DataPlane(Protocol):
    """Volumes with bytes, instances that run commands. Any method may raise DataPlaneError."""

    def create_volume(
        self, volume_id: str, size_gib: int, image: SnapshotImage | None, limits: VolumeLimits, *, warm: bool
    ) -> None:
        """Make the volume; `warm` means that every block is local from the start (FSR, or no snapshot)."""

    def copy_volume(self, volume_id: str, source_id: str, size_gib: int, limits: VolumeLimits) -> None:
        """Make the volume with the bytes that the other one has now; every block is local (CopyVolumes)."""

    def snapshot_volume(self, volume_id: str, snapshot_id: str) -> SnapshotImage:
        """Keep the bytes that the volume has now as a snapshot (CreateSnapshot)."""

    def delete_snapshot(self, snapshot_id: str) -> None:
        """Remove the bytes of a snapshot that was made here. Unknown ids are ignored."""

    def delete_volume(self, volume_id: str) -> None:
        """Remove the volume and its bytes. Unknown ids are ignored."""

    def attach_volume(self, volume_id: str, instance_id: str, device: str) -> None:
        """Make the volume visible on the instance, under /dev/disk/by-id as EC2 does."""

    def detach_volume(self, volume_id: str, instance_id: str) -> None:
        """Take the volume away from the instance."""

    def set_limits(self, volume_id: str, limits: VolumeLimits) -> None:
        """Change what the volume may do from now on (ModifyVolume)."""

    def set_initialized_fraction(self, volume_id: str, fraction: float) -> None:
        """Background initialisation has loaded this share (0..1) of the written blocks, in block order."""

    def counters(self, volume_id: str) -> VolumeCounters:
        """What the instance really did to the volume."""

    def start_instance(self, instance_id: str, *, nvme: bool = True) -> None:
        """Make the instance able to run commands. On Xen (no NVMe) its volumes have no names by id."""

    def stop_instance(self, instance_id: str) -> None:
        """End the instance and everything that runs on it. Unknown ids are ignored."""

    def run_command(self, instance_id: str, script: str, *, environment: dict[str, str]) -> CommandHandle:
        """Run a shell script on the instance as root, as the SSM agent's aws:runShellScript does."""

    def close(self) -> None:
        """End and unmount everything that this data plane made."""


class DataPlaneError(Exception):
    """The machine could not do what was asked; the message says what and why."""
