"""The written blocks of a snapshot, fast and in little memory: several chains of pages at once.

ListSnapshotBlocks is read page by page: at the quota's pace, slower after a refusal, past an expired token.
NextToken overrides StartingBlockIndex and is valid for 60 minutes. Pages may be short or empty, so only a
missing token is the end (EBS user guide, "Read EBS snapshots").

A chain of pages is as slow as its answers, and the quota allows 50 requests a second. Fully written, 16 TiB
are 33,554,432 blocks on 3,356 pages, which take at least 67 s at the quota. If FullSnapshotSizeInBytes ("all
the blocks that were written to the source volume", botocore Snapshot) is the volume's size, one request is
enough: it shows the block size, and that we may read the snapshot. Otherwise the volume is cut into ranges,
each with its own chain. What they find is passed on in order and forgotten, so memory never holds all ranges.
"""

from __future__ import annotations

import json
import math
import threading
import time
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from rewarm.adapters.aws_errors import naming_errors
from rewarm.adapters.blocks.side_by_side import in_order
from rewarm.domain.errors import (
    RequestRefusedError,
    ServiceUnavailableError,
    SnapshotNotUsableError,
    ThrottledError,
)
from rewarm.domain.model import BLOCK_BYTES, GIB, Extent
from rewarm.domain.value import Value
from rewarm.domain.volume.extents import Runs, joined, runs_of

if TYPE_CHECKING:
    from mypy_boto3_ebs.client import EBSClient
    from mypy_boto3_ebs.type_defs import ListSnapshotBlocksRequestTypeDef

PAGE_BLOCKS = 10_000
SMALLEST_PAGE_BLOCKS = 100
"""botocore: ebs ListSnapshotBlocks MaxResults 100-10,000."""
REQUESTS_PER_SECOND = 48
"""Just below the quota of 50 ListSnapshotBlocks requests per second and account (EBS user guide, quotas)."""
SLOWEST_PER_SECOND = 5
ATTEMPTS = 8
"""Attempts of one request; after each, the pace halves, down to SLOWEST_PER_SECOND."""
RESTARTS_WITHOUT_PROGRESS = 3
HTTP_OK = 200
_INDICES = "BlockIndices"
"""Where `keep_indices` leaves the indices in botocore's answer."""
THREADS = 16
"""Enough for 48 pages of a megabyte a second, each some 0.2 s under way."""
PAGES_PER_RANGE = 16
"""A range ends within a page, so more ranges cost more requests; fewer hold more in memory."""
_LOOK_AHEAD = 2 * THREADS
Answer = TypeVar("Answer")


