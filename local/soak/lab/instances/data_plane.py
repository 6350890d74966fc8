"""A data plane in memory and virtual time: volumes that know which blocks are cold, instances, commands.

No byte exists. A volume knows how many of its written blocks are local, and a command of the warm-up
document does to it what the real agent would: `local/soak/lab/instances/agent.py`.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Protocol

from local.aws.machines.dataplane import (
    BLOCK_BYTES,
    DataPlaneError,
    SnapshotImage,
    VolumeCounters,
    VolumeLimits,
)
from local.aws.region.snapshots.block_lists import block_count
from local.soak.lab.instances import device_use
from local.soak.lab.instances.agent import AgentRun, Trouble, given, starts_agent
from local.soak.lab.instances.applying import APPLY, apply, is_apply
from local.soak.lab.instances.benchmark import BENCHMARK, COMMAND, benchmark
from local.soak.lab.instances.calibration import FirstTouchModel, calibrate, is_calibration
from local.soak.lab.instances.hook import DOCUMENT, HOOK, Applications, is_hook, run_document, run_hook
from local.soak.lab.scheduler import Process, Scheduler


class ObjectStore(Protocol):
    """What instances reach by presigned addresses."""

    def get(self, url: str) -> bytes | None:
        """The object; None where there is none."""

    def put(self, url: str, body: bytes) -> None:
        """Write the object."""

    def put_once(self, url: str, body: bytes) -> int:
        """Write the object unless there is one; S3's status."""


@dataclass
class Volume:
    """One volume."""

    volume_id: str
    size_gib: int
    image: SnapshotImage | None
    limits: VolumeLimits
    fetched: int = 0
    counters: VolumeCounters = field(default_factory=VolumeCounters)
    background: int = 0
    """Blocks that EBS has loaded, from the first."""
    touched: set[int] = field(default_factory=set)
    """Units that a calibration has read."""
    blocks_written: int = 0
    """From its beginning, since it was made."""
    attached_to: dict[str, str] = field(default_factory=dict)
    reader: object | None = None
    """The agent's lock on the device."""
    observer: object | None = None
    """The agent that records what is read of it."""
    equals: str | None = None
    """The snapshot whose blocks were all written to it last."""
    writes: int = 0
    """Blocks that were ever written to it, as its instance counts them."""
    attachments: int = 0
    """How often it was attached."""
    writes_of: Counter[str] = field(default_factory=Counter)
    """Blocks that each restore has written to it."""
    befores: dict[str, SnapshotImage] = field(default_factory=dict)
    """What it had before a restore wrote to it, by the restore."""
    left: dict[str, SnapshotImage] = field(default_factory=dict)
    """And what it had when the agent ended, the latest restore last."""
    used: set[int] = field(default_factory=set)
    """Blocks that somebody wrote between two rewinds, or while an agent was away."""
    forgotten: set[str] = field(default_factory=set)
    """Restores of which somebody or S3 has deleted the undo log, or a part of it."""
    boots: bool = True
    """Whether it has a boot loader."""
    before: str | None = None
    """What the agent measured before it read the first block; the document keeps it on the instance."""

    @property
    def written(self) -> int:
        """Blocks that the snapshot holds."""
        return block_count(self.image.extents) if self.image else 0

    @property
    def cold_share(self) -> float:
        """Of the written blocks."""
        return 1 - self.fetched / self.written if self.written else 0.0

    def image_now(self) -> SnapshotImage:
        """What it was made of, and what was written since."""
        extents, layers = (self.image.extents, self.image.layers) if self.image else ((), ())
        if self.blocks_written:
            extents = ((0, self.blocks_written),)
            layers = ((extents, f"{self.volume_id} {self.blocks_written}"),)
        return SnapshotImage(self.volume_id, self.size_gib, extents, None, layers)

    def rewrite(self, image: SnapshotImage) -> None:
        """An instance has written what it has now, so none of it is cold."""
        self.image, self.blocks_written = image, 0
        self.fetched = self.background = self.written

    def read(self, fetched: int, blocks: int, seconds: float) -> None:
        """An instance has read so many blocks; `fetched` written ones are local now."""
        before = self.counters
        self.fetched = max(self.fetched, min(self.written, fetched))
        self.counters = replace(
            before,
            read_ops=before.read_ops + 2 * blocks,
            read_bytes=before.read_bytes + blocks * BLOCK_BYTES,
            read_seconds=before.read_seconds + seconds,
            read_blocks=min(self.written, before.read_blocks + blocks),
        )

    def sample(self, reads: int, seconds: float) -> None:
        """Random small reads; the few blocks that they fetch change nothing."""
        before = self.counters
        self.counters = replace(
            before,
            read_ops=before.read_ops + reads,
            read_bytes=before.read_bytes + 4_096 * reads,
            read_seconds=before.read_seconds + seconds,
        )


