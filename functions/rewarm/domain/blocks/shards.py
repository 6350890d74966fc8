"""The blocks to copy: which differ, how they are cut into shards, and how far the copying is.

One function fetches each shard and makes one pack of it, then writes a part of the manifest. So the parts
show progress, whichever function made them, in whichever order and at whichever try.

A plan lists the blocks that differ between two snapshots only for as long as somebody can wait. It reads the
list from the front. If the list does not end soon, it samples the rest of the volume in several places and
extrapolates from them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from heapq import merge
from itertools import islice
from typing import NamedTuple

from rewarm.domain.model import BLOCK_BYTES, MIB
from rewarm.domain.value import Value
from rewarm.domain.volume.extents import Runs, runs_of

MOST_BLOCKS, FEWEST_BLOCKS = 512, 64
"""Blocks of a shard. 512 blocks are 256 MiB at most, which a function holds twice."""
SIDE_BY_SIDE = 10
"""Functions that read one snapshot at once: each then reads some 50 MiB/s of the 1,000 blocks a second."""
ROUNDS = 4
"""Shards of a short list for each function if the agent compares: the first part comes four times sooner."""
SAMPLES_OF_A_LOOK = 8
"""Blocks that one request of a list gives; more of them would be neighbours."""
_LOOK_AHEAD = SIDE_BY_SIDE * MOST_BLOCKS


class ReadRates(Value):
    """GetSnapshotBlock requests a second that EBS allows (EBS quotas L-028ACFB9 and L-C125AE42)."""

    snapshot_per_second: int = field(default=1_000, metadata={"gt": 0})
    account_per_second: int = field(default=1_000, metadata={"gt": 0})


class ListedRange(NamedTuple):
    """The blocks of a part of the volume, and how many requests have listed them."""

    blocks: list[ChangedBlock]
    requests: int


@dataclass(slots=True)
class Listing:
    """What was listed so far."""

    zeros: Runs = field(default_factory=Runs)
    """Blocks that the good snapshot lacks."""
    changed: Runs = field(default_factory=Runs)
    """These and the others."""
    requests: int = 0

    def blocks(self, ranges: Iterable[ListedRange]) -> Iterator[ChangedBlock]:
        """Yields the blocks one after the other, and records them."""
        for found in ranges:
            self.requests += found.requests
            self.changed.extend(runs_of([block.index for block in found.blocks]))
            self.zeros.extend(runs_of([block.index for block in found.blocks if block.first_token is None]))
            yield from found.blocks


def without(blocks: Iterable[ListedRange], others: Iterator[ChangedBlock]) -> Iterator[ListedRange]:
    """The blocks that are not among the others; both ascend."""
    other = next(others, None)
    for found in blocks:
        kept = []
        for block in found.blocks:
            while other is not None and other.index < block.index:
                other = next(others, None)
            if other is None or other.index != block.index:
                kept.append(block)
        yield ListedRange(kept, found.requests)
    for _ in others:
        pass  # Whoever counts them must see all.


def gaps(volume_blocks: int, *taken: Runs) -> Runs:
    """The volume's blocks that are in none of these lists, which do not overlap."""
    found = Runs()
    at = 0
    pairs = (zip(runs.starts, runs.counts, strict=True) for runs in taken)
    for start, count in merge(*pairs):
        if start > at:
            found.append(at, start - at)
        at = start + count
    if at < volume_blocks:
        found.append(at, volume_blocks - at)
    return found


def cut(blocks: Iterator[ChangedBlock], *, rounds: int = 1) -> Iterator[list[ChangedBlock]]:
    """Shards of the blocks that have to be fetched.

    A short list is cut so that each function gets `rounds` shards; the list's length is known once it has
    ended.
    """
    wanted = (block for block in blocks if block.first_token is not None)
    while ahead := list(islice(wanted, _LOOK_AHEAD)):
        size = min(MOST_BLOCKS, max(FEWEST_BLOCKS, -(-len(ahead) // (SIDE_BY_SIDE * rounds))))
        for begin in range(0, len(ahead), size):
            yield ahead[begin : begin + size]


def sample_places(count: int, volume_blocks: int, chance: int) -> Iterator[int]:
    """The blocks from which to look for some that are compared, evenly over the volume."""
    looks = -(-count // SAMPLES_OF_A_LOOK)
    for look in range(looks):
        yield (chance + look * volume_blocks // looks) % volume_blocks


def unchanged(blocks: Iterable[ChangedBlock], *changed: Runs) -> list[ChangedBlock]:
    """Those that are in none of the lists."""
    return [block for block in blocks if not any(_has(runs, block.index) for runs in changed)]


def _has(runs: Runs, index: int) -> bool:
    at = bisect_right(runs.starts, index) - 1
    return at >= 0 and index < runs.starts[at] + runs.counts[at]


RECENT = timedelta(minutes=1)
"""The rate is that of the last minute: pauses and what was there before do not count."""


class BlocksProgress(Value):
    """What is copied of the blocks that were listed."""

    blocks_copied: int
    bytes_copied: int
    """Before they are compressed."""
    mib_per_second: float | None
    """None before the first shard is copied."""
    remaining_seconds: int | None


def blocks_progress(
    blocks: int, shards: int, written_at: Sequence[datetime], started_at: datetime
) -> BlocksProgress:
    """`written_at` has the time of each part that is there; a shard counts as the mean of all."""
    done = len(written_at)
    copied = blocks * done // shards if shards else 0
    latest = max(written_at, default=started_at)
    since = max(started_at, latest - RECENT)
    seconds = (latest - since).total_seconds()
    recent = blocks / shards * sum(written > since for written in written_at) if shards else 0.0
    rate = recent / seconds if seconds > 0 else 0.0
    remaining = 0 if copied == blocks else None
    if rate and copied < blocks:
        remaining = round((blocks - copied) / rate)
    return BlocksProgress(
        blocks_copied=copied,
        bytes_copied=copied * BLOCK_BYTES,
        mib_per_second=round(rate * BLOCK_BYTES / MIB, 1) if rate else None,
        remaining_seconds=remaining,
    )


PLACES = 8
"""The number of places in which a long list is read."""


class ChangedBlock(Value):
    """A block that differs, with what GetSnapshotBlock wants for each snapshot's version of it.

    The first token is absent if the first snapshot lacks the block. The second one is sometimes absent, which
    is not documented: the block counts as different.
    """

    index: int
    first_token: str | None
    second_token: str | None


class ChangedPage(NamedTuple):
    """One answer of EBS: ascending, may be short or empty."""

    blocks: list[ChangedBlock]
    is_last: bool


class ChangedCount(Value):
    """What was found between the good snapshot, which is the first, and the newest completed one."""

    blocks: int
    zeros: int = 0
    """Differing blocks that the good snapshot lacks: the agent writes zeros, and nothing is fetched."""
    requests: int = 0
    listed_share: float = 1.0
    """Share of the volume; below 1 where the list was cut off."""


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
    """Counts by at most `most_requests` (at least one) while there is time; `pages` lists from a block."""
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
