"""The cheapest mix for many volumes by OR-Tools' CP-SAT: a bound, and a mix that the estimates confirm.

The model is linear. Each of its rules holds for every mix that is possible, so no mix costs less than it
finds. What it leaves out: that a boost costs more beside others, and the order in which volumes take the
Region's rate. So its own best mix is judged by the estimates, and may turn out to be late.

It knows none of the engine's search. Beside others with the loads m, a volume with the load l, its own rate r
and a limit t is in time if, for every level L up to l, the sum of min(m, L) over all B + (l - L) / r <= t.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any, NamedTuple

from ortools.sat.python import cp_model

from rewarm.domain.model import PriceBook, Strategy
from rewarm.domain.plan import cost
from rewarm.domain.plan.estimates import Estimate, EstimateLimits
from rewarm.domain.plan.estimators import ESTIMATORS, promised_writing_mib_s
from rewarm.domain.plan.facts import VolumeFacts
from rewarm.domain.plan.mixes import Mixes, PricedVolume, SharedResource
from rewarm.domain.plan.warm_up import promised_rates
from rewarm.domain.time.measured import Phase

MICRO = 1_000_000
ROUNDS = 40
"""Times that the model is solved again, with a rule that its last mix has broken."""


class Solved(NamedTuple):
    """US dollars; None where there is no such mix."""

    least: Decimal | None
    """No mix costs less."""
    possible: Decimal | None
    """The price of a mix in time."""
    is_proven: bool = True
    """Where both are None: no mix is in time."""


class LinearPlan:
    """A model of one restore, each volume within its limit."""

    def __init__(self, mixes: Mixes, book: PriceBook, effort: float) -> None:
        self._mixes = mixes
        self._volumes = mixes.volumes
        self._book = book
        self._effort = effort
        """CP-SAT's deterministic time for each round."""
        self._model = cp_model.CpModel()
        self._usd: list[Any] = []
        self._ways: list[dict[SharedResource, Any]] = [{} for _ in self._volumes]
        self._loads: dict[tuple[int, SharedResource], int] = {}
        for place, volume in enumerate(self._volumes):
            self._alone(place, volume)
        self._instances()
        self._snapshots()
        self._blocks()
        self._rates()
        for ways in self._ways:
            self._model.add_exactly_one(ways.values())
        self._model.minimize(sum(self._usd))

    def solved(self) -> Solved:
        """With rules of own rates added as they are broken."""
        least: Decimal | None = None
        possible: Decimal | None = None
        for _ in range(ROUNDS):
            solver = cp_model.CpSolver()
            solver.parameters.num_workers = 1
            solver.parameters.max_deterministic_time = self._effort
            solver.parameters.relative_gap_limit = 0.002
            status = solver.solve(self._model)
            if status == cp_model.INFEASIBLE:
                return Solved(None, possible, True)
            if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
                return Solved(least, possible, False)
            least = Decimal(math.ceil(solver.best_objective_bound)) / MICRO
            choices = {
                place: resource
                for place, ways in enumerate(self._ways)
                for resource, way in ways.items()
                if solver.value(way)
            }
            found = self._mixes.estimates(choices)
            if found is not None:
                usd = sum((one.decidable_usd for one in found.values()), Decimal(0))
                possible = min(possible or usd, usd)
            if not self._forbid_late(choices):
                return Solved(least, possible, status == cp_model.OPTIMAL)
        return Solved(least, possible, False)

    def _way(self, place: int, resource: SharedResource, usd: Decimal) -> Any:
        way = self._model.new_bool_var(f"{resource.name}-{place}")
        self._ways[place][resource] = way
        if usd:
            self._usd.append(way * _micro(usd))
        return way

    def _alone(self, place: int, volume: PricedVolume) -> None:
        for resource, name in (
            (SharedResource.ALONE, Strategy.BACKGROUND),
            (SharedResource.RATE, Strategy.PROVISIONED_RATE),
        ):
            found = self._estimate(volume.facts, name, volume.limit)
            if found is not None:
                self._way(place, resource, found.decidable_usd)

    def _estimate(self, facts: VolumeFacts, name: Strategy, limit: float) -> Estimate | None:
        outcome = ESTIMATORS[name](facts, self._book, EstimateLimits(limit))
        in_time = isinstance(outcome, Estimate) and outcome.times.ready_p90 <= limit
        return outcome if in_time and isinstance(outcome, Estimate) else None

    def _instances(self) -> None:
        """Each volume that is read or written waits for those beside it."""
        busy: dict[str, list[tuple[int, SharedResource, float, float]]] = {}
        for place, volume in enumerate(self._volumes):
            facts, limit = volume.facts, volume.limit
            reading = [
                found
                for name in (Strategy.WARM_UP_AGENT, Strategy.BOOSTED_WARM_UP)
                if (found := self._estimate(facts, name, limit)) is not None
            ]
            name = facts.instance_id or str(place)
            if reading:
                best = min(reading, key=lambda one: one.decidable_usd)
                self._way(place, SharedResource.AGENT, best.decidable_usd)
                slack = limit - best.times.ready_p90 + _part(best, Phase.READ)
                rate = promised_rates(facts, math.inf)[1]
                self._loads[place, SharedResource.AGENT] = facts.read_bytes
                busy.setdefault(name, []).append((place, SharedResource.AGENT, slack, rate))
            writing = self._estimate(facts, Strategy.DIRECT_WRITE, limit)
            if writing is not None:
                self._way(place, SharedResource.WRITE, Decimal(0))
                delivery = facts.timings.delivery_seconds.p90
                slack = limit - writing.times.ready_p90 + _part(writing, Phase.WRITE) - delivery
                rate = promised_writing_mib_s(facts)[1]
                self._loads[place, SharedResource.WRITE] = 2 * facts.written_bytes
                busy.setdefault(name, []).append((place, SharedResource.WRITE, slack, rate))
        self._busy = busy
        for tasks in busy.values():
            rules = {
                (self._loads[place, task], slack): rate
                for place, task, slack, rate in tasks
                if not math.isinf(rate)
            }
            for (level, slack), rate in rules.items():
                alike = [
                    self._ways[place][task]
                    for place, task, own_slack, _ in tasks
                    if (self._loads[place, task], own_slack) == (level, slack)
                ]
                self._limit(tasks, level, rate * slack, alike)

    def _limit(
        self,
        tasks: Sequence[tuple[int, SharedResource, float, float]],
        level: int,
        most_mib: float,
        alike: Sequence[Any],
    ) -> None:
        """Once one of those alike is taken, all have no more than this up to the level; in KiB, rounded."""
        most = math.floor(most_mib * 1_024 * (1 + 1e-9)) + 1
        sizes = [min(level, self._loads[place, task]) // 1_024 for place, task, _, _ in tasks]
        if sum(sizes) <= most:
            return
        used = sum(
            size * self._ways[place][task] for size, (place, task, _, _) in zip(sizes, tasks, strict=True)
        )
        any_taken = self._model.new_bool_var(f"any-{level}")
        for way in alike:
            self._model.add_implication(way, any_taken)
        self._model.add(used <= most).only_enforce_if(any_taken)

    def _forbid_late(self, choices: dict[int, SharedResource]) -> bool:
        """Rules against those who are late together on an instance; False where none is."""
        is_late = False
        for tasks in self._busy.values():
            chosen = {place: resource for place, resource, _, _ in tasks if choices[place] is resource}
            if chosen and not self._mixes.are_in_time(chosen):
                is_late = True
                ways = [self._ways[place][resource] for place, resource in chosen.items()]
                self._model.add(sum(ways) <= len(ways) - 1)
        return is_late

    def _snapshots(self) -> None:
        places: dict[tuple[str, str], list[int]] = {}
        for place, volume in enumerate(self._volumes):
            places.setdefault(volume.facts.place, []).append(place)
        enabled = []
        for where, members in places.items():
            caps = {place: self._most_fast(place, len(members)) for place in members}
            able = [place for place in members if caps[place]]
            if not able:
                continue
            most = max(caps.values())
            counts = [self._model.new_bool_var(f"{where}-{count}") for count in range(most + 1)]
            self._model.add_exactly_one(counts)
            taken = [self._way(place, SharedResource.FAST, Decimal(0)) for place in able]
            self._model.add(sum(taken) == sum(count * chosen for count, chosen in enumerate(counts)))
            for place, way in zip(able, taken, strict=True):
                for count in range(caps[place] + 1, most + 1):
                    self._model.add_bool_or([way.negated(), counts[count].negated()])
            if self._volumes[able[0]].facts.fast_restore_runs:
                continue
            enabled.append(counts[0].negated())
            for count in range(1, most + 1):
                prices = [
                    cost.fast_snapshot_restore(self._book, found.times.ready_p90).usd
                    for place in able
                    if (found := self._fast(place, count)) is not None
                ]
                if prices:
                    self._usd.append(counts[count] * _micro(min(prices)))
        if enabled:
            self._model.add(sum(enabled) <= self._mixes.quotas.fast_restores)

    def _fast(self, place: int, count: int) -> Estimate | None:
        volume = self._volumes[place]
        facts = replace(volume.facts, volumes_of_snapshot=count)
        return self._estimate(facts, Strategy.FAST_SNAPSHOT_RESTORE, volume.limit)

    def _most_fast(self, place: int, most: int) -> int:
        count = 0
        while count < most and self._fast(place, count + 1) is not None:
            count += 1
        return count

    def _blocks(self) -> None:
        paid: dict[str, Any] = {}
        for place, ways in enumerate(self._ways):
            if SharedResource.WRITE in ways:
                facts = self._volumes[place].facts
                if facts.snapshot_id not in paid:
                    paid[facts.snapshot_id] = self._model.new_bool_var(f"blocks-{facts.snapshot_id}")
                    usd = cost.total(cost.blocks(facts.written_blocks, self._book))
                    self._usd.append(paid[facts.snapshot_id] * _micro(usd))
                self._model.add_implication(ways[SharedResource.WRITE], paid[facts.snapshot_id])

    def _rates(self) -> None:
        """What all hold of the rate until the last limit, if not even all at once fit the quota."""
        held = []
        quota = self._mixes.quotas.rate_mib_s
        latest = 0.0
        for place, ways in enumerate(self._ways):
            if SharedResource.RATE in ways:
                volume = self._volumes[place]
                found = self._estimate(volume.facts, Strategy.PROVISIONED_RATE, volume.limit)
                lag = volume.facts.timings.status_delay_seconds.p90
                if found is None or (found.rate_mib_s or 0) > quota:
                    self._model.add(ways[SharedResource.RATE] == 0)
                    continue
                latest = max(latest, volume.limit - lag)
                size = math.floor((found.rate_mib_s or 0) * (found.times.ready_p90 - lag))
                held.append(size * ways[SharedResource.RATE])
        if held:
            self._model.add(sum(held) <= math.ceil(quota * latest))


def _part(estimate: Estimate, phase: Phase) -> float:
    return next(part.p90 for name, part in estimate.times.phases if name is phase)


def _micro(usd: Decimal) -> int:
    return int(usd * MICRO)
