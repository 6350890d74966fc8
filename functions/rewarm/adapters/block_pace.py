"""GetSnapshotBlock at the pace that EBS allows to a snapshot and to the account, shared by all who read.

Each takes turns from two items of the table (see DynamoPace): the snapshot's, 1,000 a second, and the
account's, as many as its quota has. A tenth of a second's turns are taken at once, so that a second costs ten
writes of each. Where EBS throttles all the same, others read as well, who take no turns. Of so many answers,
the share that was refused says by how much a reader is to be slower; then it becomes faster again bit by bit.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from rewarm.adapters.holds import DynamoPace
from rewarm.domain.blocks.shards import ReadRates
from rewarm.ports.holds import Pace

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

SHARE = 0.98
"""Of what is allowed: requests that were sent evenly do not arrive evenly."""
TAKEN_SECONDS = 0.1
FASTER = 0.98
SLOWEST = 50.0


@dataclass(slots=True)
class _Limit:
    """One of the two limits."""

    pace: Pace
    per_second: float
    slower: float = 1.0
    """By so much, because others use the limit as well."""
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
                # The snapshot's turn begins when the account's has come: only so none of them overlap.
                due = self._account.due(self._taken, self._clock())
                self._next = self._snapshot.due(self._taken, due)
                self._left = self._taken
            turn = self._next
            self._left -= 1
            self._next += max(one.slower / one.per_second for one in (self._snapshot, self._account))
            return turn

    def wait(self) -> float:
        """Returns when it is the caller's turn, and says when that was."""
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
                return  # It was given before the last change, and so tells nothing new.
            self._answers += 1
            self._snapshot.refused += refused_by_snapshot
            self._account.refused += refused_by_account
            if self._answers >= self._taken:
                self._snapshot.learn(self._answers)
                self._account.learn(self._answers)
                self._answers, self._slower_from = 0, self._next


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
