"""Snapshots with real data: ext4 full of files whose sums are known, and the check of what was restored."""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import time
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from local.aws.machines.dataplane import BLOCK_BYTES, DataPlane, DataPlaneError, Extent, SnapshotImage
from local.aws.machines.instances import link_names
from local.aws.machines.linux import run_tool

GIB = 1 << 30
MIB = 1 << 20
KIB = 1 << 10
LARGE_SHARE, SMALL_SHARE = 0.4, 0.05
"""One large file has the first share, many small ones the second, files of some MiB the rest."""
FILE_TIME = 1_700_000_000
Manifest = dict[str, str]
"""SHA-256 of each file, by its path from the root of the file system."""


@dataclass(frozen=True, slots=True)
class FileTree:
    """What the file system is to hold."""

    share: float = 0.35
    """Share of the volume that files take."""
    seed: int = 1

    def sizes(self, size_gib: int) -> dict[str, int]:
        """Path and length of every file."""
        draw = random.Random(self.seed)
        total = int(size_gib * GIB * self.share)
        files = {"database/table.dat": int(total * LARGE_SHARE)}
        files |= _fill("documents/{0}/{1}/note-{2}.txt", int(total * SMALL_SHARE), (KIB, 64 * KIB), draw)
        files |= _fill("media/{0}/clip-{2}.bin", total - sum(files.values()), (MIB, 16 * MIB), draw)
        return files


def _fill(pattern: str, total: int, between: tuple[int, int], draw: random.Random) -> dict[str, int]:
    files: dict[str, int] = {}
    while total > 0:
        size = min(total, draw.randint(*between))
        files[pattern.format(draw.randrange(8), draw.randrange(16), len(files))] = size
        total -= size
    return files


def make_ext4_image(
    path: Path, size_gib: int, files: FileTree | None = None, *, snapshot_id: str = "snap-0123456789abcdef0"
) -> SnapshotImage:
    """Make a snapshot of an ext4 file system with files; beside it a description that load_image reads."""
    tree = files or FileTree()
    if not 0 < tree.share <= 0.85:
        raise DataPlaneError(f"files can take 0 to 0.85 of a volume, not {tree.share}")
    folder = path.with_name(path.name + ".tree")
    shutil.rmtree(folder, ignore_errors=True)
    try:
        manifest = {
            name: _write_file(folder / name, size, tree.seed) for name, size in tree.sizes(size_gib).items()
        }
        _make_file_system(path, folder, size_gib, tree.seed)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    image = SnapshotImage(snapshot_id, size_gib, written_extents(path), path)
    description = {
        "snapshot_id": snapshot_id,
        "size_gib": size_gib,
        "extents": image.extents,
        "files": manifest,
    }
    _description(path).write_text(json.dumps(description))
    return image


def load_image(path: Path) -> SnapshotImage:
    """An image that make_ext4_image made earlier."""
    kept = json.loads(_description(path).read_text())
    extents = tuple((int(first), int(count)) for first, count in kept["extents"])
    return SnapshotImage(str(kept["snapshot_id"]), int(kept["size_gib"]), extents, path)


def load_manifest(image: SnapshotImage) -> Manifest:
    """The sums of the files in an image that make_ext4_image made."""
    if image.path is None:
        raise DataPlaneError(f"snapshot {image.snapshot_id} has no data on this machine")
    files: Manifest = json.loads(_description(image.path).read_text())["files"]
    return files


def written_extents(path: Path) -> tuple[Extent, ...]:
    """The 512 KiB blocks of a file that hold anything but zeros, as runs."""
    zeros = bytes(BLOCK_BYTES)
    with path.open("rb") as file:
        written = []
        for block in _allocated_blocks(file.fileno()):
            data = os.pread(file.fileno(), BLOCK_BYTES, block * BLOCK_BYTES)
            if data != zeros[: len(data)]:
                written.append(block)
    return tuple(_runs(written))


