"""EBS direct APIs: ListSnapshotBlocks (botocore ebs; EBS user guide, "Read EBS snapshots")."""

from __future__ import annotations

import base64

from local import Json
from local.aws.machines.dataplane import BLOCK_BYTES
from local.aws.region.core import Core, stamp
from local.aws.region.errors import ApiError
from local.aws.region.operations import operation
from local.aws.region.resources import Snapshot
from local.aws.region.snapshots.block_lists import BlockPage, blocks_from
from local.aws.region.tables import Tables

MAX_PAGE = 10_000


class BlockIndex:
    """Which 512 KiB blocks a snapshot holds."""

    def __init__(self, core: Core, tables: Tables) -> None:
        self._core = core
        self._tables = tables
        self.requests = 0
        """ListSnapshotBlocks is billed by request."""

    @operation("ebs", "ListSnapshotBlocks")
    def list_snapshot_blocks(self, params: Json) -> Json:
        """Written blocks, ascending; a page may be shorter than asked: only a missing token is the end."""
        snapshot = self._readable(params["SnapshotId"])
        settings = self._core.settings.snapshot
        size = min(params.get("MaxResults") or settings.list_blocks_page, MAX_PAGE)
        first, number = self._position(params, snapshot)
        self.requests += 1
        if settings.short_pages:
            size = 0 if number % 3 == 2 else max(1, size // (1 + number % 2))
        found = blocks_from(snapshot.extents, first, size + 1)
        now = self._core.now()
        more = found[size] if len(found) > size else None
        return {
            "Blocks": BlockPage(snapshot.snapshot_id, found[:size]),
            "ExpiryTime": stamp(now + settings.block_token_seconds),
            "VolumeSize": snapshot.size_gib,
            "BlockSize": BLOCK_BYTES,
            "NextToken": None if more is None else self._page_token(snapshot, more, number + 1),
        }

    def _readable(self, snapshot_id: str) -> Snapshot:
        snapshot = self._tables.snapshots.get(snapshot_id)
        if snapshot is None:
            raise ApiError(
                "ResourceNotFoundException",
                f"The snapshot '{snapshot_id}' does not exist.",
                404,
                reason="SNAPSHOT_NOT_FOUND",
            )
        if snapshot.owner_id != self._core.settings.account_id and not snapshot.shared_with_me:
            raise ApiError(
                "AccessDeniedException",
                "The account may not read this snapshot.",
                403,
                reason="UNAUTHORIZED_ACCOUNT",
            )
        if snapshot.state != "completed" or snapshot.storage_tier == "archive":
            raise ApiError(
                "ValidationException",
                f"The snapshot '{snapshot_id}' is not completed in the standard tier.",
                400,
                reason="INVALID_SNAPSHOT_ID",
            )
        return snapshot

    def _position(self, params: Json, snapshot: Snapshot) -> tuple[int, int]:
        """(first block, page number); a NextToken overrides StartingBlockIndex."""
        token = params.get("NextToken")
        if not token:
            return int(params.get("StartingBlockIndex") or 0), 0
        try:
            named, block, number, expires = base64.b64decode(token, validate=True).decode().split(":")
            fits = named == snapshot.snapshot_id and float(expires) >= self._core.now()
        except ValueError:
            fits = False
        if not fits:
            raise ApiError(
                "ValidationException", "The pagination token is not valid.", 400, reason="INVALID_PAGE_TOKEN"
            )
        return int(block), int(number)

    def _page_token(self, snapshot: Snapshot, block: int, number: int) -> str:
        expires = self._core.now() + self._core.settings.snapshot.page_token_seconds
        return base64.b64encode(f"{snapshot.snapshot_id}:{block}:{number}:{expires:.0f}".encode()).decode()
