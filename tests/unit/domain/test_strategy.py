"""The choice: reference cases by hand, and what must hold for every request."""

from __future__ import annotations

import re
from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rewarm.domain import estimates
from rewarm.domain.errors import NoStrategyFitsError
from rewarm.domain.estimates import ESTIMATORS, Estimate, Infeasible, Limits
from rewarm.domain.model import GIB, MIB, FastSnapshotRestore, InstanceEbsLimits, Strategy
from rewarm.domain.strategy import Objective, choose
from rewarm.domain.volume_types import VolumeSpeed
from tests.support.builders import NOW, facts
from tests.support.fakes import tokyo_prices

BOOK = tokyo_prices(NOW)
HOUR = 3_600


def no_instance(**changes):
    return facts(instance_limits=None, agent_available=False, **changes)


@st.composite
def any_facts(draw):
    size_gib = draw(st.sampled_from([1, 2, 100, 1_024, 4_096, 16_384, 65_536]))
    data_bytes = draw(st.integers(0, size_gib * GIB))
    fast_restore = draw(
        st.one_of(
            st.none(),
            st.builds(
                FastSnapshotRestore,
                st.sampled_from(["enabling", "optimizing", "enabled"]),
                st.just(NOW),
                st.one_of(st.none(), st.floats(0, 10)),
            ),
        )
    )
    with_instance = draw(st.booleans())
    return facts(
        data_bytes=data_bytes,
        written_bytes=data_bytes,
        written_blocks=data_bytes // 524_288,
        snapshot_size_gib=size_gib,
        speed=VolumeSpeed(3_000, *[draw(st.floats(12, 4_000))] * 2),
        instance_limits=InstanceEbsLimits(None, None, None, None) if with_instance else None,
        agent_available=with_instance and draw(st.booleans()),
        max_warm_up_mib_s=draw(st.one_of(st.none(), st.integers(1, 1_000))),
        fast_restore=fast_restore,
        fast_restore_quota_left=draw(st.integers(0, 5)),
        rate_quota_left_mib_s=draw(st.integers(0, 5_000)),
        volumes_of_snapshot=draw(st.integers(1, 12)),
        volumes_of_restore=12,
    )


deadlines = st.one_of(st.none(), st.floats(1, 10 * 24 * HOUR))
budgets = st.one_of(st.none(), st.decimals(0, 1_000, places=2))


def decide(the_facts, deadline=None, budget=None, **more):
    """None where nothing fits."""
    try:
        return choose(the_facts, Objective(deadline, budget, **more), BOOK)
    except NoStrategyFitsError:
        return None


