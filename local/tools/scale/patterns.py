"""Which blocks of a large snapshot are written: what lists fastest, slowest, and needs the most memory."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from local.aws.machines.dataplane import BLOCK_BYTES, Extent
from local.aws.region.snapshots.block_lists import Stripes, block_count

BLOCKS_PER_GIB = (1 << 30) // BLOCK_BYTES
PAGE_BLOCKS = 10_000


@dataclass(frozen=True, slots=True)
class Pattern:
    """What to write, in words and as extents of a snapshot with so many blocks."""

    description: str
    extents: Callable[[int], Sequence[Extent]]


PATTERNS: Mapping[str, Pattern] = MappingProxyType(
    {
        "full": Pattern("every block is written, as AWS says itself", lambda blocks: ((0, blocks),)),
        "all-but-one": Pattern("all but the last block", lambda blocks: ((0, blocks - 1),)),
        "every-other": Pattern("every other block, each a run of its own", Stripes),
    }
)


def pages(name: str, size_gib: int) -> int:
    """Requests that the blocks fill when each answer is full."""
    written = block_count(PATTERNS[name].extents(size_gib * BLOCKS_PER_GIB))
    return 1 if name == "full" else -(-written // PAGE_BLOCKS)


def lines(extents: Sequence[Extent]) -> Iterator[str]:
    """The map that belongs to the extents."""
    return (f"{start} {count}\n" for start, count in extents)


def same_lines(expected: Iterator[str], found: Iterator[str]) -> bool:
    """Whether both are the same, line by line, without holding either."""
    return all(one == other for one, other in itertools.zip_longest(expected, found))
