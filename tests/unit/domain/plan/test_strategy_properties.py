"""What must hold for every restore, whatever its facts: the rule of the choice, up to 10,000 cases each."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rewarm.domain.errors import NoStrategyFitsError
from rewarm.domain.model import FastSnapshotRestore, Strategy
from rewarm.domain.plan.allocation import allocate
from rewarm.domain.plan.estimates import NEVER_BY_ITSELF, Estimate, EstimateLimits, PlanObjective
from rewarm.domain.plan.estimators import ESTIMATORS, fast_snapshot_restore
from rewarm.domain.plan.facts import beside_each_other
from rewarm.domain.plan.strategy import choose_all
from tests.support.amount import cases
from tests.support.builders import NOW
from tests.support.values.facts import HOUR, TOKYO, any_facts, any_restore, budgets, deadlines

pytestmark = pytest.mark.slow

ten_thousand = cases(100, 10_000)
thousand = cases(70, 3_000)
fixed = st.sampled_from([None, None, None, *(one for one in Strategy if one.makes_volume)])
later = st.integers(0, 10 * 24 * HOUR).map(float)
more_money = st.integers(0, 50_000_000).map(lambda micro: Decimal(micro).scaleb(-6))


def slowest(chosen):
    return chosen.seconds


def usd(decisions):
    return sum(one.plan.estimate.decidable_usd for one in decisions)


def lateness(chosen, deadline):
    return max(0.0, slowest(chosen) - deadline) if deadline is not None else slowest(chosen)


def decide(volumes, deadline, budget, **more):
    """None where nothing fits."""
    try:
        return choose_all(volumes, PlanObjective(deadline, budget, **more), TOKYO)
    except NoStrategyFitsError:
        return None


def looks(decision):
    one = decision.plan.estimate
    return (one.strategy, one.rate_mib_s, one.boost, one.times)


@ten_thousand
@given(any_restore(), deadlines, later, budgets, fixed)
def test_a_longer_deadline_never_costs_more(volumes, deadline, longer, budget, asked):
    assume(deadline is not None)
    short = allocate(volumes, PlanObjective(deadline, budget, asked), TOKYO)
    long = allocate(volumes, PlanObjective(deadline + longer, budget, asked), TOKYO)
    assert (short is None) == (long is None)
    if short is not None:
        assert long.usd <= short.usd


@ten_thousand
@given(any_restore(), deadlines, budgets, more_money, fixed)
def test_a_larger_budget_is_never_slower(volumes, deadline, budget, more, asked):
    assume(budget is not None)
    small = allocate(volumes, PlanObjective(deadline, budget, asked), TOKYO)
    large = allocate(volumes, PlanObjective(deadline, budget + more, asked), TOKYO)
    endless = allocate(volumes, PlanObjective(deadline, None, asked), TOKYO)
    if small is not None:
        assert slowest(large) <= slowest(small)
    if large is not None:
        assert slowest(endless) <= slowest(large)


@ten_thousand
@given(any_restore(most=3), deadlines, budgets, st.booleans())
def test_the_plan_meets_the_deadline_and_the_budget_or_says_so(volumes, deadline, budget, strict):
    decisions = decide(volumes, deadline, budget, strict=strict)
    if decisions is None:
        assert strict
        return
    assert budget is None or usd(decisions) <= budget
    for facts, decision in zip(volumes, decisions, strict=True):
        late = deadline is not None and decision.plan.estimate.times.ready_p90 > deadline
        assert decision.plan.deadline_missed is late
        why = decision.plan.why
        says_so = why.startswith(("No strategy", "The volumes cannot all meet the deadline"))
        assert says_so is late
        assert not (strict and late)
        if late and budget is None:
            assert all(one.times.ready_p90 > deadline for one in every_fastest(facts))


def every_fastest(facts):
    found = [
        estimate(facts, TOKYO, EstimateLimits(0.0))
        for name, estimate in ESTIMATORS.items()
        if name not in NEVER_BY_ITSELF
    ]
    return [one for one in found if isinstance(one, Estimate)]


@ten_thousand
@given(any_restore(), deadlines, budgets, fixed)
def test_no_plan_pays_for_fast_snapshot_restore_and_a_rate_together(volumes, deadline, budget, asked):
    decisions = decide(volumes, deadline, budget, fixed=asked) or []
    for decision in decisions:
        for planned in (decision.plan, *decision.fallbacks):
            one = planned.estimate
            assert (one.rate_mib_s is not None) == (one.strategy is Strategy.PROVISIONED_RATE)
            assert (one.boost is not None) == (one.strategy is Strategy.BOOSTED_WARM_UP)
            assert len([part for part in one.parts if not part.sunk]) <= 1


@ten_thousand
@given(any_restore(), st.floats(0, 10), st.floats(0, 10), deadlines, budgets)
def test_more_credits_are_never_slower(volumes, credits_left, more, deadline, budget):
    """Never later than the deadline by more, and never dearer; a cheaper plan may use the time it has."""

    def with_credits(balance):
        there = FastSnapshotRestore("enabled", NOW, balance)
        return beside_each_other(
            [
                replace(facts, fast_restore=there if facts.snapshot_id == "snap-0" else None)
                for facts in volumes
            ]
        )

    few, many = with_credits(credits_left), with_credits(credits_left + more)
    for fewer, greater in zip(few, many, strict=True):
        slow, fast = (fast_snapshot_restore(facts, TOKYO, EstimateLimits()) for facts in (fewer, greater))
        if isinstance(slow, Estimate):
            assert fast.times.ready_p90 <= slow.times.ready_p90
            assert fast.times.ready_p50 <= slow.times.ready_p50
    objective = PlanObjective(deadline, budget)
    before, after = allocate(few, objective, TOKYO), allocate(many, objective, TOKYO)
    assert lateness(after, deadline) <= lateness(before, deadline)
    if deadline is None or slowest(before) <= deadline:
        assert after.usd <= before.usd


@ten_thousand
@given(any_facts(rate_quota_left_mib_s=0), st.integers(1, 12), st.integers(1, 12))
def test_more_volumes_of_one_snapshot_never_make_its_fast_restore_dearer(facts, some, others):
    """One price, and never more than for two restores apart; only waiting for credits keeps it on longer."""

    def price(count):
        chosen = allocate(
            beside_each_other([replace(facts, fast_restore_quota_left=5)] * count),
            PlanObjective(fixed=Strategy.FAST_SNAPSHOT_RESTORE),
            TOKYO,
        )
        assume(chosen is not None)
        minutes = max(60, -(-slowest(chosen) // 60))
        whole = Decimal(minutes) * TOKYO.fsr_usd_per_hour / 60
        return chosen.usd, Decimal(0) if facts.fast_restore_runs else whole

    (one, one_hours), (two, _), (both, both_hours) = price(some), price(others), price(some + others)
    assert both <= one + two
    assert both / (some + others) <= max(one / some, two / others)
    assert (one, both) == (round(one_hours, 6), round(both_hours, 6))


@ten_thousand
@given(any_restore(), deadlines, budgets, st.randoms(use_true_random=False))
def test_the_choice_does_not_depend_on_the_order_of_facts(volumes, deadline, budget, random):
    order = random.sample(range(len(volumes)), len(volumes))
    straight = decide(volumes, deadline, budget)
    shuffled = decide([volumes[index] for index in order], deadline, budget)
    # Of volumes that are alike, any may get what one of them gets.
    for facts in volumes:
        alike = [index for index, other in enumerate(volumes) if other == facts]
        places = [order.index(index) for index in alike]
        assert sorted(repr(looks(straight[index])) for index in alike) == sorted(
            repr(looks(shuffled[place])) for place in places
        )
    assert usd(shuffled) == usd(straight)


@thousand
@given(any_restore(), deadlines, budgets)
def test_every_strategy_is_considered_and_one_is_chosen(volumes, deadline, budget):
    for decision in decide(volumes, deadline, budget):
        assert [one.strategy for one in decision.considered] == list(ESTIMATORS)
        chosen = [one.strategy for one in decision.considered if one.chosen]
        assert chosen == [decision.plan.estimate.strategy]
        assert all(one.reason.endswith(".") for one in decision.considered)


@thousand
@given(any_restore(), deadlines, budgets)
def test_the_budget_holds_even_if_every_volume_falls_back(volumes, deadline, budget):
    assume(budget is not None)
    decisions = decide(volumes, deadline, budget)
    dearest = [
        max(planned.estimate.decidable_usd for planned in (one.plan, *one.fallbacks)) for one in decisions
    ]
    assert sum(dearest) <= budget


@thousand
@given(any_facts(), deadlines)
def test_p90_is_never_sooner_than_p50_and_ready_never_sooner_than_usable(facts, deadline):
    for estimator in ESTIMATORS.values():
        outcome = estimator(facts, TOKYO, EstimateLimits(deadline))
        if isinstance(outcome, Estimate):
            times = outcome.times
            assert times.usable_p50 <= times.ready_p50 <= times.ready_p90
            assert times.usable_p50 <= times.usable_p90 <= times.ready_p90


@thousand
@given(any_restore(), deadlines, budgets)
def test_a_clone_is_never_chosen_unasked(volumes, deadline, budget):
    for decision in decide(volumes, deadline, budget):
        planned = [decision.plan, *decision.fallbacks]
        assert Strategy.VOLUME_CLONE not in {one.estimate.strategy for one in planned}