class Command:
    """The contract of `local.aws.machines.dataplane.CommandHandle`."""

    def __init__(self, ended: Callable[[], None]) -> None:
        self.code: int | None = None
        self.stdout = self.stderr = ""
        self.process: Process | None = None
        self._ended = ended
        self._listener: Callable[[], None] | None = None

    def listen(self, listener: Callable[[], None]) -> None:
        """It hears of the end, now or later."""
        self._listener = listener
        if self.code is not None:
            listener()

    def poll(self) -> int | None:
        """The exit status, or None while it runs."""
        return self.code

    def cancel(self) -> None:
        """The SSM agent kills it."""
        self.end(143)

    def output(self) -> tuple[str, str]:
        """What it has printed."""
        return self.stdout, self.stderr

    def end(self, code: int, stdout: str = "", stderr: str = "") -> None:
        """The first end counts."""
        if self.code is not None:
            return
        self.code, self.stdout, self.stderr = code, stdout, stderr
        if self.process is not None and code == 143:
            self.process.stop()
        if self._listener is not None:
            self._listener()
        self._ended()


class MemoryDataPlane:
    """The contract of `local.aws.machines.dataplane.DataPlane`."""

    def __init__(
        self, scheduler: Scheduler, store: ObjectStore, chance: random.Random, changed: Callable[[], None]
    ) -> None:
        self.volumes: dict[str, Volume] = {}
        self.deleted: dict[str, Volume] = {}
        self.commands: dict[str, list[Command]] = {}
        self.instances: set[str] = set()
        self.without_nvme: set[str] = set()
        self.troubles: list[Trouble] = []
        self.images: dict[str, SnapshotImage] = {}
        """What the snapshots hold that volumes were made of, or that were made of volumes."""
        self.known_image: Callable[[str], SnapshotImage] = self.images.__getitem__
        """What any snapshot holds; the Region knows those that nothing was made of."""
        self.mounted: dict[str, list[str]] = {}
        """Mount points by volume."""
        self.active = 0.0
        """Until when something is read, or was a short while ago."""
        self.scheduler, self.store, self.chance = scheduler, store, chance
        self.first_touch = FirstTouchModel()
        self.applications = Applications()
        self._changed = changed

    def region_may_look(self) -> None:
        """Something has been read: the Region takes note of it."""
        self._changed()

    def create_volume(
        self, volume_id: str, size_gib: int, image: SnapshotImage | None, limits: VolumeLimits, *, warm: bool
    ) -> None:
        """Cold, unless it is warm from the start."""
        volume = self.volumes[volume_id] = Volume(volume_id, size_gib, image, limits)
        if image is not None:
            self.images[image.snapshot_id] = image
        volume.fetched = volume.background = volume.written if warm else 0

    def copy_volume(self, volume_id: str, source_id: str, size_gib: int, limits: VolumeLimits) -> None:
        """Every block is local."""
        self.create_volume(volume_id, size_gib, self.volume(source_id).image, limits, warm=True)

    def snapshot_volume(self, volume_id: str, snapshot_id: str) -> SnapshotImage:
        """What it was made of, and what was written since."""
        image = replace(self.volume(volume_id).image_now(), snapshot_id=snapshot_id)
        self.images[snapshot_id] = image
        return image

    def delete_snapshot(self, snapshot_id: str) -> None:
        """Nothing is kept of one."""

    def delete_volume(self, volume_id: str) -> None:
        """Kept aside for the auditor."""
        volume = self.volumes.pop(volume_id, None)
        if volume is not None:
            self.deleted[volume_id] = volume

    def attach_volume(self, volume_id: str, instance_id: str, device: str) -> None:
        """On an instance, running or stopped: the Region says which may have it."""
        volume = self.volume(volume_id)
        volume.attached_to[instance_id] = device
        volume.attachments += 1

    def detach_volume(self, volume_id: str, instance_id: str) -> None:
        """Whoever reads it finds it gone; while it is mounted it stays."""
        if volume_id in self.mounted:
            raise DataPlaneError(f"volume {volume_id} is mounted")
        self.volume(volume_id).attached_to.pop(instance_id, None)

    def set_limits(self, volume_id: str, limits: VolumeLimits) -> None:
        """From now on."""
        self.volume(volume_id).limits = limits

    def set_initialized_fraction(self, volume_id: str, fraction: float) -> None:
        """Loaded by EBS."""
        volume = self.volume(volume_id)
        volume.background = max(volume.background, int(fraction * volume.written))
        volume.fetched = max(volume.fetched, int(fraction * volume.written))

    def counters(self, volume_id: str) -> VolumeCounters:
        """What instances did."""
        volume = self.volume(volume_id)
        return replace(volume.counters, written_blocks=volume.written, fetched_blocks=volume.fetched)

    def start_instance(self, instance_id: str, *, nvme: bool = True) -> None:
        """It can run commands; they find its volumes only if it has NVMe."""
        self.instances.add(instance_id)
        if not nvme:
            self.without_nvme.add(instance_id)

    def stop_instance(self, instance_id: str) -> None:
        """Its commands end with it."""
        self.instances.discard(instance_id)
        for command in self.commands.pop(instance_id, []):
            command.end(143)

    def run_command(self, instance_id: str, script: str, *, environment: dict[str, str]) -> Command:
        """What the stack's documents do, without the shell."""
        del environment
        if instance_id not in self.instances:
            raise DataPlaneError(f"no instance {instance_id}")
        command = Command(self._changed)
        self.commands.setdefault(instance_id, []).append(command)
        if is_calibration(script):
            command.process = self.scheduler.start(calibrate(self, instance_id, script, command.end))
            return command
        if is_hook(script):
            steps = run_hook(self, instance_id, script, command.end, self.trouble_of(HOOK))
            command.process = self.scheduler.start(steps)
            return command
        if not starts_agent(script):
            steps = run_document(self, instance_id, command.end, self.trouble_of(DOCUMENT))
            command.process = self.scheduler.start(steps)
            return command
        started = given(script)
        if is_apply(script):
            steps = apply(self, instance_id, started, command.end, self.trouble_of(APPLY))
            command.process = self.scheduler.start(steps)
            return command
        if started["command"] == device_use.COMMAND:
            steps = device_use.look(self, instance_id, started, command.end)
            command.process = self.scheduler.start(steps)
            return command
        if started["command"] == COMMAND:
            trouble = self.trouble_of(BENCHMARK)
            steps = benchmark(self, instance_id, started, command.end, trouble)
            command.process = self.scheduler.start(steps)
            return command
        command.process = self.scheduler.start(AgentRun(self, instance_id, started, command.end).steps())
        return command

    def close(self) -> None:
        """Nothing to unmount."""

    def volume(self, volume_id: str) -> Volume:
        """Returns the volume with this id. Raises DataPlaneError."""
        if volume_id not in self.volumes:
            raise DataPlaneError(f"no volume {volume_id}")
        return self.volumes[volume_id]

    def trouble_of(self, action: str) -> Trouble | None:
        """What befalls the command that begins now."""
        for trouble in self.troubles:
            if trouble.action == action and not trouble.met:
                if trouble.skip:
                    trouble.skip -= 1
                    return None
                trouble.met = True
                return trouble
        return None

    def running(self) -> int:
        """Commands that have not ended."""
        return sum(one.code is None for found in self.commands.values() for one in found)
