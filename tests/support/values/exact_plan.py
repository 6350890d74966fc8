"""The cheapest mix of strategies by OR-Tools' CP-SAT, from the engine's estimates alone.

The solver knows none of the engine's search: every set of volumes on an instance, every number of volumes on
a snapshot, every rate and every start (in whole seconds, rounded up) is open to it. A volume holds its rate
until it is loaded, which is before EC2 says so.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import product
from typing import Any

from rewarm.domain.model import BLOCK_BYTES, PriceBook, Strategy
from rewarm.domain.plan import cost
from rewarm.domain.plan.estimates import Estimate, EstimateLimits
from rewarm.domain.plan.estimators import ESTIMATORS, at_rate
from rewarm.domain.plan.facts import VolumeFacts

MICRO = 1_000_000
RATES = range(100, 301)
READS = (Strategy.WARM_UP_AGENT, Strategy.BOOSTED_WARM_UP)
WRITES = (Strategy.DIRECT_WRITE,)
SOLVER_EFFORT = 20.0
"""CP-SAT's deterministic time, some seconds for each on any machine: so it finds the same on a busy one."""


class ExactPlan:
    """A model of one restore, each volume within the same deadline."""

    def __init__(self, volumes: Sequence[VolumeFacts], deadline_seconds: float, book: PriceBook) -> None:
        self._volumes = volumes
        self._deadline = deadline_seconds
        self._book = book
        from ortools.sat.python import cp_model  # noqa: PLC0415  # half a second, for one worker's tests

        self._solver = cp_model
        self._model = cp_model.CpModel()
        self._usd: list[Any] = []
        self._ways: list[list[Any]] = [[] for _ in volumes]
        self._alone()
        self._instances()
        self._snapshots()
        self._rates()
        for ways in self._ways:
            self._model.add_exactly_one(ways)
        self._model.minimize(sum(self._usd))

    def least_usd(self) -> Decimal | None:
        """None where the deadline cannot be met. Raises TimeoutError where the solver found no proof."""
        solver = self._solver.CpSolver()
        solver.parameters.num_workers = 1
        solver.parameters.random_seed = 1
        solver.parameters.max_deterministic_time = SOLVER_EFFORT
        status = solver.solve(self._model)
        if status == self._solver.INFEASIBLE:
            return None
        if status != self._solver.OPTIMAL:
            raise TimeoutError
        return Decimal(round(solver.objective_value)) / MICRO

    def _way(self, place: int, name: str) -> Any:
        taken = self._model.new_bool_var(f"{name}-{place}")
        self._ways[place].append(taken)
        return taken

    def _estimate(self, facts: VolumeFacts, name: Strategy) -> Estimate | None:
        outcome = ESTIMATORS[name](facts, self._book, EstimateLimits(self._deadline))
        in_time = isinstance(outcome, Estimate) and outcome.times.ready_p90 <= self._deadline
        return outcome if in_time and isinstance(outcome, Estimate) else None

    def _alone(self) -> None:
        for place, facts in enumerate(self._volumes):
            if self._estimate(facts, Strategy.BACKGROUND) is not None:
                self._way(place, "background")

    def _instances(self) -> None:
        """One set of readers, and one of writers, for each instance or card; blocks are paid once."""
        blocks: dict[str, Any] = {}
        for instance in sorted({facts.reads_through for facts in self._volumes if facts.reads_through}):
            places = [place for place, facts in enumerate(self._volumes) if facts.reads_through == instance]
            taken = {
                strategies: {place: self._way(place, strategies[0]) for place in places}
                for strategies in (READS, WRITES)
            }
            sets = []
            for tasks in product((None, READS, WRITES), repeat=len(places)):
                task_of = {place: task for place, task in zip(places, tasks, strict=True) if task}
                usd = self._busy_usd(task_of)
                if usd is None:
                    continue
                chosen = self._model.new_bool_var(f"{instance}-{tasks}")
                sets.append(chosen)
                self._usd.append(chosen * usd)
                for strategies, ways in taken.items():
                    for place, way in ways.items():
                        does = int(task_of.get(place) == strategies)
                        self._model.add(way == does).only_enforce_if(chosen)
            self._model.add_exactly_one(sets)
            for place, way in taken[WRITES].items():
                name = self._volumes[place].snapshot_id
                paid = blocks.setdefault(name, self._model.new_bool_var(f"blocks-{name}"))
                self._model.add_implication(way, paid)
        for name, paid in blocks.items():
            written = next(facts for facts in self._volumes if facts.snapshot_id == name)
            self._usd.append(paid * _micro(cost.total(cost.blocks(written.written_blocks, self._book))))

    def _busy_usd(self, task_of: Mapping[int, tuple[Strategy, ...]]) -> int | None:
        """Without blocks; a written block goes through the instance twice."""
        loads = {
            place: self._volumes[place].read_bytes
            if task == READS
            else 2 * self._volumes[place].written_blocks * BLOCK_BYTES
            for place, task in task_of.items()
        }
        total = 0
        for place, task in task_of.items():
            beside = sorted(load for other, load in loads.items() if other != place)
            facts = replace(self._volumes[place], read_beside=tuple(beside), write_beside=tuple(beside))
            found = [estimate for name in task if (estimate := self._estimate(facts, name)) is not None]
            if not found:
                return None
            if task == READS:
                total += _micro(min(estimate.decidable_usd for estimate in found))
        return total

    def _snapshots(self) -> None:
        """A number of volumes for each snapshot; the price is that of the last of them."""
        enabled = []
        for where in sorted({facts.place for facts in self._volumes}):
            places = [place for place, facts in enumerate(self._volumes) if facts.place == where]
            taken = {place: self._way(place, "fast") for place in places}
            counts = [self._model.new_bool_var(f"{where}-{count}") for count in range(len(places) + 1)]
            self._model.add_exactly_one(counts)
            self._model.add(sum(taken.values()) == sum(count * chosen for count, chosen in enumerate(counts)))
            price = self._model.new_int_var(0, 10**12, f"price-{where}")
            self._usd.append(price)
            for count in range(1, len(places) + 1):
                for place in places:
                    facts = replace(self._volumes[place], volumes_of_snapshot=count)
                    estimate = self._estimate(facts, Strategy.FAST_SNAPSHOT_RESTORE)
                    if estimate is None:
                        self._model.add_bool_or([counts[count].negated(), taken[place].negated()])
                    elif not facts.fast_restore_runs:
                        usd = cost.fast_snapshot_restore(self._book, estimate.times.ready_p90).usd
                        self._model.add(price >= _micro(usd)).only_enforce_if([counts[count], taken[place]])
            if not self._volumes[places[0]].fast_restore_runs:
                enabled.append(counts[0].negated())
        if enabled:
            self._model.add(sum(enabled) <= self._volumes[0].fast_restore_quota_left)

    def _rates(self) -> None:
        """A start and a rate for each volume; together never more than the quota."""
        quota = self._volumes[0].rate_quota_left_mib_s
        intervals, demands = [], []
        horizon = math.floor(self._deadline)
        for place, facts in enumerate(self._volumes):
            lag = facts.timings.status_delay_seconds.p90
            held = [math.ceil(at_rate(facts, self._book, rate).times.ready_p90 - lag) for rate in RATES]
            if min(held) + lag > horizon or quota < RATES[0]:
                continue
            taken = self._way(place, "rate")
            rate = self._model.new_int_var(RATES[0], RATES[-1], f"rate-{place}")
            lasts = self._model.new_int_var(min(held), max(held), f"lasts-{place}")
            self._model.add_element(rate - RATES[0], held, lasts)
            start = self._model.new_int_var(0, horizon, f"start-{place}")
            end = self._model.new_int_var(0, horizon + max(held), f"end-{place}")
            self._model.add(end <= horizon - math.ceil(lag)).only_enforce_if(taken)
            intervals.append(self._model.new_optional_interval_var(start, lasts, end, taken, f"load-{place}"))
            demands.append(rate)
            prices = [_micro(cost.provisioned_rate_usd(self._book, facts.data_bytes, one)) for one in RATES]
            price = self._model.new_int_var(min(prices), max(prices), f"price-of-rate-{place}")
            self._model.add_element(rate - RATES[0], prices, price)
            paid = self._model.new_int_var(0, max(prices), f"paid-{place}")
            self._model.add(paid == price).only_enforce_if(taken)
            self._usd.append(paid)
        if intervals:
            self._model.add_cumulative(intervals, demands, quota)


def _micro(usd: Decimal) -> int:
    return int(usd * MICRO)
