"""Each step of the what-if holds exactly at its deadline, and not a moment before."""

from __future__ import annotations

import math
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from rewarm.domain.plan.allocation import allocate, frontier
from rewarm.domain.plan.estimates import PlanObjective, SearchTime
from rewarm.domain.plan.facts import beside_each_other
from rewarm.domain.plan.strategy import choose
from tests.support.amount import cases
from tests.support.values.facts import TOKYO, any_facts
from tests.support.values.many_volumes import restore


def planned(facts, deadline):
    return choose(facts, PlanObjective(deadline), TOKYO).plan


@cases(15, 150)
@given(any_facts())
def test_a_step_costs_the_least_for_its_deadline_and_is_not_had_a_moment_earlier(facts):
    (facts,) = beside_each_other([facts])
    for step in frontier([facts], PlanObjective(), TOKYO):
        plan = planned(facts, step.deadline_seconds)
        assert not plan.deadline_missed
        assert plan.estimate.cost_usd == step.cost_usd
        earlier = planned(facts, math.nextafter(step.deadline_seconds, 0))
        assert earlier.deadline_missed or earlier.estimate.cost_usd > step.cost_usd


@cases(4, 40)
@given(st.lists(any_facts(), min_size=2, max_size=5), st.floats(1.0, 5.0))
def test_between_two_steps_no_other_mix_of_strategies_costs_less(several, factor):
    """On one instance, and of few snapshots; what a setting such as a rate gains is left out."""
    several = beside_each_other([replace(facts, instance_id="i-1") for facts in several])
    steps = frontier(several, PlanObjective(), TOKYO)
    if not steps:
        return
    deadline = steps[0].deadline_seconds * factor
    held = [step for step in steps if step.deadline_seconds <= deadline][-1]
    mix = allocate(several, PlanObjective(deadline), TOKYO)
    usd = sum(estimate.cost_usd for estimate in mix.estimates)
    assert usd == held.cost_usd or tuple(estimate.strategy for estimate in mix.estimates) == held.strategies


def test_a_what_if_without_time_looks_no_further_and_is_true_as_far_as_it_goes():
    several, _, _ = restore(2, (12,))
    steps = frontier(several, PlanObjective(patience=SearchTime(lambda: False)), TOKYO)
    assert len(steps) == 1
    held = allocate(several, PlanObjective(steps[0].deadline_seconds), TOKYO)
    assert held is not None
    assert held.seconds <= steps[0].deadline_seconds
