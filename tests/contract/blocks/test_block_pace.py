"""GetSnapshotBlock at the allowed pace: many readers in virtual time, and an EBS that throttles."""

from __future__ import annotations

import heapq
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest

from rewarm.adapters.blocks.block_reads import SHARE, TAKEN_SECONDS, BlockPace, DynamoBlockPaces
from rewarm.domain.blocks.shards import ReadRates

LATENCY_SECONDS, READERS, THREADS = 0.05, 4, 64
BEGIN = 1_800_000_000.0


@dataclass
class Bucket:
    """A limit of EBS: a token bucket that holds a tenth of a second's requests."""

    per_second: float
    tokens: float = 0.0
    at: float = BEGIN

    def takes(self, now: float) -> bool:
        most = self.per_second / 10
        self.tokens = min(most, self.tokens + (now - self.at) * self.per_second)
        self.at = now
        if self.tokens < 1:
            return False
        self.tokens -= 1
        return True


@dataclass
class Ebs:
    """Answers, counted."""

    account: Bucket
    snapshots: dict[int, Bucket]
    answered_of: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    refused: int = 0

    @property
    def answered(self) -> int:
        return sum(self.answered_of.values())

    def get(self, snapshot: int, now: float) -> str | None:
        """Which limit refuses the request; None where it is answered."""
        if not self.snapshots[snapshot].takes(now):
            self.refused += 1
            return "snapshot"
        if not self.account.takes(now):
            self.refused += 1
            return "account"
        self.answered_of[snapshot] += 1
        return None


@dataclass
class Clock:
    """Virtual time."""

    now: float = BEGIN
    agenda: list[tuple[float, int, Any]] = field(default_factory=list)
    count: int = 0

    def at(self, due: float, work: Any) -> None:
        self.count += 1
        heapq.heappush(self.agenda, (max(due, self.now), self.count, work))

    def run(self, until: float) -> None:
        while self.agenda and self.agenda[0][0] < until:
            self.now, _, work = heapq.heappop(self.agenda)
            work()


@dataclass
class Turns:
    """The port Pace, as DynamoPace keeps it."""

    per_second: float
    until: float = BEGIN

    def due(self, calls: int, *, now: datetime) -> datetime:
        begin = max(self.until, now.timestamp())
        self.until = begin + calls / self.per_second
        return datetime.fromtimestamp(begin, UTC)


def thread(clock: Clock, ebs: Ebs, pace: BlockPace, snapshot: int) -> None:
    """One thread of a reader, which asks for one block after the other."""

    def ask() -> None:
        turn = pace.turn()
        clock.at(turn, lambda: send(turn))

    def send(turn: float) -> None:
        refused = ebs.get(snapshot, clock.now)
        clock.at(clock.now + LATENCY_SECONDS, lambda: hear(turn, refused))

    def hear(turn: float, refused: str | None) -> None:
        by = {} if refused is None else {f"refused_by_{refused}": True}
        pace.answered(turn, **by)
        ask()

    ask()


def read(rates: ReadRates, allowed: ReadRates, snapshots: int, seconds: float) -> Ebs:
    """What EBS has answered to the readers of so many snapshots."""
    clock = Clock()
    account = Turns(SHARE * rates.account_per_second)
    ebs = Ebs(
        Bucket(allowed.account_per_second),
        {one: Bucket(allowed.snapshot_per_second) for one in range(snapshots)},
    )
    for snapshot in range(snapshots):
        turns = Turns(SHARE * rates.snapshot_per_second)
        for _ in range(READERS):
            pace = BlockPace(turns, account, rates, lambda: clock.now, lambda _seconds: None)
            for _ in range(THREADS):
                clock.at(BEGIN, lambda pace=pace, snapshot=snapshot: thread(clock, ebs, pace, snapshot))
    clock.run(BEGIN + seconds)
    return ebs


@pytest.mark.parametrize("account", [1_000, 5_000])
@pytest.mark.parametrize("snapshots", [1, 4, 16])
def test_readers_hold_the_allowed_rate_and_ask_for_hardly_a_block_twice(snapshots: int, account: int) -> None:
    rates, seconds = ReadRates(1_000, account), 5
    ebs = read(rates, rates, snapshots, seconds)
    allowed = min(account, 1_000 * snapshots) * seconds
    assert 0.95 * allowed <= ebs.answered <= allowed * 1.02
    assert (ebs.answered + ebs.refused) / ebs.answered <= 1.05
    shares = ebs.answered_of.values()
    assert max(shares) - min(shares) <= READERS * TAKEN_SECONDS * 1_000, "each snapshot has its share"


@pytest.mark.parametrize(
    "allowed", [ReadRates(500, 1_000), ReadRates(1_000, 500)], ids=["snapshot", "account"]
)
def test_what_others_use_is_learned_from_refusals(allowed: ReadRates) -> None:
    ebs = read(ReadRates(1_000, 1_000), allowed, 1, 30)
    assert ebs.answered >= 0.95 * 500 * 30
    assert (ebs.answered + ebs.refused) / ebs.answered <= 1.05


def test_readers_share_the_turns_in_the_table(dynamodb: Any) -> None:
    def paces() -> DynamoBlockPaces:
        return DynamoBlockPaces(dynamodb, "restores", lambda: BEGIN, lambda _seconds: None)

    turns = defaultdict(list)
    for snapshot_id in ("snap-1", "snap-2", "snap-1"):
        pace = paces().of("us-east-1", snapshot_id, ReadRates(1_000, 5_000))
        turns[snapshot_id] += [pace.turn() - BEGIN for _ in range(98)]
    first, second = turns["snap-1"], turns["snap-2"]
    assert first[98] == pytest.approx(0.1), "after those of the first reader"
    assert second[0] == pytest.approx(0.02), "the account has 5,000 a second"
    assert first == sorted(first)
