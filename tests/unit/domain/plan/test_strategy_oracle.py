"""A search through everything there is never finds a cheaper plan than the engine's.

The search knows no rule: it lists every strategy, every rate and every boost of each volume with price and
time, tries all combinations, and keeps the best. Only the estimates themselves are the engine's.
"""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal
from itertools import product

import pytest
from hypothesis import given

from rewarm.domain.model import Boost, Strategy
from rewarm.domain.plan import cost
from rewarm.domain.plan.allocation import allocate
from rewarm.domain.plan.estimates import NEVER_BY_ITSELF, Estimate, EstimateLimits, PlanObjective
from rewarm.domain.plan.estimators import ESTIMATORS, at_rate
from rewarm.domain.plan.facts import beside_each_other
from rewarm.domain.plan.warm_up import warm_up_times
from rewarm.domain.volume.volume_types import VOLUME_TYPES, VolumeLimits
from tests.support.amount import LONG, cases
from tests.support.values.facts import TOKYO, any_facts, any_restore, budgets, deadlines, request_of

pytestmark = [pytest.mark.slow, pytest.mark.oracle]

CASES = 9_000 if LONG else 40
FREE = Decimal(0)
TYPE_MIB_S = {"io1": 1_000, "io2": 4_000}
"""What a volume of the type can do at most, where throughput is no setting (EBS user guide, volume types)."""


