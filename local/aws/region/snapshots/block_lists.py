"""Written blocks in numbers that no list should hold: 16 TiB have 33,554,432 of them."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Iterator, Sequence
from typing import overload

from local.aws.machines.dataplane import Extent


class Stripes(Sequence[Extent]):
    """Extents of one block each, every so many blocks; as short as a range."""

    def __init__(self, blocks: int, every: int = 2) -> None:
        self._firsts = range(0, blocks, every)

    def __len__(self) -> int:
        return len(self._firsts)

    @overload
    def __getitem__(self, index: int) -> Extent: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Extent, ...]: ...

    def __getitem__(self, index: int | slice) -> Extent | tuple[Extent, ...]:
        if isinstance(index, int):
            return self._firsts[index], 1
        return tuple((first, 1) for first in self._firsts[index])


def block_count(extents: Sequence[Extent]) -> int:
    """Blocks of all extents together."""
    return len(extents) if isinstance(extents, Stripes) else sum(count for _, count in extents)


def blocks_from(extents: Sequence[Extent], first: int, most: int) -> list[int]:
    """At most so many written blocks, from block `first` on."""
    return list(itertools.islice(each_block_from(extents, first), most))


def each_block_from(extents: Sequence[Extent], first: int) -> Iterator[int]:
    """Written blocks, ascending, from block `first` on."""
    position = max(0, bisect.bisect_right(extents, first, key=lambda extent: extent[0]) - 1)
    for number in range(position, len(extents)):
        start, count = extents[number]
        yield from range(max(start, first), start + count)


def has_block(extents: Sequence[Extent], block: int) -> bool:
    """Whether the block is written."""
    position = bisect.bisect_right(extents, block, key=lambda extent: extent[0]) - 1
    return position >= 0 and block < extents[position][0] + extents[position][1]
