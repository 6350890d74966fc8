"""The port BlockReader: GetSnapshotBlock in many threads, which check and compress each block."""

from __future__ import annotations

import base64
import hashlib
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import zstandard
from botocore.exceptions import ClientError, IncompleteReadError

from rewarm.adapters.aws_errors import code_of, naming_errors
from rewarm.adapters.block_pace import BlockPace, DynamoBlockPaces
from rewarm.adapters.side_by_side import in_order
from rewarm.domain.blocks.changed import ChangedBlock
from rewarm.domain.blocks.packs import PackedBlock, block_length
from rewarm.domain.blocks.shards import ReadRates
from rewarm.domain.errors import BlockDamagedError, ServiceUnavailableError, ThrottledError

if TYPE_CHECKING:
    from mypy_boto3_ebs.client import EBSClient

THREADS = 16
"""Each has a connection, whose beginning costs as much processor time as ten blocks. Together they read the
50 MiB/s that a function can check and compress where an answer takes up to 160 ms."""
DAMAGED_TRIES, UNAVAILABLE_TRIES, THROTTLED_TRIES = 3, 6, 20
FIRST_PAUSE_SECONDS = 0.2
LEVEL = 1
"""zstd's fastest ordinary level: a function has little more than one processor."""
BY_SNAPSHOT, BY_ACCOUNT = "RequestThrottledException", "ACCOUNT_THROTTLED"
"""EBS direct APIs: a code that is the snapshot's limit unless its reason names the account (botocore ebs,
RequestThrottledExceptionReason). ThrottlingException is the account's."""


def is_of_snapshot(error: ThrottledError) -> bool:
    """Whether the snapshot's limit has refused the request, and not the account's."""
    cause = error.__cause__
    if not isinstance(cause, ClientError) or code_of(cause) != BY_SNAPSHOT:
        return False
    return bool(cause.response.get("Reason") != BY_ACCOUNT)


class EbsBlockReader:
    """The port BlockReader."""

    def __init__(
        self, ebs: Callable[[str], EBSClient], paces: DynamoBlockPaces, sleep: Callable[[float], None]
    ) -> None:
        """`ebs` makes the client of a Region, with a connection for each thread."""
        self._ebs = ebs
        self._paces = paces
        self._sleep = sleep

    def read(
        self,
        snapshot_id: str,
        blocks: Sequence[ChangedBlock],
        *,
        volume_bytes: int,
        region: str,
        rates: ReadRates,
    ) -> Iterator[PackedBlock]:
        pace = self._paces.of(region, snapshot_id, rates)
        reading = _Reading(self._ebs(region), pace, snapshot_id, volume_bytes, self._sleep)
        return in_order(reading.packed, blocks, threads=THREADS, look_ahead=2 * THREADS)


@dataclass(frozen=True, slots=True)
class _Reading:
    """One snapshot that is read."""

    ebs: EBSClient
    pace: BlockPace
    snapshot_id: str
    volume_bytes: int
    sleep: Callable[[float], None]

    def packed(self, block: ChangedBlock, ended: threading.Event) -> PackedBlock:
        """Raises as BlockReader.read."""
        for _ in range(DAMAGED_TRIES):
            data, sha256 = self._patiently(block, ended)
            if sha256 is not None:
                return self._whole(block.index, data, sha256)
        raise BlockDamagedError(
            f"block {block.index} of {self.snapshot_id} came {DAMAGED_TRIES} times with "
            "bytes of another SHA-256"
        )

    def _whole(self, index: int, data: bytes, sha256: bytes) -> PackedBlock:
        """EBS may hand out a shorter block; the rest of it is zeros."""
        length = block_length(index, self.volume_bytes)
        if len(data) != length:
            data = data[:length].ljust(length, b"\0")
            sha256 = hashlib.sha256(data).digest()
        frame = zstandard.ZstdCompressor(level=LEVEL).compress(data)
        return PackedBlock(index, length, sha256.hex(), frame)

    def _patiently(self, block: ChangedBlock, ended: threading.Event) -> tuple[bytes, bytes | None]:
        """As `_asked`, again where EBS throttles or is out of order."""
        throttled = unavailable = 0
        while True:
            turn = self.pace.wait()
            try:
                answer = self._asked(block)
            except ThrottledError as error:
                by_snapshot = is_of_snapshot(error)
                self.pace.answered(turn, refused_by_snapshot=by_snapshot, refused_by_account=not by_snapshot)
                throttled += 1
                if throttled == THROTTLED_TRIES or ended.is_set():
                    raise
            except ServiceUnavailableError:
                unavailable += 1
                if unavailable == UNAVAILABLE_TRIES or ended.is_set():
                    raise
                self.sleep(FIRST_PAUSE_SECONDS * 2 ** (unavailable - 1))
            else:
                self.pace.answered(turn)
                return answer

    def _asked(self, block: ChangedBlock) -> tuple[bytes, bytes | None]:
        """The bytes with their SHA-256; None in its place where they are damaged."""
        with naming_errors():
            answer = self.ebs.get_snapshot_block(
                SnapshotId=self.snapshot_id, BlockIndex=block.index, BlockToken=block.first_token or ""
            )
            try:
                data = answer["BlockData"].read()
            except IncompleteReadError as error:
                raise ServiceUnavailableError(f"block {block.index} was cut off: {error}") from error
        sha256 = hashlib.sha256(data).digest()
        found = len(data), base64.b64encode(sha256).decode()
        return data, sha256 if found == (answer["DataLength"], answer["Checksum"]) else None
