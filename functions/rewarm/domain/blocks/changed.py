"""Which blocks differ between two snapshots of one volume, listed as far as somebody can wait for it.

A list of pages is read from the front. If it does not end soon, the rest of the volume is read in several
places, so that what is not listed can be drawn out from what is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

PLACES = 8
"""In which a long list is read."""


@dataclass(frozen=True, slots=True)
class ChangedBlock:
    """A block that differs, with what GetSnapshotBlock wants for each snapshot's version of it.

    The first token is absent where the first snapshot has not got the block. An absent second one is met,
    and documented nowhere: the block counts as different.
    """

    index: int
    first_token: str | None
    second_token: str | None


class ChangedPage(NamedTuple):
    """One answer of EBS: ascending, may be short or empty."""

    blocks: list[ChangedBlock]
    is_last: bool


@dataclass(frozen=True, slots=True)
class ChangedCount:
    """What was found between the good snapshot, which is the first, and the newest completed one."""

    blocks: int
    zeros: int = 0
    """Of them, those that the good snapshot has not got: zeros are written, and nothing is fetched."""
    requests: int = 0
    listed_share: float = 1.0
    """Of the volume; below 1 where the list was cut off."""


@dataclass(slots=True)
class _Part:
    """The blocks from `at` up to `stop`, which is not included, page by page."""

    pages: Iterator[ChangedPage]
    at: int
    stop: int
    blocks: int = 0
    zeros: int = 0

    @property
    def left(self) -> int:
        return self.stop - self.at

    def read(self) -> None:
        page = next(self.pages)
        inside = [block for block in page.blocks if block.index < self.stop]
        self.blocks += len(inside)
        self.zeros += sum(block.first_token is None for block in inside)
        last = page.blocks[-1].index + 1 if page.blocks else self.at
        self.at = self.stop if page.is_last else min(self.stop, last)


def count_changed(
    pages: Callable[[int], Iterator[ChangedPage]],
    volume_blocks: int,
    most_requests: int,
    has_time: Callable[[], bool],
) -> ChangedCount:
    """Counts them with so many requests at most, while there is time; one at least. `pages` lists from a
    block on.
    """
    front = _Part(pages(0), 0, volume_blocks)
    front.read()
    size = max(1, -(-front.left // PLACES))
    starts = range(front.at, volume_blocks, size)
    parts = [_Part(pages(start), start, min(start + size, volume_blocks)) for start in starts]
    requests = 1
    while requests < most_requests and has_time() and (unfinished := [part for part in parts if part.left]):
        for part in unfinished[: most_requests - requests]:
            if has_time():
                part.read()
                requests += 1
    return ChangedCount(
        blocks=sum(part.blocks for part in (front, *parts)),
        zeros=sum(part.zeros for part in (front, *parts)),
        requests=requests,
        listed_share=1 - sum(part.left for part in parts) / volume_blocks,
    )
