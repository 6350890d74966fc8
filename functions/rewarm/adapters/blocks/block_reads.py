"""The port BlockReader: GetSnapshotBlock in many threads, which check and compress each block.

All readers share the pace that EBS allows to a snapshot and to the account. Each takes turns from two items
of the table (see DynamoPace): the snapshot's, 1,000 a second, and the account's, as many as its quota has.
A reader takes the turns of a tenth of a second at once, so a second costs ten writes of each item. If EBS
still throttles, others read without taking turns. Then the share of refused answers says how much slower the
reader becomes; later it becomes faster again step by step.
"""

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
from rewarm.adapters.blocks.side_by_side import in_order
from rewarm.domain.blocks.packs import PackedBlock, block_length
from rewarm.domain.blocks.shards import ChangedBlock, ReadRates
from rewarm.domain.errors import BlockDamagedError, ServiceUnavailableError, ThrottledError
from rewarm.domain.value import Value

if TYPE_CHECKING:
    from mypy_boto3_ebs.client import EBSClient
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from rewarm.adapters.table.holds import DynamoPace
from rewarm.ports.restores import Pace

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

THREADS = 16
"""Each thread opens a connection, which costs as much processor time as ten blocks. Together they read the
50 MiB/s that a function can check and compress if an answer takes up to 160 ms."""
DAMAGED_TRIES, UNAVAILABLE_TRIES, THROTTLED_TRIES = 3, 6, 20
FIRST_PAUSE_SECONDS = 0.2
LEVEL = 1
"""zstd's fastest ordinary level: a function has little more than one processor."""
BY_SNAPSHOT, BY_ACCOUNT = "RequestThrottledException", "ACCOUNT_THROTTLED"
"""EBS direct APIs: a code that is the snapshot's limit unless its reason names the account (botocore ebs,
RequestThrottledExceptionReason). ThrottlingException is the account's."""


def is_of_snapshot(error: ThrottledError) -> bool:
    """Whether the snapshot's limit, not the account's, has refused the request."""
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


class _Reading(Value):
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
        """As `_asked`, again if EBS throttles or is out of order."""
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
        """The bytes with their SHA-256; None in its place if they are damaged."""
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


SHARE = 0.98
"""The share of the limit that is used, because requests sent evenly do not arrive evenly."""
TAKEN_SECONDS = 0.1
FASTER = 0.98
SLOWEST = 50.0


@dataclass(slots=True)
class _Limit:
    """One of the two limits."""

    pace: Pace
    per_second: float
    slower: float = 1.0
    """How many times slower than the limit, because others use it as well."""
    refused: int = 0

    def due(self, calls: int, now: float) -> float:
        due = self.pace.due(round(calls * self.slower), now=datetime.fromtimestamp(now, UTC))
        return due.timestamp()

    def learn(self, answers: int) -> None:
        share = answers / max(1, answers - self.refused) if self.refused else FASTER
        self.slower = min(SLOWEST, max(1.0, self.slower * share))
        self.refused = 0


class BlockPace:
    """The turns of one reader; its threads share them."""

    def __init__(
        self,
        snapshot: Pace,
        account: Pace,
        rates: ReadRates,
        clock: Callable[[], float],
        sleep: Callable[[float], None],
    ) -> None:
        """`clock` gives seconds since the epoch."""
        self._snapshot = _Limit(snapshot, SHARE * rates.snapshot_per_second)
        self._account = _Limit(account, SHARE * rates.account_per_second)
        self._clock = clock
        self._sleep = sleep
        per_second = min(self._snapshot.per_second, self._account.per_second)
        self._taken = max(1, round(per_second * TAKEN_SECONDS))
        self._left = self._answers = 0
        self._next = self._slower_from = 0.0
        self._lock = threading.Lock()

    def turn(self) -> float:
        """When the next request may be made. Raises ThrottledError, ServiceUnavailableError."""
        with self._lock:
            if self._left == 0:
                # Ask for the snapshot's turn from the account's turn on, so turns never overlap.
                due = self._account.due(self._taken, self._clock())
                self._next = self._snapshot.due(self._taken, due)
                self._left = self._taken
            turn = self._next
            self._left -= 1
            self._next += max(pace.slower / pace.per_second for pace in (self._snapshot, self._account))
            return turn

    def wait(self) -> float:
        """Waits until the caller's request may be made, and returns that time."""
        turn = self.turn()
        seconds = turn - self._clock()
        if seconds > 0:
            self._sleep(seconds)
        return turn

    def answered(
        self, turn: float, *, refused_by_snapshot: bool = False, refused_by_account: bool = False
    ) -> None:
        """The request of that turn was answered, or refused by one of the limits."""
        with self._lock:
            if turn < self._slower_from:
                return  # The turn was given before the last change, so its answer says nothing new.
            self._answers += 1
            self._snapshot.refused += refused_by_snapshot
            self._account.refused += refused_by_account
            if self._answers >= self._taken:
                self._snapshot.learn(self._answers)
                self._account.learn(self._answers)
                self._answers = 0
                self._slower_from = self._next


class DynamoBlockPaces:
    """Makes the pace of each reader; all of a stack share the table."""

    def __init__(
        self,
        dynamodb: DynamoDBClient,
        table: str,
        clock: Callable[[], float],
        sleep: Callable[[float], None],
    ) -> None:
        self._dynamodb = dynamodb
        self._table = table
        self._clock = clock
        self._sleep = sleep

    def of(self, region: str, snapshot_id: str, rates: ReadRates) -> BlockPace:
        """The pace of reading a snapshot."""
        snapshot = self._pace(f"blocks#{snapshot_id}", rates.snapshot_per_second)
        account = self._pace(f"blocks#{region}", rates.account_per_second)
        return BlockPace(snapshot, account, rates, self._clock, self._sleep)

    def _pace(self, name: str, per_second: int) -> DynamoPace:
        return DynamoPace(self._dynamodb, self._table, SHARE * per_second, name=name, burst_seconds=0)
