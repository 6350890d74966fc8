"""Lists the written blocks of a snapshot fast: several ranges at once, below the account's request limit.

ListSnapshotBlocks hands on a token from page to page, so one chain goes only as fast as one answer follows
the other. StartingBlockIndex begins a chain anywhere; NextToken overrides it, so a chain does not know its
end and is stopped by the first block beyond it. Pages may be short or empty (EBS user guide, "Read EBS
snapshots").
"""

from __future__ import annotations

import threading
import time
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from rewarm.adapters.aws_errors import naming_errors
from rewarm.domain.errors import RequestRefusedError
from rewarm.domain.extents import merge
from rewarm.domain.model import BLOCK_BYTES, GIB, Extent

if TYPE_CHECKING:
    from mypy_boto3_ebs.client import EBSClient
    from mypy_boto3_ebs.type_defs import ListSnapshotBlocksRequestTypeDef, ListSnapshotBlocksResponseTypeDef

PAGE_BLOCKS = 10_000
REQUESTS_PER_SECOND = 40
"""Below the quota of 50 ListSnapshotBlocks requests per second and account (EBS user guide, quotas)."""
THREADS = 8
SMALLEST_RANGE_BLOCKS = 2 * PAGE_BLOCKS
RANGES = 4 * THREADS


class Pacer:
    """Lets callers pass at an even pace, whatever thread they are in."""

    def __init__(
        self,
        per_second: float,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._interval = 1 / per_second
        self._clock = clock
        self._sleep = sleep
        self._lock = threading.Lock()
        self._next = 0.0

    def wait(self) -> None:
        """Return when it is the caller's turn."""
        with self._lock:
            now = self._clock()
            turn = max(now, self._next)
            self._next = turn + self._interval
        if turn > now:
            self._sleep(turn - now)


class BlockLister:
    """The written blocks of snapshots."""

    def __init__(self, ebs: EBSClient, pacer: Pacer | None = None, threads: int = THREADS) -> None:
        self._ebs = ebs
        self._pacer = pacer or Pacer(REQUESTS_PER_SECOND)
        self._threads = threads

    def extents(self, snapshot_id: str) -> list[Extent]:
        """Ascending, disjoint and merged."""
        first = self._page({"SnapshotId": snapshot_id, "MaxResults": PAGE_BLOCKS})
        _check_block_size(snapshot_id, first)
        found = [merged(_indices(first))]
        if "NextToken" in first:
            stop = -(-first["VolumeSize"] * GIB // BLOCK_BYTES)
            start = found[0][-1].start_block + found[0][-1].block_count if found[0] else 0
            with ThreadPoolExecutor(self._threads) as pool:
                found += pool.map(lambda part: self._range(snapshot_id, *part), ranges(start, stop))
        return merge(extent for part in found for extent in part)

    def _range(self, snapshot_id: str, start: int, stop: int) -> list[Extent]:
        """The written blocks from `start` up to `stop`, which is not included."""
        found: list[Extent] = []
        request: ListSnapshotBlocksRequestTypeDef = {
            "SnapshotId": snapshot_id,
            "MaxResults": PAGE_BLOCKS,
            "StartingBlockIndex": start,
        }
        while True:
            page = self._page(request)
            indices = _indices(page)
            inside = indices[: bisect_left(indices, stop)]
            found += merged(inside)
            if len(inside) < len(indices) or "NextToken" not in page:
                return found
            request = {"SnapshotId": snapshot_id, "MaxResults": PAGE_BLOCKS, "NextToken": page["NextToken"]}

    def _page(self, request: ListSnapshotBlocksRequestTypeDef) -> ListSnapshotBlocksResponseTypeDef:
        self._pacer.wait()
        with naming_errors():
            return self._ebs.list_snapshot_blocks(**request)


def ranges(start: int, stop: int) -> Iterator[tuple[int, int]]:
    """Cuts the blocks into ranges large enough to be worth a chain of their own."""
    size = max(SMALLEST_RANGE_BLOCKS, -(-(stop - start) // RANGES))
    for begin in range(start, stop, size):
        yield begin, min(begin + size, stop)


def merged(indices: Iterable[int]) -> list[Extent]:
    """Ascending block indices as runs."""
    runs: list[Extent] = []
    begin = end = -1
    for index in indices:
        if index != end:
            if end > begin:
                runs.append(Extent(begin, end - begin))
            begin = index
        end = index + 1
    if end > begin:
        runs.append(Extent(begin, end - begin))
    return runs


def _indices(page: ListSnapshotBlocksResponseTypeDef) -> list[int]:
    return [block["BlockIndex"] for block in page.get("Blocks", [])]


def _check_block_size(snapshot_id: str, page: ListSnapshotBlocksResponseTypeDef) -> None:
    if page["BlockSize"] != BLOCK_BYTES:
        raise RequestRefusedError(
            f"ListSnapshotBlocks: {snapshot_id} has blocks of {page['BlockSize']} bytes, not {BLOCK_BYTES}"
        )
