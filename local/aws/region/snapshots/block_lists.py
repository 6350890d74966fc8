"""Written blocks in numbers that no list should hold: 16 TiB have 33,554,432 of them."""

from __future__ import annotations

import base64
import bisect
import hashlib
import itertools
from collections.abc import Iterator, Sequence
from typing import overload

from local import Json
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
    return list(itertools.islice(_blocks_from(extents, first), most))


def _blocks_from(extents: Sequence[Extent], first: int) -> Iterator[int]:
    position = max(0, bisect.bisect_right(extents, first, key=lambda extent: extent[0]) - 1)
    for number in range(position, len(extents)):
        start, count = extents[number]
        yield from range(max(start, first), start + count)


class BlockPage(Sequence[Json]):
    """`Blocks` of one answer: members when asked for them, and JSON at once for the wire.

    Serializing 10,000 members one by one takes longer than AWS's request limit allows between two pages.
    """

    def __init__(self, snapshot_id: str, indices: list[int]) -> None:
        self._indices = indices
        self._token = base64.b64encode(hashlib.sha256(snapshot_id.encode()).digest()).decode()[:43]

    def __len__(self) -> int:
        return len(self._indices)

    @overload
    def __getitem__(self, index: int) -> Json: ...

    @overload
    def __getitem__(self, index: slice) -> list[Json]: ...

    def __getitem__(self, index: int | slice) -> Json | list[Json]:
        if isinstance(index, slice):
            return [self._member(one) for one in self._indices[index]]
        return self._member(self._indices[index])

    def __eq__(self, other: object) -> bool:
        return list(self) == (list(other) if isinstance(other, BlockPage) else other)

    __hash__ = None  # type: ignore[assignment]

    def json(self) -> str:
        """The list as JSON."""
        form = '{"BlockIndex":%d,"BlockToken":"' + self._token + '%017x"}'
        return "[" + ",".join([form % (index, index) for index in self._indices]) + "]"

    def _member(self, index: int) -> Json:
        return {"BlockIndex": index, "BlockToken": f"{self._token}{index:017x}"}
