"""Each step of the what-if holds exactly at its deadline, and not a moment before."""

from __future__ import annotations

import math

from hypothesis import given

from rewarm.domain.plan.allocation import frontier
from rewarm.domain.plan.estimates import PlanObjective
from rewarm.domain.plan.facts import beside_each_other
from rewarm.domain.plan.strategy import choose
from tests.support.amount import cases
from tests.support.values.facts import TOKYO, any_facts


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
