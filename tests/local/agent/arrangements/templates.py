"""File systems that are made once, and put on a device as often as they are needed."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from tests.local.agent.arrangements import kernel
from tests.local.agent.arrangements.bench import MIB, run

COMMANDS = {
    "ext4": ("mkfs.ext4", "-q", "-F", "-J", "size=4", "-E", "lazy_itable_init=1,lazy_journal_init=0"),
    "xfs": ("mkfs.xfs", "--unsupported", "-q", "-f", "-K"),
    "btrfs": ("mkfs.btrfs", "-q", "-f", "-M"),
}
BYTES = 32 * MIB
PIECE = 65_536


class Templates:
    """Its zeros are written only to a device that is not zeros, for example one that is encrypted."""

    def __init__(self, folder: Path) -> None:
        here = {line.split()[-1] for line in Path("/proc/filesystems").read_text("ascii").splitlines()}
        self._pieces: dict[str, list[tuple[int, bytes]]] = {}
        for kind, command in COMMANDS.items():
            if kind in here and shutil.which(command[0]):
                self._pieces[kind] = _pieces(folder / kind, command)

    def has(self, kind: str) -> bool:
        """Whether this kernel mounts it, and its program is here."""
        return kind in self._pieces

    def put(self, kind: str, device: str) -> None:
        """Put the file system on a device. Of btrfs no two may be alike, so it is made anew."""
        if kind == "btrfs":
            run(*COMMANDS[kind], device)
            return
        with kernel.opened(device) as descriptor:
            is_blank = not any(os.pread(descriptor, PIECE, BYTES // 2))
            for place, data in self._pieces[kind]:
                if data.strip(b"\0") or not is_blank:
                    os.pwrite(descriptor, data, place)
            os.fsync(descriptor)


def _pieces(image: Path, command: tuple[str, ...]) -> list[tuple[int, bytes]]:
    image.touch()
    os.truncate(image, BYTES)
    run(*command, str(image))
    data = image.read_bytes()
    image.unlink()
    return [(place, data[place : place + PIECE]) for place in range(0, BYTES, PIECE)]
