"""The volumes of a search in plain numbers: what each could take, with prices, loads and limits."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence

from rewarm.domain.model import MIB
from rewarm.domain.plan import cost
from rewarm.domain.plan.estimates import LONGEST_RESTORE_SECONDS
from rewarm.domain.plan.estimators import promised_writing_mib_s
from rewarm.domain.plan.many.instance import Task
from rewarm.domain.plan.mixes import Mixes, PricedVolume, SharedResource
from rewarm.domain.plan.warm_up import promised_rates
from rewarm.domain.time.measured import Phase

UNSERVED_TIMES, UNSERVED_USD = 20, 10.0
"""A volume without a resource costs this many times all others, plus this in USD, so it is served first."""
Place = tuple[str, str]


class Model:
    """Some volumes of a restore, by their places in it."""

    def __init__(self, mixes: Mixes, indices: Iterable[int], penalty: float) -> None:
        self.mixes = mixes
        self.indices = list(indices)
        self.otherwise: dict[int, float] = {}
        """US dollars without instance and fast snapshot restore, with the penalty for a rate."""
        self.held: dict[int, float] = {}
        """MiB that a volume takes of the Region's quota of rate in that case, times the seconds."""
        self.agent: dict[int, Task] = {}
        self.write: dict[int, Task] = {}
        self.most_fast: dict[int, int] = {}
        """How many volumes of its snapshot can have fast snapshot restore with this one still in time."""
        self.instances: dict[str, list[int]] = {}
        self.snapshots: dict[str, list[int]] = {}
        self.places: dict[Place, list[int]] = {}
        volumes = mixes.volumes
        sizes = Counter(volumes[index].place for index in self.indices)
        known: dict[tuple[int, float], int] = {}
        for index in self.indices:
            volume = volumes[index]
            self._take(index, volume, penalty)
            if SharedResource.FAST in volume.solo:
                key = (id(volume.facts), volume.limit)
                if key not in known:
                    known[key] = _most_fast(volume, sizes[volume.place])
                self.most_fast[index] = known[key]
                self.places.setdefault(volume.place, []).append(index)
        self.blocks_usd = {
            name: float(cost.total(cost.blocks(first.facts.written_blocks, first.options.book)))
            for name, members in self.snapshots.items()
            if any(index in self.write for index in members)
            for first in [volumes[members[0]]]
        }
        self.fast_usd = {place: self._fast_prices(members) for place, members in self.places.items()}
        paid_once = sum(self.blocks_usd.values()) + sum(prices[-1] for prices in self.fast_usd.values())
        self.unserved = UNSERVED_USD + UNSERVED_TIMES * (sum(self.otherwise.values()) + paid_once)
        for index in self.indices:
            self.otherwise.setdefault(index, self.unserved)

    def _fast_prices(self, members: Sequence[int]) -> list[float]:
        """USD by the number of volumes, with the earliest end that any of them could have."""
        volumes = self.mixes.volumes
        firsts = {id(volumes[index].options): index for index in members}
        found = []
        for count in range(1, max(self.most_fast[index] for index in members) + 1):
            prices = (self.mixes.members_usd_of(index, count) for index in firsts.values())
            found.append(float(min(price for price in prices if price is not None)))
        return found

    def _take(self, index: int, volume: PricedVolume, penalty: float) -> None:
        facts = volume.facts
        solo = volume.solo
        self.snapshots.setdefault(facts.snapshot_id, []).append(index)
        apart = volume.apart
        if apart is not None:
            usd = float(solo[apart].decidable_usd)
            if apart is SharedResource.RATE:
                rate = solo[apart].rate_mib_s or 0
                lag = facts.timings.status_delay_seconds.p90
                self.held[index] = rate * (solo[apart].times.ready_p90 - lag)
                usd += penalty * self.held[index]
            self.otherwise[index] = usd
        agent = _agent(index, volume)
        if agent is not None:
            self.agent[index] = agent
        write = _write(index, volume)
        if write is not None:
            self.write[index] = write
        if agent is not None or write is not None:
            self.instances.setdefault(facts.reads_through or str(index), []).append(index)

    def tasks(self, index: int, *, is_open: bool) -> list[Task]:
        """What the agent could do for it; to write is of no use where it reads for nothing."""
        agent = self.agent.get(index)
        write = self.write.get(index)
        found = [] if agent is None else [agent]
        if write is not None and is_open and (agent is None or agent.usd > 0):
            found.append(write)
        return found


def _most_fast(volume: PricedVolume, most: int) -> int:
    """The most volumes, found by bisection: each more waits for one more credit."""
    counts = range(1, most + 1)

    def seconds(count: int) -> float:
        estimate = volume.options.fast(count)
        return math.inf if estimate is None else estimate.times.ready_p90

    return bisect_right(counts, min(volume.limit, LONGEST_RESTORE_SECONDS), key=seconds)


def _agent(index: int, volume: PricedVolume) -> Task | None:
    found = volume.solo.get(SharedResource.AGENT)
    if found is None:
        return None
    facts = volume.facts
    own, instance = promised_rates(facts, volume.options.most_mib_s)
    reading = next(part.p90 for phase, part in found.times.phases if phase is Phase.READ)
    slack = volume.limit - (found.times.ready_p90 - reading)
    usd = float(found.decidable_usd)
    return Task(
        index,
        SharedResource.AGENT,
        facts.read_bytes / MIB,
        slack,
        own.within(math.inf),
        instance,
        usd,
        is_uneven=own.unwritten_share > 0,
    )


def _write(index: int, volume: PricedVolume) -> Task | None:
    found = volume.solo.get(SharedResource.WRITE)
    if found is None:
        return None
    facts = volume.facts
    own, instance = promised_writing_mib_s(facts)
    writing = next(part.p90 for phase, part in found.times.phases if phase is Phase.WRITE)
    writing -= facts.timings.delivery_seconds.p90
    slack = volume.limit - (found.times.ready_p90 - writing)
    return Task(index, SharedResource.WRITE, facts.write_bytes / MIB, slack, own, instance, 0.0)