class TestReferenceCases:
    def test_the_agent_reads_40_gib_at_the_volumes_limit(self):
        estimate = estimates.warm_up_agent(facts(), BOOK, Limits())
        # 40,960 MiB / 125 MiB/s = 328 s; create 10, attach 5, delivery 5, metric 120, verify 10.
        assert estimate.times.ready_p50 == pytest.approx(328 + 150, abs=1)
        # P90: the same 125 MiB/s; 60 + 30 + 60 + 300 + 60.
        assert estimate.times.ready_p90 == pytest.approx(328 + 510, abs=1)

    def test_a_fast_volume_is_held_back_by_s3(self):
        expected, promised = estimates.warm_up_rates(facts(speed=VolumeSpeed(80_000, 2_000.0, 2_000.0)))
        # 64 fetches of 512 KiB at a time, 91 ms each.
        assert expected == pytest.approx(64 * 0.5 / 0.091)
        assert promised == pytest.approx(expected / 1.5)

    def test_a_small_instance_promises_only_its_baseline(self):
        limits = InstanceEbsLimits(43.0, 260.0, 2_000, 11_800)
        fast = VolumeSpeed(6_000, 500.0, 500.0)
        assert estimates.warm_up_rates(facts(instance_limits=limits, speed=fast)) == (260.0, 43.0)

    def test_one_tib_of_data_at_300_takes_58_minutes_and_at_100_175(self):
        full = no_instance(data_bytes=1024 * GIB)
        slow = estimates.provisioned_rate(full, BOOK, Limits())
        fast = estimates.provisioned_rate(full, BOOK, Limits(deadline_seconds=1.0))
        assert (slow.rate_mib_s, fast.rate_mib_s) == (100, 300)
        overhead = 10 + 120
        assert (slow.times.ready_p50 - overhead) / 60 == pytest.approx(174.8, abs=0.1)
        assert (fast.times.ready_p50 - overhead) / 60 == pytest.approx(58.3, abs=0.1)

    @pytest.mark.parametrize(
        ("size_gib", "hours"),
        # 60 min/TiB to optimize and one credit at MIN(10, 1024/size) an hour.
        [(100, 100 / 1024 + 0.1), (128, 0.125 + 0.125), (1024, 1 + 1), (4096, 4 + 4), (16_384, 16 + 16)],
    )
    def test_fast_snapshot_restore_needs_its_time_and_a_credit(self, size_gib, hours):
        lead = estimates.fsr_lead_seconds(facts(snapshot_size_gib=size_gib))
        assert lead / HOUR == pytest.approx(hours)

    def test_twelve_volumes_of_one_snapshot_need_twelve_credits(self):
        enabled = facts(fast_restore=FastSnapshotRestore("enabled", NOW, 10.0), volumes_of_snapshot=12)
        assert estimates.fsr_lead_seconds(enabled) == pytest.approx(2 / 10 * HOUR)

    def test_enabled_with_a_credit_is_fast_at_once(self):
        enabled = no_instance(fast_restore=FastSnapshotRestore("enabled", NOW, 1.0))
        assert estimates.fast_snapshot_restore(enabled, BOOK, Limits()).times.ready_p50 == 10

    @pytest.mark.parametrize(
        ("changes", "reason"),
        [
            ({"snapshot_size_gib": 16_385}, "at most 16,384 GiB"),
            ({"fast_restore_quota_left": 0}, "quota"),
            ({"fast_restore": FastSnapshotRestore("disabling")}, "being disabled"),
            ({"speed": VolumeSpeed(64_001, 1_000.0, 1_000.0)}, "benefit ends at 64,000 IOPS"),
            ({"speed": VolumeSpeed(64_000, 1_001.0, 1_001.0)}, "and 1,000 MiB/s"),
        ],
    )
    def test_fast_snapshot_restore_has_limits(self, changes, reason):
        outcome = estimates.fast_snapshot_restore(facts(**changes), BOOK, Limits())
        assert isinstance(outcome, Infeasible)
        assert reason in outcome.reason

    def test_an_empty_snapshot_is_at_full_speed_at_once(self):
        empty = no_instance(data_bytes=0, written_bytes=0, written_blocks=0)
        assert decide(empty, 70.0).plan.estimate.strategy is Strategy.BACKGROUND

    def test_without_a_deadline_the_agent_wins_because_it_is_as_cheap_as_nothing(self):
        assert decide(facts()).plan.estimate.strategy is Strategy.WARM_UP_AGENT

    def test_without_a_deadline_and_an_instance_nothing_is_paid(self):
        assert decide(no_instance()).plan.estimate.strategy is Strategy.BACKGROUND

    def test_the_rate_is_the_lowest_that_meets_the_deadline(self):
        full = no_instance(data_bytes=1024 * GIB, snapshot_size_gib=1024)
        rate = decide(full, 2 * HOUR).plan.estimate.rate_mib_s
        # 2 h less 60 s (create) and 300 s (status) = 6,840 s: 1,048,576 MiB / 0.9 / 6,840 s = 170.3.
        assert rate == 171

    def test_a_budget_lowers_the_rate_and_the_deadline_is_missed(self):
        full = no_instance(data_bytes=1024 * GIB, snapshot_size_gib=1024)
        decision = decide(full, 2 * HOUR, Decimal("2.00"), fixed=Strategy.PROVISIONED_RATE)
        assert decision.plan.deadline_missed
        # 1,024 GiB x $0.0000144 = $0.0147456 for each MiB/s; $2.00 buys 135.
        assert decision.plan.estimate.rate_mib_s == 135

    def test_a_budget_of_nothing_still_allows_what_costs_nothing(self):
        assert decide(no_instance(), budget=Decimal(0)).plan.estimate.strategy is Strategy.BACKGROUND

    def test_the_quota_is_shared_by_the_volumes_of_a_restore(self):
        outcome = estimates.provisioned_rate(no_instance(volumes_of_restore=51), BOOK, Limits())
        assert isinstance(outcome, Infeasible)
        assert "leaves 98 MiB/s for each of 51 volumes" in outcome.reason

    def test_a_fixed_strategy_over_the_budget_is_refused(self):
        objective = Objective(budget_usd=Decimal("0.10"), fixed=Strategy.FAST_SNAPSHOT_RESTORE)
        with pytest.raises(
            NoStrategyFitsError,
            match=r"^objective.strategy: fast-snapshot-restore: costs \$0.90, over the budget of \$0.10",
        ):
            choose(facts(), objective, BOOK)

    def test_a_strict_request_lets_only_what_is_in_time_take_over(self):
        decision = decide(facts(), 30 * 60, strict=True)
        assert [one.estimate.strategy for one in decision.fallbacks] == [
            Strategy.PROVISIONED_RATE,
            Strategy.FAST_SNAPSHOT_RESTORE,
        ]

    def test_a_dearer_one_is_told_by_how_much(self):
        decision = decide(facts(), 30 * 60)
        (reason,) = (one.reason for one in decision.considered if one.strategy is Strategy.PROVISIONED_RATE)
        assert re.match(r"Dearer by \$0\.\d+; it would be at full speed within \d+ min\.$", reason)

    @pytest.mark.parametrize(
        ("budget", "words"),
        [(None, "No strategy meets the deadline;"), (Decimal(9), "No strategy within the budget meets")],
    )
    def test_a_budget_is_named_only_where_there_is_one(self, budget, words):
        assert decide(facts(), 60, budget).plan.why.startswith(words)


