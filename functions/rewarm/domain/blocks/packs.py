"""Packs and the manifest, as the agent's `apply` takes them (warmer/warmer.1.md, "The manifest", "A pack").

The manifest is a chain of parts, and each part names the next one before that is there. The agent fetches a
pack as soon as its part is written, while others are still being made.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from rewarm.domain.model import BLOCK_BYTES
from rewarm.domain.volume.extents import Runs

FORMAT = "rewarm-delta-1"
_SKIPPED_FRAME = 0x184D2A50
"""The first of the frames that zstd skips (RFC 8878, 3.1.2)."""
LINES_OF_A_PART = 30_000
"""Of zeros and samples: a part has at most 4 MiB, and such a line at most 128 bytes."""
Line = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class PackedBlock:
    """A whole block, compressed, with the SHA-256 of its bytes."""

    index: int
    length: int
    sha256: str
    frame: bytes


@dataclass(frozen=True, slots=True)
class PackFacts:
    """What a manifest says of a pack."""

    size_bytes: int
    blocks: int
    index_sha256: str


def block_length(index: int, volume_bytes: int) -> int:
    """Bytes of a block: 524,288, or what is left of the volume in its last block."""
    return min(BLOCK_BYTES, volume_bytes - index * BLOCK_BYTES)


def pack_name(indices: Iterable[int]) -> str:
    """Of a pack with these blocks of a snapshot. Whoever packs the same blocks finds the same name."""
    text = "".join(f"{index}\n" for index in indices)
    return hashlib.sha256(f"{FORMAT}\n{text}".encode()).hexdigest()[:40]


def packed(blocks: Sequence[PackedBlock]) -> tuple[bytes, PackFacts]:
    """The pack."""
    index = b"".join(
        _line({"block": one.index, "length": one.length, "bytes": len(one.frame), "sha256": one.sha256})
        for one in blocks
    )
    head = struct.pack("<II", _SKIPPED_FRAME, len(index))
    data = b"".join([head, index, *(one.frame for one in blocks)])
    return data, PackFacts(len(data), len(blocks), hashlib.sha256(index).hexdigest())


@dataclass(frozen=True, slots=True)
class ManifestHead:
    """What all parts have in their first lines."""

    volume_id: str
    snapshot_id: str
    """What the volume becomes."""
    volume_bytes: int
    blocks_total: int
    """Of all parts."""

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
        text = b"".join(_line(one) for one in (first, *lines))
        end = {
            "end": True,
            "packs": sum("pack" in one for one in lines),
            "blocks": sum(int(str(one.get("blocks") or one.get("count") or 0)) for one in lines),
            "sha256": hashlib.sha256(text).hexdigest(),
            "next": following,
        }
        return (text + _line(end)).decode()


def pack_line(address: str, pack: PackFacts) -> Line:
    """A pack."""
    return {"pack": address, "bytes": pack.size_bytes, "blocks": pack.blocks, "index": pack.index_sha256}


def sample_line(block: PackedBlock) -> Line:
    """A block that the volume must hold already."""
    return {"unchanged": block.index, "sha256": block.sha256}


def zeros_parts(zeros: Runs) -> Iterator[list[Line]]:
    """Lines of blocks that become zeros, as many as a part takes; one part at least."""
    lines: Iterator[Line] = (
        {"zeros": start, "count": count} for start, count in zip(zeros.starts, zeros.counts, strict=True)
    )
    part = list(islice(lines, LINES_OF_A_PART))
    yield part
    while part := list(islice(lines, LINES_OF_A_PART)):
        yield part


def _line(value: Line) -> bytes:
    return json.dumps(value).encode() + b"\n"
