"""Block devices over the volumes' files, as an instance's kernel shows EBS volumes."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from local.aws.machines.dataplane import DataPlaneError, VolumeCounters
from local.aws.machines.linux import ProcessIdentity, run_tool

READ_AHEAD_KIB = 128
MAX_REQUEST_KIB = 256
"""EBS counts an I/O of an SSD volume in units of at most 256 KiB, and its devices split requests there."""
SECTOR_BYTES = 512
OWNERS = Path("/run/rewarm-loop-devices")
"""Who made which device: a device outlives its run, and even the name of the file below it."""
BLOCK_DEVICES = Path("/sys/block")


def attach_loop(path: Path) -> str:
    """Make a block device of a file, with the request limit and the read-ahead of an EBS device; its path."""
    device = run_tool("losetup", "--find", "--show", "--direct-io=on", path).strip()
    OWNERS.mkdir(exist_ok=True)
    ProcessIdentity.of(os.getpid()).write(_record(device))
    queue = BLOCK_DEVICES / Path(device).name / "queue"
    with contextlib.suppress(
        OSError
    ):  # /sys is read-only in some containers; first-touch counts right anyway
        (queue / "max_sectors_kb").write_text(str(MAX_REQUEST_KIB))
        (queue / "read_ahead_kb").write_text(str(READ_AHEAD_KIB))
    return device


def detach_loop(device: str) -> None:
    """Release a block device; while something has it open, the kernel releases it at the last close."""
    _record(device).unlink(missing_ok=True)
    with contextlib.suppress(OSError):  # others have devices, or removed it
        OWNERS.rmdir()
    try:
        run_tool("losetup", "--detach", device)
    except DataPlaneError:
        if (BLOCK_DEVICES / Path(device).name / "loop").exists():
            raise


def loop_traffic(device: str) -> VolumeCounters:
    """What went through a block device since it was made (Documentation/block/stat.rst)."""
    stat = [int(value) for value in (BLOCK_DEVICES / Path(device).name / "stat").read_text().split()]
    return VolumeCounters(
        read_ops=stat[0],
        read_bytes=stat[2] * SECTOR_BYTES,
        read_seconds=stat[3] / 1e3,
        write_ops=stat[4],
        write_bytes=stat[6] * SECTOR_BYTES,
        write_seconds=stat[7] / 1e3,
    )


def leftover_loops(folder: Path) -> list[str]:
    """Block devices of files below `folder`, and those of dead runs whose file systems went with them."""
    found = []
    for entry in BLOCK_DEVICES.glob("loop*/loop/backing_file"):
        device = f"/dev/{entry.parts[3]}"
        try:
            backing = Path(entry.read_text().rstrip("\n").removesuffix(" (deleted)"))
        except OSError:  # released between the listing and the reading
            continue
        # The path of a file whose file system was unmounted starts at that file system's root.
        is_orphan = backing.parent == Path("/") and _owner_is_dead(device)
        if folder in backing.parents or is_orphan:
            found.append(device)
    return found


def _record(device: str) -> Path:
    return OWNERS / Path(device).name


def _owner_is_dead(device: str) -> bool:
    """True when a run of ours made the device and is gone; False when somebody else made it."""
    owner = ProcessIdentity.read(_record(device))
    return owner is not None and not owner.is_alive()