class TestProperties:
    @settings(max_examples=200, deadline=None)
    @given(any_facts(), st.floats(1, 5 * 24 * HOUR), st.floats(0, 5 * 24 * HOUR), budgets)
    def test_a_longer_deadline_never_costs_more(self, the_facts, deadline, longer, budget):
        short, long = decide(the_facts, deadline, budget), decide(the_facts, deadline + longer, budget)
        assert (short is None) == (long is None)
        if short is not None:
            assert long.plan.estimate.decidable_usd <= short.plan.estimate.decidable_usd

    @settings(max_examples=200, deadline=None)
    @given(
        any_facts(), st.floats(1, 5 * 24 * HOUR), st.decimals(0, 100, places=2), st.decimals(0, 100, places=2)
    )
    def test_a_larger_budget_never_turns_in_time_into_late(self, the_facts, deadline, budget, more):
        small, large = decide(the_facts, deadline, budget), decide(the_facts, deadline, budget + more)
        assume(small is not None)
        assert large.plan.deadline_missed <= small.plan.deadline_missed
        if large.plan.deadline_missed:
            assert large.plan.estimate.times.ready_p90 <= small.plan.estimate.times.ready_p90

    @settings(max_examples=200, deadline=None)
    @given(any_facts(), deadlines, budgets)
    def test_the_plan_meets_deadline_and_budget_or_says_so(self, the_facts, deadline, budget):
        decision = decide(the_facts, deadline, budget)
        assume(decision is not None)
        for one in (decision.plan, *decision.fallbacks):
            late = deadline is not None and one.estimate.times.ready_p90 > deadline
            assert one.deadline_missed is late
            assert budget is None or one.estimate.decidable_usd <= budget

    @settings(max_examples=100, deadline=None)
    @given(any_facts(), st.floats(1, 300), budgets)
    def test_a_late_plan_is_chosen_only_where_nothing_is_in_time(self, the_facts, deadline, budget):
        decision = decide(the_facts, deadline, budget)
        assume(decision is not None and decision.plan.deadline_missed)
        assert all(one.deadline_missed for one in decision.fallbacks)

    @settings(max_examples=100, deadline=None)
    @given(any_facts(), deadlines, budgets, st.permutations(list(ESTIMATORS)))
    def test_the_order_of_strategies_changes_neither_price_nor_time(self, the_facts, deadline, budget, order):
        one = decide(the_facts, deadline, budget)
        assume(one is not None)
        other = choose(
            the_facts, Objective(deadline, budget), BOOK, {name: ESTIMATORS[name] for name in order}
        )
        assert other.plan.estimate.decidable_usd == one.plan.estimate.decidable_usd
        assert other.plan.estimate.times.ready_p90 == one.plan.estimate.times.ready_p90

    @settings(max_examples=100, deadline=None)
    @given(any_facts(), deadlines, budgets)
    def test_nobody_pays_for_fast_snapshot_restore_and_a_rate(self, the_facts, deadline, budget):
        for name, estimator in ESTIMATORS.items():
            outcome = estimator(the_facts, BOOK, Limits(deadline, budget))
            if isinstance(outcome, Estimate):
                assert (outcome.rate_mib_s is not None) == (name is Strategy.PROVISIONED_RATE)
                items = {part.item for part in outcome.parts}
                assert len(items & {"Fast snapshot restore", "Provisioned initialization rate"}) <= 1

    @settings(max_examples=100, deadline=None)
    @given(any_facts(), deadlines, budgets)
    def test_every_strategy_is_considered_and_one_is_chosen(self, the_facts, deadline, budget):
        decision = decide(the_facts, deadline, budget)
        assume(decision is not None)
        assert {one.strategy for one in decision.considered} == set(ESTIMATORS)
        assert [one.strategy for one in decision.considered if one.chosen] == [
            decision.plan.estimate.strategy
        ]
        assert all(one.reason.endswith(".") for one in decision.considered)

    @settings(max_examples=100, deadline=None)
    @given(any_facts(), st.floats(0, 10), st.floats(0, 10))
    def test_more_credits_are_never_slower(self, the_facts, credits_left, more):
        fewer = replace(the_facts, fast_restore=FastSnapshotRestore("enabled", NOW, credits_left))
        greater = replace(the_facts, fast_restore=FastSnapshotRestore("enabled", NOW, credits_left + more))
        assert estimates.fsr_lead_seconds(greater) <= estimates.fsr_lead_seconds(fewer)

    @settings(max_examples=100, deadline=None)
    @given(st.integers(GIB, 16_384 * GIB), st.integers(101, 300))
    def test_no_lower_rate_would_do(self, data_bytes, rate):
        just_enough = 60 + 300 + data_bytes / MIB / 0.9 / rate + 0.001
        the_facts = no_instance(data_bytes=data_bytes)
        estimate = estimates.provisioned_rate(the_facts, BOOK, Limits(just_enough))
        assert estimate.times.ready_p90 <= just_enough
        slower = 60 + 300 + data_bytes / MIB / 0.9 / (estimate.rate_mib_s - 1)
        assert slower > just_enough or estimate.rate_mib_s == 100

    @settings(max_examples=100, deadline=None)
    @given(any_facts(), deadlines)
    def test_p90_is_never_sooner_than_p50_and_ready_never_sooner_than_usable(self, the_facts, deadline):
        for estimator in ESTIMATORS.values():
            outcome = estimator(the_facts, BOOK, Limits(deadline))
            if isinstance(outcome, Estimate):
                times = outcome.times
                assert times.usable_p50 <= times.ready_p50 <= times.ready_p90
                assert times.usable_p50 <= times.usable_p90 <= times.ready_p90
