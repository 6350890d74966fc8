"""What all EBS direct APIs that read have in common: which snapshots, and tokens of pages.

botocore ebs; EBS user guide, "Read Amazon EBS snapshots with EBS direct APIs".
"""

from __future__ import annotations

import base64

from local import Json
from local.aws.region.core import Core
from local.aws.region.errors import ApiError
from local.aws.region.resources import Snapshot
from local.aws.region.tables import Tables

MAX_PAGE = 10_000


class DirectAccess:
    """Snapshots that may be read, and pages of their blocks."""

    def __init__(self, core: Core, tables: Tables) -> None:
        self._core = core
        self._tables = tables

    def readable(self, snapshot_id: str) -> Snapshot:
        """A completed snapshot of this account, or shared with it, in the standard tier. Raises ApiError."""
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
            raise refused(
                f"The snapshot '{snapshot_id}' is not completed in the standard tier.", "INVALID_SNAPSHOT_ID"
            )
        if snapshot.is_local:
            raise refused(f"The snapshot '{snapshot_id}' is not in the Region.", "INVALID_SNAPSHOT_ID")
        return snapshot

    def page_start(self, params: Json, listed: str) -> tuple[int, int]:
        """(first block, page number) of a list's page; a NextToken overrides StartingBlockIndex."""
        token = params.get("NextToken")
        if not token:
            return int(params.get("StartingBlockIndex") or 0), 0
        try:
            named, block, number, expires = base64.b64decode(token, validate=True).decode().split(":")
            fits = named == listed and float(expires) >= self._core.now()
        except ValueError:
            fits = False
        if not fits:
            raise refused("The pagination token is not valid.", "INVALID_PAGE_TOKEN")
        return int(block), int(number)

    def page_size(self, params: Json, number: int) -> int:
        """How many blocks the page has at most; some have fewer than asked for, or none."""
        settings = self._core.settings.snapshot
        size = min(params.get("MaxResults") or settings.list_blocks_page, MAX_PAGE)
        if not settings.short_pages:
            return size
        return 0 if number % 3 == 2 else max(1, size // (1 + number % 2))

    def page_token(self, listed: str, block: int, number: int) -> str:
        """The token of a list's page that begins with this block."""
        expires = self._core.now() + self._core.settings.snapshot.page_token_seconds
        return base64.b64encode(f"{listed}:{block}:{number}:{expires:.0f}".encode()).decode()

    def token_expiry(self) -> int:
        """When block tokens that are given out now expire."""
        return int(self._core.now() + self._core.settings.snapshot.block_token_seconds)


def refused(message: str, reason: str) -> ApiError:
    """A request that EBS direct APIs do not accept."""
    return ApiError("ValidationException", message, 400, reason=reason)
