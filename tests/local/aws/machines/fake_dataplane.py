"""A working data plane in memory: volumes count what is done to them, commands end as the test says."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from local.aws.machines.dataplane import (
    BLOCK_BYTES,
    DataPlaneError,
    SnapshotImage,
    VolumeCounters,
    VolumeLimits,
)


@dataclass
class FakeCommand:
    """A command that ends when the test says so, or at once when its script is known."""

    script: str
    environment: dict[str, str]
    code: int | None = None
    stdout: str = ""
    stderr: str = ""
    cancelled: bool = False

    def poll(self) -> int | None:
        return self.code

    def cancel(self) -> None:
        self.cancelled = True
        if self.code is None:
            self.code = 143

    def output(self) -> tuple[str, str]:
        return self.stdout, self.stderr

    def end(self, code: int, stdout: str = "", stderr: str = "") -> None:
        """Let the command end."""
        self.stdout, self.stderr, self.code = stdout, stderr, code


@dataclass
class FakeVolume:
    """One volume: its limits, where it is attached and which written blocks are local."""

    size_gib: int
    image: SnapshotImage | None
    limits: VolumeLimits
    fetched: int
    background: float = 0.0
    counters: VolumeCounters = field(default_factory=VolumeCounters)
    attached_to: set[str] = field(default_factory=set)

    @property
    def written(self) -> int:
        return sum(count for _, count in self.image.extents) if self.image else 0


class FakeDataPlane:
    """Keeps the contract of `local.aws.machines.dataplane.DataPlane`, errors included."""

    def __init__(
        self, answer: Callable[[str], tuple[int, str] | None] = lambda _script: (0, "done\n")
    ) -> None:
        self.volumes: dict[str, FakeVolume] = {}
        self.instances: set[str] = set()
        self.commands: list[FakeCommand] = []
        self.broken: set[str] = set()
        self.answer = answer
        self._lock = threading.Lock()

    def create_volume(
        self, volume_id: str, size_gib: int, image: SnapshotImage | None, limits: VolumeLimits, *, warm: bool
    ) -> None:
        self._fail("create_volume")
        volume = FakeVolume(size_gib, image, limits, 0)
        volume.fetched = volume.written if warm else 0
        with self._lock:
            self.volumes[volume_id] = volume

    def copy_volume(self, volume_id: str, source_id: str, size_gib: int, limits: VolumeLimits) -> None:
        self._fail("copy_volume")
        self.create_volume(volume_id, size_gib, self._volume(source_id).image, limits, warm=True)

    def snapshot_volume(self, volume_id: str, snapshot_id: str) -> SnapshotImage:
        self._fail("snapshot_volume")
        volume = self._volume(volume_id)
        image = volume.image or SnapshotImage(snapshot_id, volume.size_gib, (), None)
        return replace(image, snapshot_id=snapshot_id, size_gib=volume.size_gib, path=None)

    def delete_snapshot(self, snapshot_id: str) -> None:
        """Nothing is kept of one."""

    def delete_volume(self, volume_id: str) -> None:
        with self._lock:
            self.volumes.pop(volume_id, None)

    def attach_volume(self, volume_id: str, instance_id: str, device: str) -> None:
        self._fail("attach_volume")
        self._volume(volume_id).attached_to.add(instance_id)

    def detach_volume(self, volume_id: str, instance_id: str) -> None:
        self._fail("detach_volume")
        self._volume(volume_id).attached_to.discard(instance_id)

    def set_limits(self, volume_id: str, limits: VolumeLimits) -> None:
        self._volume(volume_id).limits = limits

    def set_initialized_fraction(self, volume_id: str, fraction: float) -> None:
        volume = self._volume(volume_id)
        volume.background = fraction
        volume.fetched = max(volume.fetched, int(fraction * volume.written))

    def counters(self, volume_id: str) -> VolumeCounters:
        volume = self._volume(volume_id)
        return replace(volume.counters, written_blocks=volume.written, fetched_blocks=volume.fetched)

    def start_instance(self, instance_id: str, *, nvme: bool = True) -> None:
        assert isinstance(nvme, bool)
        self.instances.add(instance_id)

    def stop_instance(self, instance_id: str) -> None:
        self.instances.discard(instance_id)

    def run_command(self, instance_id: str, script: str, *, environment: dict[str, str]) -> FakeCommand:
        self._fail("run_command")
        if instance_id not in self.instances:
            raise DataPlaneError(f"no instance {instance_id}")
        command = FakeCommand(script, environment)
        known = self.answer(script)
        if known is not None:
            command.end(*known)
        self.commands.append(command)
        return command

    def close(self) -> None:
        self.volumes.clear()
        self.instances.clear()

    def read_blocks(self, volume_id: str, blocks: int, *, seconds: float = 0.0) -> None:
        """The instance reads written blocks that are not local yet, each in two requests of 256 KiB."""
        volume = self._volume(volume_id)
        volume.fetched = min(volume.written, volume.fetched + blocks)
        before = volume.counters
        volume.counters = replace(
            before,
            read_ops=before.read_ops + 2 * blocks,
            read_bytes=before.read_bytes + blocks * BLOCK_BYTES,
            read_seconds=before.read_seconds + seconds,
            read_blocks=min(volume.written, before.read_blocks + blocks),
        )

    def _volume(self, volume_id: str) -> FakeVolume:
        if volume_id not in self.volumes:
            raise DataPlaneError(f"no volume {volume_id}")
        return self.volumes[volume_id]

    def _fail(self, operation: str) -> None:
        if operation in self.broken:
            raise DataPlaneError(f"{operation} was told to fail")
