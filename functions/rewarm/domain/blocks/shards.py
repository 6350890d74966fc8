"""The list of blocks to copy, cut into shards: each is fetched by one function and becomes one pack."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from heapq import merge
from itertools import islice
from typing import NamedTuple

from rewarm.domain.blocks.changed import ChangedBlock
from rewarm.domain.volume.extents import Runs, runs_of

MOST_BLOCKS, FEWEST_BLOCKS = 512, 64
"""Of a shard. 512 blocks are 256 MiB at most, which a function holds twice."""
SIDE_BY_SIDE = 10
"""Functions that read one snapshot at once: each then reads some 50 MiB/s of the 1,000 blocks a second."""
ROUNDS = 4
"""Of a short list for an agent that compares: its first part is there in a quarter of the time."""
SAMPLES_OF_A_LOOK = 8
"""Blocks that one request of a list gives; more of them would be neighbours."""
_LOOK_AHEAD = SIDE_BY_SIDE * MOST_BLOCKS


@dataclass(frozen=True, slots=True)
class ReadRates:
    """GetSnapshotBlock requests a second that EBS allows (EBS quotas L-028ACFB9 and L-C125AE42)."""

    snapshot_per_second: int = 1_000
    account_per_second: int = 1_000


class ListedRange(NamedTuple):
    """The blocks of a part of the volume, and how many requests have listed them."""

    blocks: list[ChangedBlock]
    requests: int


@dataclass(slots=True)
class Listing:
    """What was listed so far."""

    zeros: Runs = field(default_factory=Runs)
    """Blocks that the good snapshot has not got."""
    changed: Runs = field(default_factory=Runs)
    """These and the others."""
    requests: int = 0

    def blocks(self, ranges: Iterable[ListedRange]) -> Iterator[ChangedBlock]:
        """One after the other; notes what passes."""
        for found in ranges:
            self.requests += found.requests
            self.changed.extend(runs_of([block.index for block in found.blocks]))
            self.zeros.extend(runs_of([one.index for one in found.blocks if one.first_token is None]))
            yield from found.blocks


def without(blocks: Iterable[ListedRange], others: Iterator[ChangedBlock]) -> Iterator[ListedRange]:
    """The blocks that the others, which ascend too, have not got."""
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
        pass  # Whoever counts them hears of all.


def gaps(volume_blocks: int, *taken: Runs) -> Runs:
    """The blocks of the volume that are in none of the lists, which have no block in common."""
    found, at = Runs(), 0
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

    A short list is cut so that all functions have some of it, so many times; its length is known when it
    has ended.
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