def every_rate(facts):
    """100 to 300 MiB/s, whether the engine would look at it or not."""
    most = min(300, facts.rate_quota_left_mib_s // facts.volumes_of_restore)
    return [at_rate(facts, TOKYO, rate) for rate in range(100, most + 1)]


def every_boost(facts, step=1):
    """Price and P90 of each throughput that the type allows, far beyond what is of use too."""
    wanted, agent = facts.settings, ESTIMATORS[Strategy.WARM_UP_AGENT](facts, TOKYO, EstimateLimits())
    kind = VOLUME_TYPES[wanted.volume_type]
    if not isinstance(agent, Estimate) or kind.iops_per_gib is None:
        return []
    most_iops = min(kind.max_iops, max(kind.min_iops, kind.iops_per_gib * wanted.size_gib))
    most = min(kind.max_throughput_mib_s or TYPE_MIB_S[wanted.volume_type], most_iops // 4, 1_500)
    found = []
    for mib_s in range(math.floor(facts.speed.sustained_mib_s) + 1, most + 1, step):
        throughput = mib_s if wanted.volume_type == "gp3" else None
        had = wanted.iops or (3_000 if wanted.volume_type == "gp3" else 0)
        boost = Boost(wanted.volume_type, max(had, 4 * mib_s), throughput)
        ready_p90 = warm_up_times(facts, VolumeLimits(boost.iops, mib_s, mib_s)).ready_p90
        found.append((cost.boost_usd(TOKYO, wanted, boost, ready_p90), ready_p90))
    return found


def single(facts):
    """Strategies without a setting, but fast snapshot restore, whose price may be shared."""
    graded = {Strategy.PROVISIONED_RATE, Strategy.BOOSTED_WARM_UP, Strategy.FAST_SNAPSHOT_RESTORE}
    outcomes = [
        ESTIMATORS[name](facts, TOKYO, EstimateLimits())
        for name in set(ESTIMATORS) - graded - NEVER_BY_ITSELF
    ]
    return [one for one in outcomes if isinstance(one, Estimate)]


def everything(facts, step=1):
    """(price, P90) of all that could be done for one volume alone."""
    estimates = [*single(facts), *every_rate(facts)]
    return [(one.decidable_usd, one.times.ready_p90) for one in estimates] + every_boost(facts, step)


def fast_restore(facts):
    outcome = ESTIMATORS[Strategy.FAST_SNAPSHOT_RESTORE](facts, TOKYO, EstimateLimits())
    return outcome if isinstance(outcome, Estimate) else None


def within(found, deadline, budget):
    return [
        (price, ready)
        for price, ready in found
        if (deadline is None or ready <= deadline) and (budget is None or price <= budget)
    ]


@cases(40, 400)
@given(any_facts(), deadlines, budgets)
def test_no_plan_for_one_volume_is_cheaper_in_time_nor_faster_when_late(facts, deadline, budget):
    judge(facts, deadline, budget)


@pytest.mark.parametrize("first", range(0, CASES, 20))
def test_no_plan_of_the_same_requests_each_time_is_cheaper_or_faster(first):
    for seed in range(first, first + 20):
        judge(*request_of(seed))


def judge(facts, deadline, budget):
    """The engine's choice beside the best of everything."""
    (facts,) = beside_each_other([facts])
    found, fast = everything(facts), fast_restore(facts)
    if fast is not None:
        found.append((fast.decidable_usd, fast.times.ready_p90))
    (chosen,) = allocate([facts], PlanObjective(deadline, budget), TOKYO).estimates
    in_time = within(found, deadline, budget)
    if in_time:
        assert chosen.decidable_usd <= min(in_time)[0]
        assert deadline is None or chosen.times.ready_p90 <= deadline
    else:
        price, ready = min(within(found, None, budget), key=lambda one: (one[1], one[0]))
        assert chosen.times.ready_p90 <= ready
        assert chosen.decidable_usd <= price


def thinned(found):
    """At most some forty ways, the cheapest for each of the times among them."""
    best = sorted(found, key=lambda one: (one[1], one[0]))
    front = []
    for price, ready in best:
        if not front or price < front[-1][0]:
            front.append((price, ready))
    return front if len(front) <= 40 else [*front[:: len(front) // 38], front[-1]]


def all_together(volumes):
    """(prices added up, P90s) of every combination; fast snapshot restore is paid once for a snapshot."""
    ways = []
    for facts in volumes:
        fast = fast_restore(facts)
        ways.append(
            [(*one, False) for one in thinned(everything(facts, step=7))]
            + ([(FREE, fast.times.ready_p90, True)] if fast is not None else [])
        )
    for combination in product(*ways):
        places = {facts.place for facts, one in zip(volumes, combination, strict=True) if one[2]}
        price = sum((one[0] for one in combination), FREE) + sum(
            (price_of(volumes, place) for place in places), FREE
        )
        yield price, [one[1] for one in combination]


def price_of(volumes, place):
    group = [(facts, fast_restore(facts)) for facts in volumes if facts.place == place]
    if any(facts.fast_restore_runs for facts, _ in group):
        return FREE
    minutes = max(60, math.ceil(max(one.times.ready_p90 for _, one in group if one is not None) / 60))
    return round(TOKYO.fsr_usd_per_hour * minutes / 60, 6)


@cases(30, 300)
@given(any_restore(most=2), deadlines, budgets)
def test_no_combination_for_two_volumes_is_cheaper_in_time_nor_faster_when_late(volumes, deadline, budget):
    chosen = allocate(volumes, PlanObjective(deadline, budget), TOKYO)
    price, slowest = chosen.usd, max(one.times.ready_p90 for one in chosen.estimates)
    combinations = [
        (other, max(readies)) for other, readies in all_together(volumes) if budget is None or other <= budget
    ]
    in_time = [one for one in combinations if deadline is None or one[1] <= deadline]
    if in_time:
        assert price <= min(in_time)[0]
        assert deadline is None or slowest <= deadline
    else:
        assert slowest <= min(other for _, other in combinations)


@cases(10, 300)
@given(any_facts(), deadlines)
def test_a_lower_quota_or_price_is_seen_by_both(facts, deadline):
    """The search itself finds what is there: without it an oracle that never objects would prove nothing."""
    (facts,) = beside_each_other([replace(facts, rate_quota_left_mib_s=5_000)])
    best = min(within(everything(facts), deadline, None), default=None)
    (chosen,) = allocate([facts], PlanObjective(deadline), TOKYO).estimates
    late = deadline is not None and chosen.times.ready_p90 > deadline
    if best is None:
        assert late or chosen.strategy is Strategy.FAST_SNAPSHOT_RESTORE
    elif chosen.strategy is not Strategy.FAST_SNAPSHOT_RESTORE:
        assert chosen.decidable_usd == best[0]
