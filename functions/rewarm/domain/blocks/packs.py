"""Packs and the manifest, as the agent's `apply` takes them (warmer/warmer.1.md, "The manifest", "A pack").

The manifest is a chain of parts, and each part names the next one before that is there. The agent fetches a
pack as soon as its part is written, while others are still being made.

An undo log is packs with the old bytes of blocks that a rewind has overwritten, which undo it. Each attempt
of a rewind writes its own packs. Somebody may write to the volume between two attempts, so a block may be in
the packs of both. The earlier pack has its bytes from before the rewind. Undoing writes those, because all
other blocks are of that time too. The later pack stays in the log.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import islice

from rewarm.domain.model import BLOCK_BYTES
from rewarm.domain.value import Value
from rewarm.domain.volume.extents import Runs

FORMAT = "rewarm-delta-1"
_SKIPPED_FRAME = 0x184D2A50
"""The first of the frames that zstd skips (RFC 8878, 3.1.2)."""
HEAD_BYTES = 8
"""Bytes of a skipped frame before its content."""
LINES_OF_A_PART = 30_000
"""Lines of zeros and samples: a part has at most 4 MiB, and such a line at most 128 bytes."""
ADDRESSES_OF_A_PART = 1_000
"""Lines with addresses: a presigned one has some 1,700 bytes, and the agent takes 4,095 at most."""
MOST_UNDONE = 512
"""Blocks of a line whose old bytes the agent keeps (warmer.1.md, "The manifest")."""
INDEX_BYTES = 524_288
"""The most bytes of a pack's index."""
Line = Mapping[str, object]


class PackedBlock(Value):
    """A whole block, compressed, with the SHA-256 of its bytes."""

    index: int
    length: int
    sha256: str
    frame: bytes


class PackFacts(Value):
    """What a manifest says of a pack."""

    size_bytes: int
    blocks: int
    index_sha256: str


def block_length(index: int, volume_bytes: int) -> int:
    """Bytes of a block: 524,288, or what is left of the volume in its last block."""
    return min(BLOCK_BYTES, volume_bytes - index * BLOCK_BYTES)


def pack_name(indices: Iterable[int]) -> str:
    """The name of a pack with these blocks of a snapshot: the same blocks give the same name."""
    text = "".join(f"{index}\n" for index in indices)
    return hashlib.sha256(f"{FORMAT}\n{text}".encode()).hexdigest()[:40]


def packed(blocks: Sequence[PackedBlock]) -> tuple[bytes, PackFacts]:
    """The pack."""
    index = b"".join(
        _line(
            {"block": block.index, "length": block.length, "bytes": len(block.frame), "sha256": block.sha256}
        )
        for block in blocks
    )
    head = struct.pack("<II", _SKIPPED_FRAME, len(index))
    data = b"".join([head, index, *(block.frame for block in blocks)])
    return data, PackFacts(len(data), len(blocks), hashlib.sha256(index).hexdigest())


class ManifestHead(Value):
    """The first line of every part."""

    volume_id: str
    snapshot_id: str
    """What the volume becomes."""
    volume_bytes: int
    blocks_total: int
    """Blocks of all parts."""

    def part(self, number: int, lines: Sequence[Line], following: str | None) -> str:
        """A part of the manifest; `following` is the next part's address, None at the end."""
        first = {
            "format": FORMAT,
            "part": number,
            "volumeId": self.volume_id,
            "snapshotId": self.snapshot_id,
            "volumeBytes": self.volume_bytes,
            "blockBytes": BLOCK_BYTES,
            "blocksTotal": self.blocks_total,
        }
        text = b"".join(_line(line) for line in (first, *lines))
        end = {
            "end": True,
            "packs": sum("pack" in line for line in lines),
            "blocks": sum(int(str(line.get("blocks") or line.get("count") or 0)) for line in lines),
            "sha256": hashlib.sha256(text).hexdigest(),
            "next": following,
        }
        return (text + _line(end)).decode()


class PackIndex(Value):
    """What a pack's index says of its blocks; the bytes of each are its frame's."""

    blocks: Sequence[PackedBlock]
    """The blocks without their frames."""
    frame_bytes: Sequence[int]
    facts: PackFacts


def index_length(begin: bytes) -> int:
    """Bytes of the index, by the first eight of the pack. Raises ValueError if it is not a pack."""
    magic, length = struct.unpack("<II", begin[:HEAD_BYTES].ljust(HEAD_BYTES, b"\0"))
    if magic != _SKIPPED_FRAME or not 0 < length <= INDEX_BYTES:
        raise ValueError("it does not begin as a pack does")
    return int(length)


