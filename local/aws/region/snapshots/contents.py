"""What the blocks of a snapshot hold, and in which blocks two snapshots differ.

The bytes are those of the snapshot's file or, where it has none, generated from its layers. What two
snapshots have in common (the same first layers, or the same file) is not looked at.
"""

from __future__ import annotations

import hashlib
import heapq
import itertools
import os
from collections.abc import Iterator, Sequence

from local.aws.machines.dataplane import BLOCK_BYTES, Extent, SnapshotImage
from local.aws.machines.volumes import MAX_FILE_BYTES
from local.aws.region.snapshots.block_lists import block_count, each_block_from, has_block


def read_block(image: SnapshotImage, block: int) -> bytes:
    """The 524,288 bytes of a block. Raises OSError where the snapshot's file is gone."""
    if image.path is None:
        seed = _seed(image, block)
        return bytes(BLOCK_BYTES) if seed is None else _generated(seed, block)
    number, offset = divmod(block * BLOCK_BYTES, MAX_FILE_BYTES)
    path = image.path.with_name(f"{image.path.name}.{number}") if number else image.path
    with path.open("rb") as file:
        return os.pread(file.fileno(), BLOCK_BYTES, offset).ljust(BLOCK_BYTES, b"\0")


def candidates(first: SnapshotImage, second: SnapshotImage, start: int) -> Iterator[int]:
    """Blocks from `start` on in which the two may differ, ascending."""
    found = heapq.merge(*(each_block_from(extents, start) for extents in _apart(first, second)))
    return (block for block, _ in itertools.groupby(found))


def changed_blocks(first: SnapshotImage | None, second: SnapshotImage) -> int:
    """How many blocks of the second one the first one has not got, or otherwise; None is an empty one."""
    if first is None:
        return block_count(second.extents)
    return sum(differs(first, second, block) for block in candidates(first, second, 0))


def differs(first: SnapshotImage, second: SnapshotImage, block: int) -> bool:
    """Whether the two hold something else in this block, or only one of them has it."""
    held = [has_block(image.extents, block) for image in (first, second)]
    if not all(held):
        return any(held)
    if first.path is None and second.path is None:
        return _seed(first, block) != _seed(second, block)
    return read_block(first, block) != read_block(second, block)


def held_seed(image: SnapshotImage, block: int) -> str | None:
    """What tells the content of a block apart, of an image without a file; None where it has not got it."""
    return _seed(image, block) if has_block(image.extents, block) else None


def _apart(first: SnapshotImage, second: SnapshotImage) -> list[Sequence[Extent]]:
    """Where the two may differ."""
    if first.path is not None or second.path is not None:
        same = first.path == second.path and first.extents == second.extents
        return [] if same else [first.extents, second.extents]
    pairs = zip(first.layers, second.layers, strict=False)
    common = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))
    layers = [extents for image in (first, second) for extents, _ in image.layers[common:]]
    # A block that was put back to zeros is in no layer, and its snapshot has not got it.
    held = [set(image.extents) for image in (first, second)]
    return [*layers, sorted(held[0] - held[1]), sorted(held[1] - held[0])]


def _seed(image: SnapshotImage, block: int) -> str | None:
    """What the bytes of a block are generated from; None where it is not written."""
    return next((seed for extents, seed in reversed(image.layers) if has_block(extents, block)), None)


def _generated(seed: str, block: int) -> bytes:
    pattern = hashlib.sha256(f"{seed}/{block}".encode()).digest()
    return pattern * (BLOCK_BYTES // len(pattern))
