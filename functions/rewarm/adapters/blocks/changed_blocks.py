"""The ports SnapshotBlocks and BlockLists: lists with tokens, at the quota's pace and past an expired page.

A long list is read in ranges of the volume, several at once, each with its own chain of pages. They are
passed on in order and forgotten: a block with its token takes some 200 bytes, and there may be 134 million.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from rewarm.adapters.aws_errors import naming_errors
from rewarm.adapters.blocks.side_by_side import in_order
from rewarm.adapters.blocks.snapshot_blocks import (
    PAGE_BLOCKS,
    REQUESTS_PER_SECOND,
    RESTARTS_WITHOUT_PROGRESS,
    SMALLEST_PAGE_BLOCKS,
    Pacer,
    patiently,
)
from rewarm.domain.blocks.shards import ChangedBlock, ChangedPage, ListedRange, ReadRates
from rewarm.domain.errors import RestoreError, SnapshotNotUsableError
from rewarm.domain.model import BLOCK_BYTES

if TYPE_CHECKING:
    from mypy_boto3_ebs.client import EBSClient
    from mypy_boto3_service_quotas.client import ServiceQuotasClient

LOG = logging.getLogger(__name__)
THREADS = 8
RANGE_BLOCKS = 4 * PAGE_BLOCKS
_LOOK_AHEAD = 2 * THREADS
_SNAPSHOT_QUOTA, _ACCOUNT_QUOTA = "L-028ACFB9", "L-C125AE42"
"""GetSnapshotBlock requests per snapshot, and per account (EBS user guide, quotas)."""
Ask = Callable[[dict[str, Any]], Any]


class EbsSnapshotBlocks:
    """The port SnapshotBlocks. The quota is that of ListSnapshotBlocks, 50 requests a second (EBS quotas)."""

    def __init__(self, ebs: EBSClient, pacer: Pacer | None = None) -> None:
        self._ebs = ebs
        self._pacer = pacer or Pacer(REQUESTS_PER_SECOND)

    def changed(
        self, first_snapshot_id: str, second_snapshot_id: str, *, start_block: int = 0
    ) -> Iterator[ChangedPage]:
        snapshots: Any = {"FirstSnapshotId": first_snapshot_id, "SecondSnapshotId": second_snapshot_id}
        return self._pages(lambda page: self._ebs.list_changed_blocks(**snapshots, **page), start_block)

    def written(
        self, snapshot_id: str, *, start_block: int = 0, page_blocks: int = PAGE_BLOCKS
    ) -> Iterator[ChangedPage]:
        """As `changed`, for all blocks that the snapshot has."""
        return self._pages(
            lambda page: self._ebs.list_snapshot_blocks(SnapshotId=snapshot_id, **page),
            start_block,
            page_blocks,
        )

    def _pages(self, ask: Ask, start_block: int, page_blocks: int = PAGE_BLOCKS) -> Iterator[ChangedPage]:
        token: str | None = None
        restarts = 0
        while True:
            place: dict[str, Any] = (
                {"StartingBlockIndex": start_block} if token is None else {"NextToken": token}
            )
            request = {"MaxResults": page_blocks, **place}
            try:
                answer = patiently(self._pacer, lambda request=request: ask(request))  # type: ignore[misc]
            except SnapshotNotUsableError:
                # ValidationException: only the token can have become invalid since.
                restarts += 1
                if token is None or restarts > RESTARTS_WITHOUT_PROGRESS:
                    raise
                token = None
                continue
            token = answer.get("NextToken")
            blocks = _blocks(answer)
            if blocks:
                start_block = blocks[-1].index + 1
                restarts = 0
            yield ChangedPage(blocks, is_last=token is None)
            if token is None:
                return


class EbsBlockLists:
    """The port BlockLists."""

    def __init__(
        self,
        ebs: Callable[[str], EBSClient],
        quotas: Callable[[str], ServiceQuotasClient],
        pacer: Pacer | None = None,
    ) -> None:
        """`ebs` and `quotas` make the clients of a Region."""
        self._ebs = ebs
        self._quotas = quotas
        self._pacer = pacer or Pacer(REQUESTS_PER_SECOND)

    def listed(
        self, snapshot_id: str, *, against: str | None, volume_bytes: int, region: str, start_block: int = 0
    ) -> Iterator[ListedRange]:
        blocks = EbsSnapshotBlocks(self._ebs(region), self._pacer)

        def read(start: int, ended: threading.Event) -> ListedRange:
            if against is None:
                pages = blocks.written(snapshot_id, start_block=start)
            else:
                pages = blocks.changed(snapshot_id, against, start_block=start)
            return _read(pages, start + RANGE_BLOCKS, ended)

        starts = range(start_block, -(-volume_bytes // BLOCK_BYTES), RANGE_BLOCKS)
        return in_order(read, starts, threads=THREADS, look_ahead=_LOOK_AHEAD)

    def some(
        self, snapshot_id: str, start_blocks: Iterable[int], *, region: str
    ) -> Iterator[list[ChangedBlock]]:
        blocks = EbsSnapshotBlocks(self._ebs(region), self._pacer)

        def first(start: int, _ended: threading.Event) -> list[ChangedBlock]:
            pages = blocks.written(snapshot_id, start_block=start, page_blocks=SMALLEST_PAGE_BLOCKS)
            return next(pages).blocks

        return in_order(first, start_blocks, threads=THREADS, look_ahead=_LOOK_AHEAD)

    def rates(self, region: str) -> ReadRates:
        usual = ReadRates()
        quotas = self._quotas(region)
        return ReadRates(
            _quota(quotas, _SNAPSHOT_QUOTA, usual.snapshot_per_second),
            _quota(quotas, _ACCOUNT_QUOTA, usual.account_per_second),
        )


def _quota(quotas: ServiceQuotasClient, code: str, usual: int) -> int:
    """A copy never fails because a quota could not be read: its pace adapts to EBS's refusals."""
    try:
        with naming_errors():
            return int(quotas.get_service_quota(ServiceCode="ebs", QuotaCode=code)["Quota"]["Value"])
    except (RestoreError, KeyError) as error:
        LOG.warning("quota %s could not be read, %d is assumed: %s", code, usual, error)
        return usual


def _read(pages: Iterator[ChangedPage], stop: int, ended: threading.Event) -> ListedRange:
    """The blocks up to `stop`, which is not included."""
    found: list[ChangedBlock] = []
    requests = 0
    for page in pages:
        requests += 1
        found += [block for block in page.blocks if block.index < stop]
        if ended.is_set() or (page.blocks and page.blocks[-1].index + 1 >= stop):
            break
    return ListedRange(found, requests)


def _blocks(answer: Any) -> list[ChangedBlock]:
    """Blocks of either list; a block of ListSnapshotBlocks has no second token."""
    if "Blocks" in answer:
        return [ChangedBlock(block["BlockIndex"], block["BlockToken"], None) for block in answer["Blocks"]]
    return [
        ChangedBlock(block["BlockIndex"], block.get("FirstBlockToken"), block.get("SecondBlockToken"))
        for block in answer.get("ChangedBlocks", [])
    ]
