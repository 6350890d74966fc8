"""Which restores: mixed sizes and strategies, the same for the same seed."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from rewarm.domain.model import Strategy

BLOCKS_PER_GIB = 2_048
SHARES: Mapping[Strategy, int] = MappingProxyType(
    {
        Strategy.WARM_UP_AGENT: 9,
        Strategy.PROVISIONED_RATE: 9,
        Strategy.FAST_SNAPSHOT_RESTORE: 5,
        Strategy.BACKGROUND: 4,
        Strategy.BOOSTED_WARM_UP: 3,
    }
)
"""Of 30. `volume-clone` is not among them: it copies the volume as it is now, and `auto` never takes it."""
SIZES_GIB: Mapping[Strategy, tuple[int, int]] = MappingProxyType(
    {
        Strategy.WARM_UP_AGENT: (4, 24),
        Strategy.PROVISIONED_RATE: (20, 2_000),
        Strategy.FAST_SNAPSHOT_RESTORE: (50, 2_000),
        Strategy.BACKGROUND: (10, 100),
        Strategy.BOOSTED_WARM_UP: (4, 16),
    }
)
"""What only waits for AWS is skipped ahead, so it has sizes as they are met. The agent's reads are real and
take as long as they take, so its volumes are small: there the minute in which CloudWatch tells of quiet,
which nobody can foresee, is a good part of the whole."""
HAVE_A_SETTING = frozenset({Strategy.PROVISIONED_RATE, Strategy.BOOSTED_WARM_UP})
WRITTEN_SHARES = (0.2, 0.6)
MOST_READ_GIB = 6


@dataclass(frozen=True, slots=True)
class Case:
    """One restore: a snapshot of this size with this much written, brought to full speed in this way."""

    number: int
    strategy: Strategy
    size_gib: int
    written_gib: int
    is_hurried: bool = False
    """Asked for within a minute, so that the highest rate or boost is taken; else it is the lowest."""

    @property
    def extents(self) -> list[tuple[int, int]]:
        """The written blocks in runs with gaps between them, as a file system leaves them."""
        runs, length = 8, self.written_gib * BLOCKS_PER_GIB // 8
        step = self.size_gib * BLOCKS_PER_GIB // runs
        return [(run * step, length) for run in range(runs)]


def cases(count: int, seed: int) -> list[Case]:
    """In an order drawn from the seed; each strategy has its share of any 30 in a row."""
    chance = random.Random(seed)
    found: list[Case] = []
    while len(found) < count:
        deck = [strategy for strategy, share in SHARES.items() for _ in range(share)]
        chance.shuffle(deck)
        found += [_case(len(found) + number, strategy, chance) for number, strategy in enumerate(deck, 1)]
    return found[:count]


def _case(number: int, strategy: Strategy, chance: random.Random) -> Case:
    low, high = SIZES_GIB[strategy]
    size = round(low * (high / low) ** chance.random())
    written = max(1, round(size * chance.uniform(*WRITTEN_SHARES)))
    if strategy.reads_with_agent:
        written = min(written, MOST_READ_GIB)
    return Case(number, strategy, size, written, strategy in HAVE_A_SETTING and chance.random() < 0.5)