def pack_index(begin: bytes) -> PackIndex:
    """The index of a pack that begins with `begin`. Raises ValueError if it is not a pack."""
    length = index_length(begin)
    text = begin[HEAD_BYTES : HEAD_BYTES + length]
    if len(text) < length:
        raise ValueError("its index is cut off")
    lines = [json.loads(line) for line in text.splitlines()]
    try:
        blocks = [PackedBlock(line["block"], line["length"], line["sha256"], b"") for line in lines]
        sizes = [int(line["bytes"]) for line in lines]
    except (KeyError, TypeError) as error:
        raise ValueError(f"a line of its index lacks {error}") from error
    size = HEAD_BYTES + len(text) + sum(sizes)
    return PackIndex(blocks, sizes, PackFacts(size, len(blocks), hashlib.sha256(text).hexdigest()))


def taken_out(pack: bytes, wanted: Iterable[int]) -> list[PackedBlock]:
    """These blocks of a pack, still compressed. Raises ValueError if the pack is not complete."""
    index = pack_index(pack)
    indices = set(wanted)
    if index.facts.size_bytes != len(pack):
        raise ValueError(f"it has {len(pack):,} bytes, and its index says {index.facts.size_bytes:,}")
    at = len(pack) - sum(index.frame_bytes)
    found = []
    for block, size in zip(index.blocks, index.frame_bytes, strict=True):
        if block.index in indices:
            found.append(replace(block, frame=pack[at : at + size]))
        at += size
    return found


def pack_line(address: str, pack: PackFacts, *, undo: str | None = None) -> Line:
    """A pack; before its blocks are written, their old bytes go to the address `undo`."""
    line = {"pack": address, "bytes": pack.size_bytes, "blocks": pack.blocks, "index": pack.index_sha256}
    return line if undo is None else {**line, "undo": undo}


def sample_line(block: PackedBlock) -> Line:
    """A block that the volume must hold already."""
    return {"unchanged": block.index, "sha256": block.sha256}


def zeros_lines(zeros: Runs, *, most_blocks: int | None = None) -> Iterator[Line]:
    """Lines of blocks that become zeros, each of at most `most_blocks`."""
    for start, count in zip(zeros.starts, zeros.counts, strict=True):
        step = most_blocks or count
        for begin in range(start, start + count, step):
            yield {"zeros": begin, "count": min(step, start + count - begin)}


def parts_of(lines: Iterable[Line], most: int) -> Iterator[list[Line]]:
    """At most `most` lines at a time; one empty part if there are none."""
    rest = iter(lines)
    part = list(islice(rest, most))
    yield part
    while part := list(islice(rest, most)):
        yield part


def _line(value: Line) -> bytes:
    return json.dumps(value).encode() + b"\n"


UNDO_FORMAT = "rewarm-undo-1"
"""The format in a log's head."""


class LogPack(Value):
    """A pack of an undo log."""

    key: str
    attempt: int
    index: PackIndex

    @property
    def indices(self) -> list[int]:
        """Its blocks, in the order of the pack."""
        return [block.index for block in self.index.blocks]


class LogShare(Value):
    """The blocks of a pack that undo the rewind; no other pack has them."""

    pack: LogPack
    indices: list[int]

    @property
    def is_whole(self) -> bool:
        """All blocks of the pack."""
        return len(self.indices) == len(self.pack.index.blocks)


def shares(packs: Iterable[LogPack]) -> Iterator[LogShare]:
    """The packs with the blocks that no earlier attempt has, the earliest attempt first."""
    taken = set[int]()
    for pack in sorted(packs, key=lambda pack: (pack.attempt, pack.key)):
        own = [index for index in pack.indices if index not in taken]
        taken.update(own)
        if own:
            yield LogShare(pack, own)


def changed_between(packs: Iterable[LogPack]) -> int:
    """Blocks that a later attempt kept with other bytes: the earlier write was torn, or somebody wrote."""
    kept: dict[int, set[str]] = {}
    for block in (block for pack in packs for block in pack.index.blocks):
        kept.setdefault(block.index, set()).add(block.sha256)
    return sum(len(found) > 1 for found in kept.values())


def expires_at(written_at: datetime, days: int) -> datetime:
    """From this midnight (UTC) on, after so many days, S3 deletes (its user guide, "Lifecycle rules")."""
    whole = written_at.astimezone(UTC) + timedelta(days=days)
    midnight = whole.replace(hour=0, minute=0, second=0, microsecond=0)
    return midnight if midnight == whole else midnight + timedelta(days=1)
