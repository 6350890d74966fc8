"""EBS direct APIs: ListChangedBlocks and GetSnapshotBlock, with the snapshots' real bytes.

botocore ebs; EBS user guide, "Read Amazon EBS snapshots with EBS direct APIs" and its "Frequently asked
questions". Blocks are read without the Region's lock.
"""

from __future__ import annotations

import base64
import hashlib
import random
from collections.abc import Callable
from typing import Any, TypeVar

from local import Json
from local.aws.machines.dataplane import BLOCK_BYTES
from local.aws.region.core import Core, stamp
from local.aws.region.errors import ApiError
from local.aws.region.faults import Faults
from local.aws.region.operations import operation
from local.aws.region.resources import Snapshot
from local.aws.region.settings import GIB_BYTES
from local.aws.region.snapshots.block_lists import has_block
from local.aws.region.snapshots.block_pages import ChangedPage, token_fits
from local.aws.region.snapshots.contents import candidates, differs, read_block
from local.aws.region.snapshots.direct_access import DirectAccess, refused
from local.aws.region.tables import Tables

T = TypeVar("T")
Pause = Callable[[float], object]
"""Waits for so many seconds of lab time."""


class BlockReads:
    """What differs between two snapshots, and what a block holds."""

    def __init__(self, core: Core, tables: Tables, faults: Faults, pause: Pause) -> None:
        self._core = core
        self._faults = faults
        self._access = DirectAccess(core, tables)
        self._pause = pause
        self.requests = {"ListChangedBlocks": 0, "GetSnapshotBlock": 0}
        """What was answered: both are billed by request."""

    @operation("ebs", "ListChangedBlocks")
    def list_changed_blocks(self, params: Json) -> Json:
        """Blocks that differ, ascending.

        A page looks at a limited number of blocks, so it may be empty: only a missing token is the end.
        """
        settings = self._core.settings.snapshot
        with self._core.transaction():
            first, second = self._related(params)
            listed = f"{first.snapshot_id}/{second.snapshot_id}"
            start, number = self._access.page_start(params, listed)
            size, expires = self._access.page_size(params, number), self._access.token_expiry()
            self.requests["ListChangedBlocks"] += 1
        images = first.image, second.image
        found: list[tuple[int, bool, bool]] = []
        following = None
        for looked_at, block in enumerate(candidates(*images, start)):
            if len(found) == size or looked_at == settings.changed_scan_blocks:
                following = self._access.page_token(listed, block, number + 1)
                break
            if _reading(differs, *images, block):
                found.append((block, has_block(first.extents, block), self._has_second(second, block)))
        return {
            "ChangedBlocks": ChangedPage((first.snapshot_id, second.snapshot_id), found, expires),
            "ExpiryTime": stamp(expires),
            "VolumeSize": second.size_gib,
            "BlockSize": BLOCK_BYTES,
            "NextToken": following,
        }

    @operation("ebs", "GetSnapshotBlock")
    def get_snapshot_block(self, params: Json) -> Json:
        """The block's bytes, with their checksum."""
        index = params["BlockIndex"]
        with self._core.transaction():
            snapshot = self._access.readable(params["SnapshotId"])
            self._check(snapshot, index, params["BlockToken"])
            self.requests["GetSnapshotBlock"] += 1
        seconds = self._latency_seconds(snapshot, index)
        if seconds:
            self._pause(seconds)
        data = _reading(read_block, snapshot.image, index)
        checksum = base64.b64encode(hashlib.sha256(data).digest()).decode()
        if self._faults.take("block:data", params, effects=("corrupt",)) is not None:
            data = bytes([data[0] ^ 1]) + data[1:]
        return {
            "DataLength": len(data),
            "BlockData": data,
            "Checksum": checksum,
            "ChecksumAlgorithm": "SHA256",
        }

    def _related(self, params: Json) -> tuple[Snapshot, Snapshot]:
        """Both snapshots, if they may be compared."""
        if not params.get("FirstSnapshotId"):
            raise refused("FirstSnapshotId must be specified.", "INVALID_PARAMETER_VALUE")
        first = self._access.readable(params["FirstSnapshotId"])
        second = self._access.readable(params["SecondSnapshotId"])
        if first.lineage != second.lineage:
            raise refused(
                f"The snapshots '{first.snapshot_id}' and '{second.snapshot_id}' are not related.",
                "UNRELATED_SNAPSHOTS",
            )
        return first, second

    def _check(self, snapshot: Snapshot, index: int, token: str) -> None:
        if not 0 <= index * BLOCK_BYTES < snapshot.size_gib * GIB_BYTES:
            raise refused(f"The block {index} is outside the volume.", "INVALID_BLOCK")
        fits = token_fits(token, snapshot.snapshot_id, index, self._core.now())
        if not fits or not has_block(snapshot.extents, index):
            raise refused("The block token is not valid.", "INVALID_BLOCK_TOKEN")

    def _has_second(self, second: Snapshot, block: int) -> bool:
        """Whether the second snapshot's token is listed: it is not where the block is gone, or by chance."""
        chance = self._core.settings.snapshot.second_token_absent
        drawn = _drawn(second.snapshot_id, block) if chance else 1.0
        return has_block(second.extents, block) and drawn >= chance

    def _latency_seconds(self, snapshot: Snapshot, block: int) -> float:
        least, most = self._core.settings.snapshot.get_block_seconds
        return least + (most - least) * _drawn(snapshot.snapshot_id, block)


def _drawn(snapshot_id: str, block: int) -> float:
    """0 to 1, always the same for one block."""
    return random.Random(f"{snapshot_id}/{block}").random()


def _reading(read: Callable[..., T], *args: Any) -> T:
    """A snapshot may be deleted while it is read."""
    try:
        return read(*args)
    except FileNotFoundError as error:
        raise ApiError(
            "ResourceNotFoundException", "The snapshot does not exist.", 404, reason="SNAPSHOT_NOT_FOUND"
        ) from error