class Pacer:
    """Lets callers pass at an even pace, whatever thread they are in.

    After a refusal it passes half as many, and then gradually more again: others use the quota too.
    """

    def __init__(
        self,
        per_second: float,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._shortest = self._interval = 1 / per_second
        self._clock = clock
        self._sleep = sleep
        self._lock = threading.Lock()
        self._next = 0.0
        self._slowed_at = -math.inf

    def wait(self) -> float:
        """Waits for the caller's turn, and returns its time."""
        with self._lock:
            now = self._clock()
            turn = max(now, self._next)
            self._next = turn + self._interval
            self._interval = max(self._shortest, self._interval * 0.98)
        if turn > now:
            self._sleep(turn - now)
        return turn

    def slow_down(self, turn: float) -> None:
        """Slows down after AWS throttled the request of that turn, unless a later turn has done so."""
        with self._lock:
            if turn <= self._slowed_at:
                return
            now = self._slowed_at = self._clock()
            self._interval = max(self._interval, min(self._interval * 2, 1 / SLOWEST_PER_SECOND))
            self._next = max(self._next, now + 0.5)


class Page(Value):
    """One answer."""

    indices: array[int]
    next_token: str | None
    block_bytes: int
    volume_size_gib: int


class BlockPages:
    """ListSnapshotBlocks of any snapshot."""

    def __init__(self, ebs: EBSClient, pacer: Pacer | None = None) -> None:
        self._ebs = ebs
        self._pacer = pacer or Pacer(REQUESTS_PER_SECOND)

    def first(self, snapshot_id: str, most_blocks: int = PAGE_BLOCKS) -> Page:
        """The first page. Raises SnapshotNotFoundError, SnapshotNotUsableError."""
        return self._page({"SnapshotId": snapshot_id, "MaxResults": most_blocks})

    def onwards(self, snapshot_id: str, start: int) -> Iterator[array[int]]:
        """The indices from block `start` to the snapshot's end, page by page."""
        token: str | None = None
        restarts = 0
        while True:
            try:
                page = self._page(_request(snapshot_id, start, token))
            except SnapshotNotUsableError:
                # ValidationException: only the token can have become invalid since.
                restarts += 1
                if token is None or restarts > RESTARTS_WITHOUT_PROGRESS:
                    raise
                token = None
                continue
            if page.indices:
                start = page.indices[-1] + 1
                restarts = 0
                yield page.indices
            token = page.next_token
            if token is None:
                return

    def _page(self, request: ListSnapshotBlocksRequestTypeDef) -> Page:
        return patiently(self._pacer, lambda: _page(self._ebs.list_snapshot_blocks(**request)))


def patiently(pacer: Pacer, ask: Callable[[], Answer]) -> Answer:
    """Makes a request at the pacer's pace, again and slower if EBS throttles it or is out of order."""
    failed = 0
    while True:
        turn = pacer.wait()
        try:
            with naming_errors():
                return ask()
        except (ThrottledError, ServiceUnavailableError):
            failed += 1
            if failed == ATTEMPTS:
                raise
            pacer.slow_down(turn)


def _request(snapshot_id: str, start: int, token: str | None) -> ListSnapshotBlocksRequestTypeDef:
    request: ListSnapshotBlocksRequestTypeDef = {"SnapshotId": snapshot_id, "MaxResults": PAGE_BLOCKS}
    if token is None:
        request["StartingBlockIndex"] = start
    else:
        request["NextToken"] = token
    return request


def _page(answer: Any) -> Page:
    indices = answer.get(_INDICES)
    if indices is None:
        indices = array("Q", [block["BlockIndex"] for block in answer.get("Blocks", [])])
    return Page(indices, answer.get("NextToken"), answer["BlockSize"], answer["VolumeSize"])


def keep_indices(
    response_dict: dict[str, Any], customized_response_dict: dict[str, Any], **_event: Any
) -> None:
    """For botocore's event `before-parse.ebs.ListSnapshotBlocks`: nothing but the indices is parsed.

    botocore takes 24 ms of CPU time for 10,000 blocks, json 4 ms. At 48 pages a second that is more than a
    processor, or a fifth of one. Errors, and answers of another form, stay botocore's.
    """
    if response_dict["status_code"] != HTTP_OK:
        return
    try:
        body = json.loads(response_dict["body"])
        indices = array("Q", [block["BlockIndex"] for block in body.pop("Blocks", [])])
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError):
        return
    response_dict["body"] = json.dumps(body).encode()
    customized_response_dict[_INDICES] = indices


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
        parts = ranges(start, stop, expected, self._threads)
        # Many ranges at once, but few beyond those already yielded.
        yield from in_order(
            lambda part, ended: self._range(snapshot_id, *part, ended),
            parts,
            threads=self._threads,
            look_ahead=_LOOK_AHEAD,
        )

    def _range(self, snapshot_id: str, start: int, stop: int, ended: threading.Event) -> Runs:
        """The written blocks from `start` up to `stop`, which is not included."""
        found = Runs()
        for indices in self._pages.onwards(snapshot_id, start):
            found.extend(runs_of(_before(indices, stop)))
            if indices[-1] + 1 >= stop or ended.is_set():
                break
        return found


def ranges(start: int, stop: int, expected_blocks: int, threads: int = THREADS) -> Iterator[tuple[int, int]]:
    """Cuts the blocks into ranges: some pages in each if all is written, and enough for every thread."""
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
