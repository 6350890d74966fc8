"""The data plane of the embedded AWS: this machine's volumes and instances, joined.

Everything lives in one state folder, locked while it is used; what a killed run left there is swept away at
the next start.
"""

from __future__ import annotations

import fcntl
import os
import stat
import threading
import time
from pathlib import Path
from typing import IO

from local.aws.machines.dataplane import (
    CommandHandle,
    DataPlaneError,
    SnapshotImage,
    VolumeCounters,
    VolumeLimits,
)
from local.aws.machines.first_touch_process import FirstTouchSettings
from local.aws.machines.instances import Instance
from local.aws.machines.linux import ProcessIdentity, mounts_under, run_tool, share_mounts, unmount
from local.aws.machines.loop_devices import attach_loop, detach_loop, leftover_loops, loop_traffic
from local.aws.machines.snapshot_image import written_extents
from local.aws.machines.volumes import Volume, VolumeRequest, delete_folder, make_backing, make_volume

MOUNT_POINTS = (Path("/dev/disk"), Path("/var/lib/rewarm"))
"""What each instance has for itself: its disks' names, and where the warm-up document keeps the agent."""
LOCK_SECONDS = 2
MachineSettings = FirstTouchSettings
"""The settings of a machine are those of its volumes."""


class Machine:
    """Volumes with bytes and instances that run commands, on this machine. Implements DataPlane."""

    def __init__(self, state_dir: Path, settings: FirstTouchSettings | None = None) -> None:
        if os.geteuid() != 0:
            raise DataPlaneError("volumes and instances need root: they mount and make namespaces")
        self.settings = settings or FirstTouchSettings()
        self.note: str | None = None
        """What this machine cannot do as EC2 would; None when there is nothing to say."""
        self._lock = threading.RLock()
        self._volumes: dict[str, Volume] = {}
        self._instances: dict[str, Instance] = {}
        self._devices: dict[tuple[str, str], str] = {}
        self._closed = False
        self.state_dir = state_dir.resolve()
        for folder in (self._volumes_dir, self._instances_dir):
            folder.mkdir(parents=True, exist_ok=True)
        self._state_lock = lock_folder(self.state_dir, "run")
        sweep(self.state_dir)
        self._mount_points = [_make_mount_point(folder) for folder in MOUNT_POINTS]
        try:
            share_mounts(self._volumes_dir)
        except DataPlaneError as error:
            self._remove_mount_points()
            self._state_lock.close()
            raise DataPlaneError(f"volumes and instances need CAP_SYS_ADMIN, to mount: {error}") from error

    def _remove_mount_points(self) -> None:
        for folder, descriptor in zip(MOUNT_POINTS, self._mount_points, strict=True):
            _remove_mount_point(folder, descriptor)

    @property
    def _volumes_dir(self) -> Path:
        return self.state_dir / "volumes"

    @property
    def _snapshots_dir(self) -> Path:
        return self.state_dir / "snapshots"

    @property
    def _instances_dir(self) -> Path:
        return self.state_dir / "instances"

    def create_volume(
        self, volume_id: str, size_gib: int, image: SnapshotImage | None, limits: VolumeLimits, *, warm: bool
    ) -> None:
        """Make the volume; `warm` means that every block is local from the start (FSR, or no snapshot)."""
        self._make(
            VolumeRequest(volume_id=volume_id, size_gib=size_gib, image=image, limits=limits, warm=warm)
        )

    def copy_volume(self, volume_id: str, source_id: str, size_gib: int, limits: VolumeLimits) -> None:
        """Make the volume with the bytes that the other one has now; every block is local (CopyVolumes)."""
        source = self._volume(source_id)
        request = VolumeRequest(
            volume_id=volume_id, size_gib=size_gib, image=source.image, limits=limits, warm=True
        )
        with source.at_rest():
            self._make(request)

    def snapshot_volume(self, volume_id: str, snapshot_id: str) -> SnapshotImage:
        """Keep the bytes that the volume has now as a snapshot; who writes to it waits (CreateSnapshot)."""
        volume = self._volume(volume_id)
        with self._lock:
            devices = [target for (attached, _), target in self._devices.items() if attached == volume_id]
        for target in (*devices, os.fspath(volume.path)):
            run_tool("sync", target)
        folder = self._snapshots_dir / _safe(snapshot_id)
        folder.mkdir(parents=True)
        with volume.at_rest():
            make_backing(folder / "bytes", volume.image, volume.image.size_gib)
        extents = written_extents(folder / "bytes")
        return SnapshotImage(snapshot_id, volume.image.size_gib, extents, folder / "bytes")

    def delete_snapshot(self, snapshot_id: str) -> None:
        """Remove the bytes of a snapshot that was made here. Unknown ids are ignored."""
        delete_folder(self._snapshots_dir / _safe(snapshot_id))

    def delete_volume(self, volume_id: str) -> None:
        """Remove the volume and its bytes. Unknown ids are ignored."""
        with self._lock:
            volume = self._volumes.get(volume_id)
            users = [instance for attached, instance in self._devices if attached == volume_id]
            if users:
                raise DataPlaneError(f"volume {volume_id} is attached to {', '.join(users)}")
            self._volumes.pop(volume_id, None)
        if volume is not None:
            volume.stop()
            delete_folder(self._volumes_dir / volume_id)

    def attach_volume(self, volume_id: str, instance_id: str, device: str) -> None:
        """Make the volume visible on the instance, under /dev/disk/by-id as EC2 does.

        `device` is what the caller of AttachVolume asked for; a Nitro instance never shows that name.
        """
        with self._lock:
            volume = self._volume(volume_id)
            if (volume_id, instance_id) in self._devices:
                raise DataPlaneError(f"volume {volume_id} is attached to {instance_id}, and not as {device}")
            target = self._block_device(volume.path)
            if instance_id in self._instances:
                try:
                    self._instances[instance_id].link(volume_id, target)
                except DataPlaneError:
                    _release(target)
                    raise
            self._devices[volume_id, instance_id] = target

    def detach_volume(self, volume_id: str, instance_id: str) -> None:
        """Take the volume away from the instance, which must not have it mounted."""
        with self._lock:
            target = self._devices.get((volume_id, instance_id))
            if target is None:
                raise DataPlaneError(f"volume {volume_id} is not attached to {instance_id}")
            if instance_id in self._instances:
                if self._instances[instance_id].has_mounted(target):
                    raise DataPlaneError(f"volume {volume_id} is mounted on {instance_id}")
                self._instances[instance_id].unlink(volume_id)
            del self._devices[volume_id, instance_id]
            if target.startswith("/dev/"):
                self._volume(volume_id).note_traffic(loop_traffic(target))
            _release(target)

    def rename_device(self, volume_id: str, instance_id: str) -> str:
        """Give the volume another kernel name, as a restart may (nvme1n1 becomes nvme2n1); the new name."""
        with self._lock:
            old = self._devices[volume_id, instance_id]
            new = self._block_device(self._volume(volume_id).path)
            if instance_id in self._instances:
                self._instances[instance_id].link(volume_id, new)
            self._devices[volume_id, instance_id] = new
            if old.startswith("/dev/"):
                self._volume(volume_id).note_traffic(loop_traffic(old))
            _release(old)
        return new

    def set_limits(self, volume_id: str, limits: VolumeLimits) -> None:
        """Change what the volume may do from now on (ModifyVolume)."""
        self._volume(volume_id).set_limits(limits)

    def set_initialized_fraction(self, volume_id: str, fraction: float) -> None:
        """Background initialisation has loaded this share (0..1) of the written blocks, in block order."""
        self._volume(volume_id).set_initialized_fraction(fraction)

    def inject_fault(self, volume_id: str, fault: str) -> None:
        """Inject `eio FIRST COUNT [TIMES]`, `slow FIRST COUNT SECONDS`, `stall SECONDS`, or `clear` them."""
        self._volume(volume_id).inject(fault)

    def counters(self, volume_id: str) -> VolumeCounters:
        """What the instance really did to the volume."""
        return self._volume(volume_id).counters()

    def start_instance(self, instance_id: str, *, nvme: bool = True) -> None:
        """Make the instance able to run commands; volumes attached before are there.

        Without NVMe (Xen) its volumes have no names in /dev/disk/by-id.
        """
        with self._lock:
            if instance_id in self._instances:
                raise DataPlaneError(f"instance {instance_id} is running")
            instance = Instance(instance_id, self._instances_dir / _safe(instance_id), nvme=nvme)
            self._instances[instance_id] = instance
            for (volume_id, owner), target in self._devices.items():
                if owner == instance_id:
                    instance.link(volume_id, target)

    def stop_instance(self, instance_id: str) -> None:
        """End the instance and everything that runs on it; its volumes stay. Unknown ids are ignored."""
        with self._lock:
            instance = self._instances.pop(instance_id, None)
        if instance is not None:
            instance.stop()

    def run_command(self, instance_id: str, script: str, *, environment: dict[str, str]) -> CommandHandle:
        """Run a shell script on the instance as root, as the SSM agent's aws:runShellScript does."""
        with self._lock:
            if instance_id not in self._instances:
                raise DataPlaneError(f"instance {instance_id} is not running")
            return self._instances[instance_id].run(script, environment)

    def close(self) -> None:
        """End and unmount everything that this data plane made. Safe to call again."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            instances, volumes = list(self._instances.values()), list(self._volumes.values())
            devices = list(self._devices.values())
        for instance in instances:
            instance.begin_stop()
        for device in devices:
            _release(device)
        # Requests fail when their volume ends, so nothing can hang on one any more.
        for volume in volumes:
            volume.stop()
        for instance in instances:
            instance.stop()
        sweep(self.state_dir)
        self._remove_mount_points()
        self._state_lock.close()

    def _make(self, request: VolumeRequest) -> None:
        folder = self._volumes_dir / _safe(request.volume_id)
        volume, note = make_volume(folder, request, self.settings)
        with self._lock:
            self._volumes[request.volume_id] = volume
            self.note = note or self.note

    def _volume(self, volume_id: str) -> Volume:
        with self._lock:
            if volume_id not in self._volumes:
                raise DataPlaneError(f"volume {volume_id} does not exist")
            return self._volumes[volume_id]

    def _block_device(self, path: Path) -> str:
        reason = "they are turned off"
        if self.settings.use_loop_devices:
            try:
                return attach_loop(path)
            except DataPlaneError as error:
                reason = str(error)
        self.note = self.note or f"no loop devices, so volumes are files in /dev/disk/by-id ({reason})"
        return str(path)


def sweep(state_dir: Path) -> None:
    """Take away what a run left in its state folder: processes, block devices, mounts and files."""
    volumes, instances = state_dir / "volumes", state_dir / "instances"
    for record in [*instances.glob("*/*.pid"), *volumes.glob("*/*.pid")]:
        identity = ProcessIdentity.read(record)
        if identity is not None:
            identity.kill()
    for device in leftover_loops(volumes):
        detach_loop(device)
    for point in mounts_under(state_dir):
        unmount(point)
    for folder in [*volumes.iterdir(), *instances.iterdir(), state_dir / "snapshots"]:
        delete_folder(folder)


def _release(target: str) -> None:
    """Give a block device back; a volume shown as a file needs nothing."""
    if target.startswith("/dev/"):
        detach_loop(target)


def _safe(identifier: str) -> str:
    """An id that is a file name; anything else could lead out of the state folder."""
    if not identifier or not all(letter.isalnum() or letter == "-" for letter in identifier):
        raise DataPlaneError(f"'{identifier}' is not the id of a volume or an instance")
    return identifier


def lock_folder(state_dir: Path, user: str) -> IO[str]:
    """Holds the folder until the file is closed or the process ends. Raises DataPlaneError where another
    such user holds it for seconds: a child of a killed one keeps the lock until it begins its own program.
    """
    lock = (state_dir / "lock").open("w")
    give_up = time.monotonic() + LOCK_SECONDS
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            if time.monotonic() > give_up:
                lock.close()
                raise DataPlaneError(f"another {user} uses {state_dir}") from error
            time.sleep(0.05)
        else:
            return lock


def _make_mount_point(folder: Path) -> int:
    """A mount point of the instances, held by a shared lock; the sticky bit marks it as ours."""
    if not folder.exists():
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o1755)
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    fcntl.flock(descriptor, fcntl.LOCK_SH)
    return descriptor


def _remove_mount_point(folder: Path, descriptor: int) -> None:
    """Remove the mount point if we made it, nobody else uses it, and it is empty."""
    try:
        if os.fstat(descriptor).st_mode & stat.S_ISVTX:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            folder.rmdir()
    except OSError:  # in use by another run, or not empty
        pass
    finally:
        os.close(descriptor)
