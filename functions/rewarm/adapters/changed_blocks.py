"""The port SnapshotBlocks: ListChangedBlocks, page by page, at the quota's pace and past an expired token."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rewarm.adapters.snapshot_blocks import (
    PAGE_BLOCKS,
    REQUESTS_PER_SECOND,
    RESTARTS_WITHOUT_PROGRESS,
    Pacer,
    patiently,
)
from rewarm.domain.blocks.changed import ChangedBlock, ChangedPage
from rewarm.domain.errors import SnapshotNotUsableError

if TYPE_CHECKING:
    from mypy_boto3_ebs.client import EBSClient
    from mypy_boto3_ebs.type_defs import ListChangedBlocksRequestTypeDef, ListChangedBlocksResponseTypeDef


class EbsSnapshotBlocks:
    """The port SnapshotBlocks. The quota is that of ListSnapshotBlocks, 50 requests a second (EBS quotas)."""

    def __init__(self, ebs: EBSClient, pacer: Pacer | None = None) -> None:
        self._ebs = ebs
        self._pacer = pacer or Pacer(REQUESTS_PER_SECOND)

    def changed(
        self, first_snapshot_id: str, second_snapshot_id: str, *, start_block: int = 0
    ) -> Iterator[ChangedPage]:
        token: str | None = None
        restarts = 0
        while True:
            request: ListChangedBlocksRequestTypeDef = {
                "FirstSnapshotId": first_snapshot_id,
                "SecondSnapshotId": second_snapshot_id,
                "MaxResults": PAGE_BLOCKS,
            }
            if token is None:
                request["StartingBlockIndex"] = start_block
            else:
                request["NextToken"] = token
            try:
                answer = self._asked(request)
            except SnapshotNotUsableError:
                # ValidationException: of what we sent, only the token can have become invalid meanwhile.
                restarts += 1
                if token is None or restarts > RESTARTS_WITHOUT_PROGRESS:
                    raise
                token = None
                continue
            token = answer.get("NextToken")
            blocks = _blocks(answer)
            if blocks:
                start_block, restarts = blocks[-1].index + 1, 0
            yield ChangedPage(blocks, is_last=token is None)
            if token is None:
                return

    def _asked(self, request: ListChangedBlocksRequestTypeDef) -> ListChangedBlocksResponseTypeDef:
        return patiently(self._pacer, lambda: self._ebs.list_changed_blocks(**request))


def _blocks(answer: ListChangedBlocksResponseTypeDef) -> list[ChangedBlock]:
    return [
        ChangedBlock(block["BlockIndex"], block.get("FirstBlockToken"), block.get("SecondBlockToken"))
        for block in answer.get("ChangedBlocks", [])
    ]