def compare_files(
    machine: DataPlane,
    instance_id: str,
    volume_id: str,
    manifest: Manifest,
    *,
    timeout_seconds: float = 600.0,
) -> list[str]:
    """Read every file of a restored volume on its instance; what is missing, different or new."""
    device = f"/dev/disk/by-id/{link_names(volume_id)[0]}"
    command = machine.run_command(instance_id, _SUMS, environment={"DEVICE": device})
    deadline = time.monotonic() + timeout_seconds
    while (status := command.poll()) is None:
        if time.monotonic() > deadline:
            command.cancel()
            raise DataPlaneError(f"the files of {volume_id} were not read within {timeout_seconds:.0f} s")
        time.sleep(0.05)
    out, err = command.output()
    if status != 0:
        raise DataPlaneError(f"the files of {volume_id} cannot be read ({status}): {err.strip()}")
    found = {line[66:].removeprefix("./"): line[:64] for line in out.splitlines()}
    differences = [f"{name}: missing" for name in sorted(manifest.keys() - found.keys())]
    differences += [f"{name}: not in the snapshot" for name in sorted(found.keys() - manifest.keys())]
    return differences + [
        f"{name}: differs" for name in sorted(found) if manifest.get(name, found[name]) != found[name]
    ]


# A file instead of a block device (no loop devices here) cannot be mounted; debugfs reads ext4 by itself.
# openssl uses the processor's instructions for SHA-256 and takes a quarter of the time of sha256sum.
_SUMS = """
set -e
point=$(mktemp -d)
if [ -b "$DEVICE" ]; then
    mount -t ext4 -o ro,noload "$DEVICE" "$point"
    trap 'umount "$point"; rmdir "$point"' EXIT
else
    trap 'rm -rf "$point"' EXIT
    debugfs -R "rdump / $point" "$DEVICE" 2>&1 | grep -v '^debugfs ' >&2 || true
fi
(cd "$point" && find . -path ./lost+found -prune -o -type f -exec openssl dgst -sha256 -r {} +)
"""


def _description(path: Path) -> Path:
    return path.with_name(path.name + ".json")


def file_bytes(name: str, size: int, seed: int) -> Iterator[bytes]:
    """A file's contents, piece by piece; they depend on the seed and the file's name alone."""
    for offset in range(0, size, 4 * MIB):
        key = f"{seed}/{name}/{offset}".encode()
        yield hashlib.shake_128(key).digest(min(4 * MIB, size - offset))


def _write_file(path: Path, size: int, seed: int) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    total = hashlib.sha256()
    with path.open("wb") as file:
        for data in file_bytes(path.name, size, seed):
            file.write(data)
            total.update(data)
    os.utime(path, (FILE_TIME, FILE_TIME))
    return total.hexdigest()


def _make_file_system(path: Path, folder: Path, size_gib: int, seed: int) -> None:
    path.unlink(missing_ok=True)
    path.touch(mode=0o600)
    os.truncate(path, size_gib * GIB)
    identity = uuid.UUID(int=random.Random(seed).getrandbits(128), version=4)
    extended = f"hash_seed={identity},lazy_itable_init=1,lazy_journal_init=1,nodiscard,root_owner=0:0"
    run_tool("mkfs.ext4", "-q", "-F", "-U", str(identity), "-E", extended, "-d", folder, path)


def _allocated_blocks(descriptor: int) -> Iterator[int]:
    """Blocks in which the file has data, as far as its file system knows."""
    size, offset, done = os.fstat(descriptor).st_size, 0, 0
    while offset < size:
        try:
            offset = os.lseek(descriptor, offset, os.SEEK_DATA)
        except OSError:  # nothing but a hole up to the end
            return
        end = os.lseek(descriptor, offset, os.SEEK_HOLE)
        first = max(done, offset // BLOCK_BYTES)
        done = -(-end // BLOCK_BYTES)
        yield from range(first, done)
        offset = end


def _runs(blocks: Iterable[int]) -> Iterator[Extent]:
    first, count = 0, 0
    for block in blocks:
        if count and block == first + count:
            count += 1
            continue
        if count:
            yield first, count
        first, count = block, 1
    if count:
        yield first, count
