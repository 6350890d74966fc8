"""An image of a disk, of which it is known who wrote what: its pages of 4 KiB that are not holes."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PAGE = 4096
SECTOR = 512
BLOCK = 524_288
MIB = 1_048_576
ZERO = bytes(PAGE)


@dataclass(frozen=True)
class Area:
    """Bytes of a disk: all of it, or a partition. Both numbers are multiples of 512."""

    start: int
    length: int


def pages(path: Path) -> dict[int, bytes]:
    """The pages of a file that are not holes, by number. The last one may be short."""
    return dict(_pages(path))


def _pages(path: Path) -> Iterator[tuple[int, bytes]]:
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        at = 0
        while at < size:
            try:
                at = os.lseek(file.fileno(), at, os.SEEK_DATA)
                end = os.lseek(file.fileno(), at, os.SEEK_HOLE)
            except OSError:
                return
            first = at // PAGE * PAGE
            data = os.pread(file.fileno(), end - first, first)
            for offset in range(0, len(data), PAGE):
                yield (first + offset) // PAGE, data[offset : offset + PAGE]
            at = end


class Image:
    """A sparse file; `changed` are the sectors that the last layer wrote, by their place on the disk."""

    def __init__(self, path: Path, length: int) -> None:
        self.path = path
        self.length = length
        self.changed: dict[int, bytes] = {}
        path.unlink(missing_ok=True)
        with path.open("wb") as file:
            file.truncate(length)

    @property
    def whole(self) -> Area:
        return Area(0, self.length)

    def write(self, at: int, data: bytes) -> None:
        """Write bytes, as the last layer."""
        self._write(at, data)
        for offset in range(0, len(data), SECTOR):
            self.changed[at + offset] = data[offset : offset + SECTOR]

    def _write(self, at: int, data: bytes) -> None:
        with self.path.open("r+b") as file:
            os.pwrite(file.fileno(), data, at)

    def read(self, at: int, length: int) -> bytes:
        with self.path.open("rb") as file:
            return os.pread(file.fileno(), length, at)

    def run(self, area: Area, command: list[str], *more: list[str], beside: Path, given: bytes = b"") -> None:
        """Run commands on a copy of an area, in which `@` is its path, and write what they have changed."""
        copy = beside / "area"
        copy.unlink(missing_ok=True)
        with copy.open("wb") as file:
            file.truncate(area.length)
            for number, page in _pages_within(self.path, area):
                os.pwrite(file.fileno(), page, number)
        before = pages(copy)
        for arguments in (command, *more):
            done = subprocess.run(
                [str(copy) if word == "@" else word for word in arguments],
                input=given, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
            )  # fmt: skip
            if done.returncode != 0:
                raise RuntimeError(f"{arguments} ended with {done.returncode}: {done.stdout[-500:]!r}")
        for number, page in pages(copy).items():
            old = before.get(number, ZERO[: len(page)])
            if old != page:
                for at in range(0, len(page), SECTOR):
                    if old[at : at + SECTOR] != page[at : at + SECTOR]:
                        self.changed[area.start + number * PAGE + at] = page[at : at + SECTOR]
                self._write(area.start + number * PAGE, page)

    def blocks_with(self, dead: bytes) -> set[int]:
        """The blocks with what the last layer wrote, without zeros and sectors that begin with `dead`."""
        found: set[int] = set()
        for at, data in self.changed.items():
            if data.count(0) < len(data) and not data.startswith(dead):
                found.update(range(at // BLOCK, (at + len(data) - 1) // BLOCK + 1))
        return found


def _pages_within(path: Path, area: Area) -> Iterator[tuple[int, bytes]]:
    """The bytes of an area that are not holes, by their place in it."""
    for number, page in _pages(path):
        at = number * PAGE - area.start
        if -PAGE < at < area.length:
            skip = max(0, -at)
            yield at + skip, page[skip : area.length - at]
