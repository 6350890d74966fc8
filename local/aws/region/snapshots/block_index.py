"""EBS direct APIs: ListSnapshotBlocks (botocore ebs; EBS user guide, "Read EBS snapshots")."""

from __future__ import annotations

from local import Json
from local.aws.machines.dataplane import BLOCK_BYTES
from local.aws.region.core import Core, stamp
from local.aws.region.operations import operation
from local.aws.region.snapshots.block_lists import blocks_from
from local.aws.region.snapshots.block_pages import WrittenPage
from local.aws.region.snapshots.direct_access import DirectAccess
from local.aws.region.tables import Tables


class BlockIndex:
    """Which 512 KiB blocks a snapshot holds."""

    def __init__(self, core: Core, tables: Tables) -> None:
        self._access = DirectAccess(core, tables)
        self.requests = 0
        """ListSnapshotBlocks is billed by request."""

    @operation("ebs", "ListSnapshotBlocks")
    def list_snapshot_blocks(self, params: Json) -> Json:
        """Written blocks, ascending; a page may be shorter than asked: only a missing token is the end."""
        access, snapshot = self._access, self._access.readable(params["SnapshotId"])
        first, number = access.page_start(params, snapshot.snapshot_id)
        self.requests += 1
        size = access.page_size(params, number)
        found = blocks_from(snapshot.extents, first, size + 1)
        expires = access.token_expiry()
        token = None
        if len(found) > size:
            token = access.page_token(snapshot.snapshot_id, found[size], number + 1)
        return {
            "Blocks": WrittenPage(snapshot.snapshot_id, found[:size], expires),
            "ExpiryTime": stamp(expires),
            "VolumeSize": snapshot.size_gib,
            "BlockSize": BLOCK_BYTES,
            "NextToken": token,
        }
