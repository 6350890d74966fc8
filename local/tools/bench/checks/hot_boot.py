"""A start of a machine, as a replay of files: the same 3 % of them each time, in nearly the same order.

`hot_boot.py build DEVICE` makes a file system full of files on DEVICE. `hot_boot.py run DEVICE SEED SECONDS
FOLDER` replays the start again and again, each time without the page cache, and writes a log as pgbench's to
FOLDER. `unshare --mount --pid --fork --kill-child` runs it, so that its mounts end with it.

Boots touch 2.7 to 4.6 % of the blocks, in an order that is over 0.9 alike (ThinkAhead, FAST '26).
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

MOUNT = Path("/mnt")
SEED, FILES_IN_FOLDER = 1, 500
SHARE, MOVED = 0.03, 0.1
SMALLEST, MEDIAN_BYTES, SIGMA, LARGEST = 4_096, 150_000, 1.5, 32 << 20
PIECE_BYTES = 64 << 10


def files(total_bytes: int) -> Iterator[tuple[Path, int]]:
    """Paths and sizes, always the same."""
    draw, number = random.Random(SEED), 0
    while total_bytes > 0:
        size = round(min(LARGEST, max(SMALLEST, draw.lognormvariate(0, SIGMA) * MEDIAN_BYTES)))
        yield MOUNT / str(number // FILES_IN_FOLDER) / str(number), size
        total_bytes, number = total_bytes - size, number + 1


def build(device: str, total_bytes: int) -> None:
    """Makes the file system and its files."""
    subprocess.run(["mkfs.ext4", "-q", "-E", "nodiscard", device], check=True)
    subprocess.run(["mount", "-o", "noatime", device, MOUNT], check=True)
    for path, size in files(total_bytes):
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(os.urandom(size))
    subprocess.run(["umount", MOUNT], check=True)


def order(total_bytes: int, seed: int) -> list[Path]:
    """What a start reads: the order of all starts, of which some files have moved."""
    draw = random.Random(SEED)
    all_files = [path for path, _ in files(total_bytes)]
    read = draw.sample(all_files, round(SHARE * len(all_files)))
    draw = random.Random(seed)
    for place in draw.sample(range(len(read)), round(MOVED * len(read))):
        read.insert(draw.randrange(len(read)), read.pop(place))
    return read


def run(device: str, total_bytes: int, seed: int, seconds: float, log: Path) -> None:
    """Replays the start for so long. Each line of the log is a read of a piece, as of a transaction."""
    subprocess.run(["mount", "-o", "noatime,ro", device, MOUNT], check=True)
    ends = time.monotonic() + seconds
    with log.open("w", encoding="utf-8") as lines:
        while True:
            for path in order(total_bytes, seed):
                for took in read_pieces(path):
                    now = time.time()
                    lines.write(f"0 0 {took * 1e6:.0f} 0 {int(now)} {now % 1 * 1e6:.0f}\n")
                if time.monotonic() >= ends:
                    return


def read_pieces(path: Path) -> Iterator[float]:
    """Reads the file from the device; yields how long each piece took, in seconds."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        while True:
            began = time.monotonic()
            if not os.read(descriptor, PIECE_BYTES):
                return
            yield time.monotonic() - began
    finally:
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(descriptor)


if __name__ == "__main__":
    action, target, *more = sys.argv[1:]
    total = int(os.environ["HOT_FILES_MIB"]) << 20
    if action == "build":
        build(target, total)
    else:
        run(target, total, int(more[0]), float(more[1]), Path(more[2]) / "start.log")
