"""The base devices that play EBS volumes, and what the agent is to write to them."""

from __future__ import annotations

import fcntl
import hashlib
import json
import mmap
import os
import struct
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.local.agent.arrangements import kernel
from tests.local.agent.arrangements.bench import BASE_BYTES

BLOCK = 524_288
BY_ID = Path("/dev/disk/by-id")
MARKED_BLOCKS = (0, 1, 3, 9, 40, BASE_BYTES // BLOCK - 1)
MARK = 0x6D72_6177_6572_2D32
PAGE = 4096
BLKZEROOUT = 0x127F


@dataclass(frozen=True)
class Base:
    """A disk, the id that it shows, and the manifest for it."""

    device: str
    volume_id: str
    manifest: Path


def volume_id(number: int) -> str:
    """Each disk plays a volume of its own."""
    return f"vol-0123456789abcde{number:02x}"


def loop_bases(count: int, folder: Path, delta: Path) -> list[Base]:
    """Loop devices on sparse files, which links in /dev/disk/by-id name."""
    kernel.mount("none", Path("/dev/disk"), "tmpfs")
    BY_ID.mkdir()
    found, first = [], _first_manifest(folder, delta)
    for number in range(count):
        backing = folder / f"base-{number}"
        backing.touch()
        os.truncate(backing, BASE_BYTES)
        device = kernel.attach_loop(str(backing))
        name = volume_id(number).replace("-", "")
        (BY_ID / f"nvme-Amazon_Elastic_Block_Store_{name}").symlink_to(device)
        found.append(Base(device, volume_id(number), _manifest(first, number)))
    return found


def nvme_bases(folder: Path, delta: Path) -> list[Base]:
    """NVMe disks whose serial numbers are volume ids, as those of EBS are."""
    found, first = [], _first_manifest(folder, delta)
    for disk in sorted(Path("/sys/block").glob("nvme*")):
        number = int((disk / "device" / "serial").read_text("ascii").strip()[-2:], 16)
        found.append(Base(f"/dev/{disk.name}", volume_id(number), _manifest(first, number)))
    return found


def marked(block: int) -> bytes:
    """A block as the agent writes it. Each page names its place, as none that is swapped out does."""
    first = block * BLOCK // PAGE
    return b"".join(struct.pack("QQ", MARK, first + page) * (PAGE // 16) for page in range(BLOCK // PAGE))


def _first_manifest(folder: Path, delta: Path) -> Path:
    """What makes of zeros a volume with marked blocks."""
    old, new, packs = folder / "old", folder / "new", folder / "packs"
    for image in (old, new):
        image.touch()
        os.truncate(image, BASE_BYTES)
    with kernel.opened(new) as descriptor:
        for block in MARKED_BLOCKS:
            os.pwrite(descriptor, marked(block), block * BLOCK)
    snapshot = "snap-0123456789abcdef0"
    command = (sys.executable, delta, old, new, packs, volume_id(0), snapshot, "samples=0")
    subprocess.run([str(one) for one in command], check=True)
    return packs / "manifest"


def _manifest(first: Path, number: int) -> Path:
    """The same for another volume: only the id differs, and so the checksum in the last line."""
    *lines, last = first.read_bytes().splitlines(keepends=True)
    text = b"".join(lines).replace(volume_id(0).encode(), volume_id(number).encode())
    end = json.loads(last) | {"sha256": hashlib.sha256(text).hexdigest()}
    manifest = first.with_name(f"manifest-{number}")
    manifest.write_bytes(text + json.dumps(end).encode() + b"\n")
    return manifest


def reset(base: Base) -> None:
    """Make the disk zeros again, once the kernel has let go of what held it last."""
    kernel.patiently(lambda: os.close(os.open(base.device, os.O_RDWR | os.O_EXCL)))
    with kernel.opened(base.device) as descriptor:
        kernel.patiently(lambda: fcntl.ioctl(descriptor, BLKZEROOUT, struct.pack("QQ", 0, BASE_BYTES)))
        os.fsync(descriptor)


def marks(base: Base) -> tuple[bool, bool]:
    """Whether any page has what the agent writes, and whether all have. The disk itself is read."""
    has_any, has_all = False, True
    for block in MARKED_BLOCKS:
        data, wanted = _read(base.device, block), marked(block)
        has_any |= any(data[at : at + PAGE] == wanted[at : at + PAGE] for at in range(0, BLOCK, PAGE))
        has_all &= data == wanted
    return has_any, has_all


def _read(device: str, block: int) -> bytes:
    """Read a block from the disk and not from memory, which a mount or a mapping may have changed."""
    with kernel.opened(device, os.O_RDONLY | os.O_DIRECT) as descriptor, mmap.mmap(-1, BLOCK) as buffer:
        os.preadv(descriptor, [buffer], block * BLOCK)
        return buffer[:]
