"""The written blocks of a snapshot, fast and in little memory: several chains of pages at once.

A chain of pages is as slow as its answers, and the quota allows 50 requests a second. 16 TiB fully written
are 33,554,432 blocks on 3,356 pages, which take at least 67 s at the quota. So one request is enough where
FullSnapshotSizeInBytes ("all the blocks that were written to the source volume", botocore Snapshot) is as
much as the volume holds: it shows that we may read the snapshot, and its block size. Otherwise the volume is
cut into ranges, each with its own chain. What they find is passed on in order and forgotten, so that memory
holds some ranges and never all.
"""

from __future__ import annotations

import threading
from array import array
from bisect import bisect_left
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING

from rewarm.adapters.block_pages import PAGE_BLOCKS, SMALLEST_PAGE_BLOCKS, BlockPages, Pacer, Page
from rewarm.domain.errors import RequestRefusedError
from rewarm.domain.model import BLOCK_BYTES, GIB, Extent
from rewarm.domain.volume.extents import Runs, joined, runs_of

if TYPE_CHECKING:
    from mypy_boto3_ebs.client import EBSClient

THREADS = 16
"""48 pages of a megabyte a second, each some 0.2 s under way."""
PAGES_PER_RANGE = 16
"""A range ends within a page, so more ranges cost more requests; fewer hold more in memory."""
_LOOK_AHEAD = 2 * THREADS


class BlockLister:
    """The written blocks of snapshots."""

    def __init__(self, ebs: EBSClient, pacer: Pacer | None = None, threads: int = THREADS) -> None:
        self._pages = BlockPages(ebs, pacer)
        self._threads = threads

    def extents(self, snapshot_id: str, *, size_gib: int, full_size_bytes: int | None) -> Iterator[Runs]:
        """Ascending, disjoint and merged. Raises SnapshotNotFoundError, SnapshotNotUsableError."""
        if full_size_bytes == size_gib * GIB:
            _check_block_size(snapshot_id, self._pages.first(snapshot_id, SMALLEST_PAGE_BLOCKS))
            return iter([Runs([Extent(0, size_gib * GIB // BLOCK_BYTES)])])
        return joined(self._listed(snapshot_id, full_size_bytes))

    def _listed(self, snapshot_id: str, full_size_bytes: int | None) -> Iterator[Runs]:
        first = self._pages.first(snapshot_id)
        _check_block_size(snapshot_id, first)
        yield runs_of(first.indices)
        if first.next_token is None:
            return
        stop = -(-first.volume_size_gib * GIB // BLOCK_BYTES)
        start = first.indices[-1] + 1 if first.indices else 0
        expected = stop if full_size_bytes is None else -(-full_size_bytes // BLOCK_BYTES)
        yield from self._in_order(snapshot_id, ranges(start, stop, expected, self._threads))

    def _in_order(self, snapshot_id: str, parts: Iterator[tuple[int, int]]) -> Iterator[Runs]:
        """Many ranges at once, few ahead of what was handed on; whoever stops listening stops them all."""
        ended = threading.Event()
        waiting: deque[Future[Runs]] = deque()
        pool = ThreadPoolExecutor(self._threads, thread_name_prefix="list-blocks")
        try:
            for part in parts:
                waiting.append(pool.submit(self._range, snapshot_id, *part, ended))
                if len(waiting) >= _LOOK_AHEAD:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            ended.set()
            pool.shutdown(cancel_futures=True)

    def _range(self, snapshot_id: str, start: int, stop: int, ended: threading.Event) -> Runs:
        """The written blocks from `start` up to `stop`, which is not included."""
        found = Runs()
        for indices in self._pages.onwards(snapshot_id, start):
            found.extend(runs_of(_before(indices, stop)))
            if indices[-1] + 1 >= stop or ended.is_set():
                break
        return found


def ranges(start: int, stop: int, expected_blocks: int, threads: int = THREADS) -> Iterator[tuple[int, int]]:
    """Cuts the blocks into ranges: some pages in each where all is written, and enough for every thread."""
    pages = -(-expected_blocks // PAGE_BLOCKS)
    wanted = max(1, min(pages // 2, 2 * threads), pages // PAGES_PER_RANGE)
    size = -(-(stop - start) // wanted)
    size = -(-size // PAGE_BLOCKS) * PAGE_BLOCKS
    for begin in range(start, stop, size or 1):
        yield begin, min(begin + size, stop)


def _before(indices: array[int], stop: int) -> array[int]:
    return indices if indices[-1] < stop else indices[: bisect_left(indices, stop)]


def _check_block_size(snapshot_id: str, page: Page) -> None:
    if page.block_bytes != BLOCK_BYTES:
        raise RequestRefusedError(
            f"ListSnapshotBlocks: {snapshot_id} has blocks of {page.block_bytes} bytes, not {BLOCK_BYTES}"
        )
