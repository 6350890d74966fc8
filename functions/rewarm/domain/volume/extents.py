"""Which blocks the warm-up agent reads (`warmer warm --scope`).

Runs of written 512 KiB blocks: many in little memory, merged, counted, cut to size.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from typing import overload

from rewarm.domain.model import BLOCK_BYTES, GIB, Extent


class Runs(Sequence[Extent]):
    """Ascending, disjoint extents in two arrays: 16 bytes each, a tenth of a separate Extent.

    A snapshot of 16 TiB in which every other block is written has 16.8 million of them.
    """

    __slots__ = ("counts", "starts")

    def __init__(self, extents: Iterable[Extent] = ()) -> None:
        self.starts: array[int] = array("Q")
        self.counts: array[int] = array("Q")
        for extent in extents:
            self.append(extent.start_block, extent.block_count)

    def append(self, start_block: int, block_count: int) -> None:
        """Put a run behind the last one."""
        self.starts.append(start_block)
        self.counts.append(block_count)

    def pop(self) -> tuple[int, int]:
        """Take the last run away: (start, count)."""
        return self.starts.pop(), self.counts.pop()

    def extend(self, others: Runs) -> None:
        """Put runs behind the last one; where the two touch, they become one run."""
        if self.starts and others.starts and self.starts[-1] + self.counts[-1] == others.starts[0]:
            self.counts[-1] += others.counts[0]
            self.starts += others.starts[1:]
            self.counts += others.counts[1:]
        else:
            self.starts += others.starts
            self.counts += others.counts

    @property
    def block_count(self) -> int:
        """Blocks of all runs together."""
        return sum(self.counts)

    def __len__(self) -> int:
        return len(self.starts)

    @overload
    def __getitem__(self, index: int) -> Extent: ...

    @overload
    def __getitem__(self, index: slice) -> Runs: ...

    def __getitem__(self, index: int | slice) -> Extent | Runs:
        if isinstance(index, int):
            return Extent(self.starts[index], self.counts[index])
        part = Runs()
        part.starts = self.starts[index]
        part.counts = self.counts[index]
        return part


def runs_of(indices: Sequence[int]) -> Runs:
    """Ascending block indices as runs."""
    if indices and indices[-1] + 1 - indices[0] == len(indices):
        return Runs([Extent(indices[0], len(indices))])
    return runs_in_order(indices)


def runs_in_order(indices: Sequence[int]) -> Runs:
    """Block indices of any order as runs, in that order; those that follow each other are one."""
    runs = Runs()
    if not indices:
        return runs
    begin = end = indices[0]
    for index in indices:
        if index != end:
            runs.append(begin, end - begin)
            begin = index
        end = index + 1
    runs.append(begin, end - begin)
    return runs


def joined(parts: Iterable[Runs]) -> Iterator[Runs]:
    """Ascending parts one after the other; runs that touch at a seam become one."""
    start = count = 0
    for part in parts:
        if not part:
            continue
        if count and part.starts[0] == start + count:
            part.starts[0] = start
            part.counts[0] += count
        elif count:
            yield Runs([Extent(start, count)])
        start, count = part.pop()
        if part:
            yield part
    if count:
        yield Runs([Extent(start, count)])


class Scope(StrEnum):
    """What is asked of the agent, and what its result says that it read."""

    WRITTEN = "written"
    """The snapshot's written blocks."""
    USED = "used"
    """Written blocks that file systems use; all written blocks if no file system is understood."""
    WHOLE = "whole"
    """Every block of the volume, never written ones too."""

    @property
    def in_words(self) -> str:
        """`every written block`."""
        return _WORDS[self]


_WORDS = {
    Scope.WRITTEN: "every written block",
    Scope.USED: "every written block that its file systems use",
    Scope.WHOLE: "every block",
}


def most_bytes(scope: Scope, *, written_blocks: int, size_gib: int) -> int:
    """What the agent reads of a volume; `used` is narrowed by the agent alone, so that it may be less."""
    return size_gib * GIB if scope is Scope.WHOLE else written_blocks * BLOCK_BYTES


def reported(value: object, otherwise: Scope) -> Scope:
    """The scope that an agent's line names; progress lines name none."""
    return next((scope for scope in Scope if scope.value == value), otherwise)
