"""Programs that make file systems and owners, in an area of an image, without mounting anything.

None of them discards blocks, so that what was written before stays.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path

from image import BLOCK, MIB, PAGE, SECTOR, Area, Image
from marks import WRITTEN

DEAD = b"of a file that was deleted"
KNOWN = ["ext2", "ext3", "ext4", "xfs", "ntfs"]
"""What the agent may narrow."""

LUKS = ["cryptsetup", "luksFormat", "-q", "--pbkdf-force-iterations", "1000"]
COMMANDS: dict[str, list[str]] = {
    "btrfs": ["mkfs.btrfs", "-q", "-f", "-K", "@"],
    "f2fs": ["mkfs.f2fs", "-q", "-f", "-t", "0", "@"],
    "exfat": ["mkfs.exfat", "@"],
    "vfat": ["mkfs.vfat", "@"],
    "jfs": ["mkfs.jfs", "-q", "@"],
    "nilfs2": ["mkfs.nilfs2", "-q", "-f", "-K", "@"],
    "udf": ["mkudffs", "@"],
    "udf behind a boot area": ["mkudffs", "--bootarea=preserve", "@"],
    "reiserfs": ["mkfs.reiserfs", "-q", "-f", "-f", "@"],
    "swap": ["mkswap", "@"],
    "luks1": [*LUKS, "--type", "luks1", "@", "-"],
    "luks2": [*LUKS, "--type", "luks2", "--pbkdf", "pbkdf2", "@", "-"],
    "bcache": ["make-bcache", "-B", "@"],
    "bcache cache": ["make-bcache", "-C", "@"],
}
"""Name -> the command; `@` is the image."""
PACKAGES = {
    "mkfs.ext4": "e2fsprogs", "debugfs": "e2fsprogs", "mkfs.xfs": "xfsprogs", "mkntfs": "ntfs-3g",
    "ntfscp": "ntfs-3g", "mkfs.btrfs": "btrfs-progs", "mkfs.f2fs": "f2fs-tools", "mkfs.exfat": "exfatprogs",
    "mkfs.vfat": "dosfstools", "mkfs.jfs": "jfsutils", "mkfs.nilfs2": "nilfs-tools", "mkudffs": "udftools",
    "mkfs.reiserfs": "reiserfsprogs", "mkswap": "util-linux", "cryptsetup": "cryptsetup-bin",
    "make-bcache": "bcache-tools",
}  # fmt: skip
"""Program -> its Debian package."""
SLOW = {"reiserfs", "luks1", "luks2", "bcache", "bcache cache"}
"""Makers that run once for each size, on an empty image: what they wrote is laid over others."""
LEAST_MIB = {
    "btrfs": 120, "nilfs2": 140, "f2fs": 60, "vfat": 40, "reiserfs": 40, "jfs": 20, "luks2": 20, "xfs": 20,
}  # fmt: skip
OTHERS_MIB = 8

EXT_OPTIONS = [
    [], [], ["-b", "1024"], ["-b", "4096", "-O", "^64bit"], ["-O", "^has_journal"],
    ["-O", "^metadata_csum,^uninit_bg"], ["-b", "4096", "-O", "meta_bg,^resize_inode", "-g", "4096"],
    ["-b", "2048", "-O", "sparse_super2,^resize_inode"], ["-b", "1024", "-g", "2048"],
]  # fmt: skip


def missing_programs() -> dict[str, str]:
    """Program -> Debian package, of those that this machine lacks."""
    return {name: package for name, package in PACKAGES.items() if shutil.which(name) is None}


class Makers:
    """Makes layers; `folder` is for what they leave beside the image."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.made: dict[tuple[str, int], dict[int, bytes]] = {}
        self.names = [*KNOWN, *COMMANDS, *WRITTEN]
        draw = random.Random(1)
        for number in range(3):
            files = folder / f"files{number}"
            files.mkdir()
            for name in ("live1", "live2", "dead1", "dead2"):
                start = DEAD if name.startswith("dead") else b"live"
                sectors = draw.choice([20, 300, 2000, 5000])
                (files / name).write_bytes(
                    b"".join(start + draw.randbytes(SECTOR - len(start)) for _sector in range(sectors))
                )

    def make(self, name: str, image: Image, area: Area, draw: random.Random) -> None:
        """Make one, and write what its owner writes to it. Raises RuntimeError where the program fails."""
        if name in KNOWN:
            self._known(name, image, area, draw)
            return
        if name in WRITTEN:
            WRITTEN[name](image, area, draw)
        elif name in SLOW:
            for at, data in self._template(name, area.length).items():
                image.write(area.start + at, data)
        else:
            image.run(area, COMMANDS[name], beside=self.folder)
        fill(image, area, draw)

    def _template(self, name: str, length: int) -> dict[int, bytes]:
        if (name, length) not in self.made:
            empty = Image(self.folder / "template", length)
            empty.run(empty.whole, COMMANDS[name], beside=self.folder, given=b"a password")
            self.made[name, length] = empty.changed
        return self.made[name, length]

    def _known(self, name: str, image: Image, area: Area, draw: random.Random) -> None:
        files = self.folder / f"files{draw.randrange(3)}"
        commands: Callable[..., list[list[str]]] = {"xfs": _xfs, "ntfs": _ntfs}.get(name, _ext)
        image.run(area, *commands(name, files, area, draw), beside=self.folder)


