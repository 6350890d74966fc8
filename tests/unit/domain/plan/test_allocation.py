"""The what-if over deadlines."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewarm.domain.model import GIB, Strategy, VolumeSettings
from rewarm.domain.plan.allocation import POINTS, allocate, frontier
from rewarm.domain.plan.estimates import PlanObjective
from rewarm.domain.plan.facts import beside_each_other
from tests.support.amount import cases
from tests.support.builders import facts
from tests.support.values.facts import TOKYO, any_facts, any_restore

ONE_TIB = facts(
    data_bytes=1_024 * GIB,
    written_bytes=1_024 * GIB,
    written_blocks=1_024 * 2_048,
    snapshot_size_gib=1_024,
    settings=VolumeSettings("gp3", 1_024, 3_000, 125),
    snapshot_id="snap-0",
)
ZONE_ONLY = replace(ONE_TIB, instance_limits=None, agent_available=False)
a_few = cases(30, 300)


def total(chosen):
    return sum(one.cost_usd for one in chosen)


def kinds(steps):
    found = []
    for step in steps:
        if not found or found[-1] != step.strategies[0]:
            found.append(step.strategies[0])
    return found


class TestFrontier:
    def test_goes_from_what_is_fastest_to_what_costs_nothing(self):
        steps = frontier([ONE_TIB], PlanObjective(), TOKYO)
        assert kinds(steps) == [
            Strategy.PROVISIONED_RATE,
            Strategy.FAST_SNAPSHOT_RESTORE,
            Strategy.PROVISIONED_RATE,
            Strategy.BOOSTED_WARM_UP,
            Strategy.WARM_UP_AGENT,
        ]
        # The highest rate, 450 + 1,048,576 / 300 / 0.9 s; the agent alone, 210 + 1,048,576 / 125 / 0.75 s.
        assert steps[0].deadline_seconds == pytest.approx(4_333.6, abs=0.1)
        assert steps[-1].deadline_seconds == pytest.approx(11_394.8, abs=0.1)

    def test_finds_where_fast_snapshot_restore_beats_the_rate_and_where_it_is_beaten(self):
        steps = frontier([ZONE_ONLY], PlanObjective(), TOKYO)
        assert kinds(steps) == [
            Strategy.PROVISIONED_RATE,
            Strategy.FAST_SNAPSHOT_RESTORE,
            Strategy.PROVISIONED_RATE,
            Strategy.BACKGROUND,
        ]
        at = [step for step in steps if step.strategies == (Strategy.FAST_SNAPSHOT_RESTORE,)]
        # Ready after 60 + 180 + 3,960 + 3,600 s, at 130 min x $0.90 / 60 = $1.95, and the listing.
        assert at[0].deadline_seconds == 7_800
        # $1.95 / (1,024 x $0.0000144) = 132.2: at 132 MiB/s the rate is cheaper again.
        after = steps[steps.index(at[-1]) + 1].estimates[0]
        assert after.rate_mib_s == 132

    def test_keeps_to_a_strategy_that_the_request_names(self):
        steps = frontier([ONE_TIB], PlanObjective(fixed=Strategy.PROVISIONED_RATE), TOKYO)
        assert kinds(steps) == [Strategy.PROVISIONED_RATE]
        assert (steps[0].estimates[0].rate_mib_s, steps[-1].estimates[0].rate_mib_s) == (300, 100)
        assert len(steps) > POINTS / 2

    def test_is_empty_where_nothing_can_be_had(self):
        assert frontier([ZONE_ONLY], PlanObjective(fixed=Strategy.WARM_UP_AGENT), TOKYO) == []
        assert frontier([], PlanObjective(), TOKYO) == []

    @a_few
    @given(any_restore(most=3))
    def test_falls_as_the_deadline_grows(self, volumes):
        steps = frontier(volumes, PlanObjective(), TOKYO)
        assert steps
        for earlier, later in pairwise(steps):
            assert earlier.deadline_seconds < later.deadline_seconds
            assert earlier.cost_usd > later.cost_usd

    @a_few
    @given(any_restore(most=3), st.integers(0, POINTS))
    def test_tells_what_the_engine_would_choose_for_that_deadline(self, volumes, place):
        steps = frontier(volumes, PlanObjective(), TOKYO)
        step = steps[place % len(steps)]
        chosen = allocate(beside_each_other(volumes), PlanObjective(step.deadline_seconds), TOKYO).estimates
        assert max(one.times.ready_p90 for one in chosen) <= step.deadline_seconds
        assert total(chosen) == step.cost_usd

    @a_few
    @given(any_facts(), st.floats(0, 1))
    def test_a_deadline_between_two_steps_costs_no_more_than_the_first_and_no_less_than_the_second(
        self, the_facts, share
    ):
        steps = frontier([the_facts], PlanObjective(), TOKYO)
        for earlier, later in pairwise(steps):
            deadline = earlier.deadline_seconds + share * (later.deadline_seconds - earlier.deadline_seconds)
            (chosen,) = allocate(beside_each_other([the_facts]), PlanObjective(deadline), TOKYO).estimates
            assert later.cost_usd <= chosen.cost_usd <= earlier.cost_usd

    @a_few
    @given(any_facts())
    def test_nothing_meets_an_earlier_deadline_than_the_first(self, the_facts):
        first = frontier([the_facts], PlanObjective(), TOKYO)[0].deadline_seconds
        (chosen,) = allocate(beside_each_other([the_facts]), PlanObjective(first - 0.001), TOKYO).estimates
        assert chosen.times.ready_p90 > first - 0.001