def _ext(name: str, files: Path, area: Area, draw: random.Random) -> list[list[str]]:
    # Some leave the end of the area alone, as one does that was made before a volume was grown.
    size = area.length // 1024 if draw.random() < 0.8 else max(8 * 1024, area.length // 1024 // 3)
    options = [*draw.choice(EXT_OPTIONS), "-d", str(files)]
    make = ["mkfs.ext4", "-q", "-F", "-E", "nodiscard", "-t", name, *options]
    commands = [[*make, "@", f"{size}k"]]
    # Blocks that map a file without extents would be freed as well, and do not look dead.
    if name == "ext4" and draw.random() < 0.6:
        commands += [["debugfs", "-w", "-R", f"rm dead{number}", "@"] for number in (1, 2)]
    return commands


def _xfs(name: str, files: Path, area: Area, draw: random.Random) -> list[list[str]]:
    proto = files.parent / "proto"
    lines = [f"{file.name} ---644 0 0 {file}" for file in sorted(files.iterdir())]
    proto.write_text("\n".join(["/dev/null", "0 0", "d--755 0 0", *lines, "$"]) + "\n", encoding="utf-8")
    options = draw.choice([[], ["-b", "size=1024"], ["-d", "agcount=3"], ["-m", "crc=0"]])
    return [["mkfs.xfs", "--unsupported", "-q", "-f", "-K", *options, "-p", str(proto), "@"]]


def _ntfs(name: str, files: Path, area: Area, draw: random.Random) -> list[list[str]]:
    copied = [["ntfscp", "-q", "@", str(file), file.name] for file in files.iterdir() if draw.random() < 0.5]
    return [["mkntfs", "-q", "-f", "-F", *draw.choice([[], ["-c", "65536"], ["-c", "1024"]]), "@"], *copied]


def fill(image: Image, area: Area, draw: random.Random) -> None:
    """Write data of an owner that keeps it anywhere: in some runs of blocks, all pages or one of each."""
    taken = {(at + step) // PAGE for at, data in image.changed.items() for step in (0, len(data) - 1)}
    first, last = area.start // BLOCK + 1, (area.start + area.length) // BLOCK - 1
    for _run in range(draw.randrange(1, 7)):
        start = draw.randrange(first, last)
        is_full = draw.random() < 0.2
        for block in range(start, min(last, start + draw.choice([1, 3, 20]) // (5 if is_full else 1) + 1)):
            pages = range(BLOCK // PAGE) if is_full else [draw.randrange(BLOCK // PAGE)]
            for page in pages:
                number = block * (BLOCK // PAGE) + page
                if number not in taken:
                    image.write(number * PAGE, b"live" + draw.randbytes(PAGE - 4))


def fits(name: str, area: Area) -> bool:
    """Whether an area is large enough for what this maker makes."""
    return area.length >= LEAST_MIB.get(name, OTHERS_MIB) * MIB
