"""The choice: reference cases by hand, and what must hold for every request."""

from __future__ import annotations

import re
from dataclasses import replace
from decimal import Decimal

import pytest

from rewarm.domain.errors import NoStrategyFitsError
from rewarm.domain.model import GIB, FastSnapshotRestore, InstanceEbsLimits, Strategy, VolumeSettings
from rewarm.domain.plan import cost, estimators, warm_up
from rewarm.domain.plan.estimates import LONGEST_RESTORE_SECONDS, EstimateLimits, Infeasible
from rewarm.domain.plan.facts import CloneSource, beside_each_other
from rewarm.domain.plan.strategy import PlanObjective, choose, choose_all
from rewarm.domain.volume.volume_types import VolumeLimits
from tests.support.builders import NOW, facts
from tests.support.fakes import tokyo_prices

BOOK = tokyo_prices(NOW)
HOUR = 3_600


def no_instance(**changes):
    return facts(instance_limits=None, agent_available=False, **changes)


def decide(the_facts, deadline=None, budget=None, **more):
    """None where nothing fits."""
    try:
        return choose(the_facts, PlanObjective(deadline, budget, **more), BOOK)
    except NoStrategyFitsError:
        return None


class TestReferenceCases:
    def test_the_agent_reads_40_gib_at_the_volumes_limit(self):
        estimate = warm_up.warm_up_agent(facts(), BOOK, EstimateLimits())
        # 40,960 MiB / 125 MiB/s = 328 s; create 10, attach 5, delivery 5, verify 10.
        assert estimate.times.ready_p50 == pytest.approx(328 + 30, abs=1)
        # P90: three quarters of the 125 MiB/s; 60 + 30 + 60 + 60.
        assert estimate.times.ready_p90 == pytest.approx(437 + 210, abs=1)

    def test_an_instance_that_is_started_takes_its_boot_too(self):
        times = warm_up.warm_up_agent(facts(), BOOK, EstimateLimits()).times
        started = warm_up.warm_up_agent(facts(starts_instance=True), BOOK, EstimateLimits()).times
        assert (started.ready_p50 - times.ready_p50, started.usable_p90 - times.usable_p90) == (60, 300)

    def test_one_tib_of_data_at_300_takes_58_minutes_and_at_100_175(self):
        full = no_instance(data_bytes=1024 * GIB)
        slow = estimators.provisioned_rate(full, BOOK, EstimateLimits())
        fast = estimators.provisioned_rate(full, BOOK, EstimateLimits(deadline_seconds=1.0))
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
        lead = estimators.fsr_lead(facts(snapshot_size_gib=size_gib))
        # The credit metric comes by the minute.
        assert (lead.p50 - 60) / HOUR == pytest.approx(hours)

    def test_all_volumes_of_a_snapshot_are_written_beside_each_other_and_pay_its_blocks_together(self):
        one = facts(
            data_bytes=100 * GIB,
            written_bytes=100 * GIB,
            written_blocks=204_800,
            snapshot_size_gib=100,
            instance_limits=InstanceEbsLimits(75.0, 1_192.0, 3_600, 20_000),
            instance_id="i-1",
            agent_writes=True,
        )
        beside = beside_each_other([one] * 8)[0]
        estimate = estimators.direct_write(beside, BOOK, EstimateLimits())
        # Each of 8 is written and read back through three quarters of 75 MiB/s; 60 + 30 + 60 + 60 as above.
        assert estimate.times.ready_p90 == pytest.approx(8 * 2 * 102_400 / (0.75 * 75) + 210)
        assert 8 * estimate.decidable_usd == pytest.approx(
            cost.total(cost.blocks(204_800, BOOK)), abs=Decimal("0.00002")
        )

    @pytest.mark.parametrize("size_gib", [16_384, 65_536])
    def test_the_largest_volumes_have_time_to_load_in_the_background(self, size_gib):
        found = decide(no_instance(data_bytes=size_gib * GIB), fixed=Strategy.BACKGROUND)
        assert found.plan.estimate.times.ready_p90 <= LONGEST_RESTORE_SECONDS

    def test_no_plan_takes_longer_than_a_restore_may(self):
        """A hundred volumes of 16 TiB with a credit each 16 hours; two would be in time."""
        enabled = FastSnapshotRestore("enabled", NOW, 0.0)
        many = [no_instance(snapshot_size_gib=16_384, fast_restore=enabled)] * 200
        reasons = {
            considered.reason
            for decision in choose_all(many, PlanObjective(), BOOK)
            for considered in decision.considered
            if considered.strategy is Strategy.FAST_SNAPSHOT_RESTORE and not considered.chosen
        }
        assert reasons == {"Not possible: full speed only within 133 d 8 h, and a restore may take 90 d."}
        with pytest.raises(NoStrategyFitsError, match="a restore may take 90 d"):
            choose_all(many, PlanObjective(None, None, fixed=Strategy.FAST_SNAPSHOT_RESTORE), BOOK)

    def test_twelve_volumes_of_one_snapshot_need_twelve_credits(self):
        enabled = facts(fast_restore=FastSnapshotRestore("enabled", NOW, 10.0), volumes_of_snapshot=12)
        lead = estimators.fsr_lead(enabled)
        # Ten find a credit, the eleventh waits 6 min and the twelfth 12 min.
        assert lead.p50 == pytest.approx(60 + 2 / 10 * HOUR)
        assert lead.p90 == pytest.approx(180 + 2 / 10 * HOUR)

    def test_enabled_with_a_credit_is_fast_at_once(self):
        enabled = no_instance(fast_restore=FastSnapshotRestore("enabled", NOW, 1.0))
        assert estimators.fast_snapshot_restore(enabled, BOOK, EstimateLimits()).times.ready_p50 == 10 + 60

    @pytest.mark.parametrize(
        ("changes", "reason"),
        [
            ({"snapshot_size_gib": 16_385}, "at most 16,384 GiB"),
            ({"fast_restore_quota_left": 0}, "quota"),
            ({"fast_restore": FastSnapshotRestore("disabling")}, "being disabled"),
            ({"speed": VolumeLimits(64_001, 1_000.0, 1_000.0)}, "benefit ends at 64,000 IOPS"),
            ({"speed": VolumeLimits(64_000, 1_001.0, 1_001.0)}, "and 1,000 MiB/s"),
        ],
    )
    def test_fast_snapshot_restore_has_limits(self, changes, reason):
        outcome = estimators.fast_snapshot_restore(facts(**changes), BOOK, EstimateLimits())
        assert isinstance(outcome, Infeasible)
        assert reason in outcome.reason

    @pytest.mark.parametrize(
        "speed", [VolumeLimits(64_001, 1_000.0, 1_000.0), VolumeLimits(8_000, 2_000.0, 2_000.0)]
    )
    def test_fast_snapshot_restore_that_is_paid_already_is_taken_as_far_as_it_goes(self, speed):
        enabled = FastSnapshotRestore("enabled", NOW, 1.0)
        plan = decide(no_instance(speed=speed, fast_restore=enabled), 600.0).plan
        assert plan.estimate.strategy is Strategy.FAST_SNAPSHOT_RESTORE
        assert plan.estimate.decidable_usd == 0
        assert not plan.deadline_missed
        assert "its full benefit ends at 64,000 IOPS and 1,000 MiB/s" in plan.estimate.note
        slower = no_instance(speed=VolumeLimits(64_000, 1_000.0, 1_000.0), fast_restore=enabled)
        assert decide(slower, 600.0).plan.estimate.note == ""

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
        outcome = estimators.provisioned_rate(no_instance(volumes_of_restore=51), BOOK, EstimateLimits())
        assert isinstance(outcome, Infeasible)
        assert "leaves 5,000 MiB/s, which is 98 MiB/s for each of 51 volumes" in outcome.reason

    def test_a_fixed_strategy_over_the_budget_is_refused(self):
        objective = PlanObjective(budget_usd=Decimal("0.10"), fixed=Strategy.FAST_SNAPSHOT_RESTORE)
        with pytest.raises(
            NoStrategyFitsError,
            match=r"^objective.maxCostUsd: no strategy fits: the budget is \$0.80 too small. "
            r"fast-snapshot-restore: costs \$0.90, over the budget of \$0.10$",
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
        assert re.match(r"Costs \$0\.\d+ more; full speed within \d+ min\.$", reason)

    @pytest.mark.parametrize(
        ("budget", "words"),
        [(None, "No strategy meets the deadline;"), (Decimal(9), "No strategy within the budget meets")],
    )
    def test_a_budget_is_named_only_where_there_is_one(self, budget, words):
        assert decide(facts(), 60, budget).plan.why.startswith(words)


class TestVolumeClone:
    SOURCE = CloneSource("vol-1", 1_024, VolumeLimits(16_000, 1_000.0, 1_000.0))

    def clone(self, limits=EstimateLimits(), book=BOOK, **changes):  # noqa: B008 - frozen
        return estimators.volume_clone(no_instance(**{"clone_source": self.SOURCE, **changes}), book, limits)

    @pytest.mark.parametrize(
        ("size_gib", "p50_hours", "p90_hours"),
        # Up to 6 h for the first TiB and 1.2 h for each further one to 16 TiB, 24 h above; half is expected.
        [(100, 3, 6), (1_024, 3, 6), (4_096, 4.8, 9.6), (16_384, 12, 24), (65_536, 12, 24)],
    )
    def test_takes_as_long_as_aws_says_at_most(self, size_gib, p50_hours, p90_hours):
        times = self.clone(clone_source=replace(self.SOURCE, size_gib=size_gib)).times
        # create 10 / 60 s, status 120 / 300 s
        assert times.ready_p50 - 130 == pytest.approx(p50_hours * HOUR)
        assert times.ready_p90 - 360 == pytest.approx(p90_hours * HOUR)
        assert times.usable_p50 == 10

    def test_says_what_it_holds_and_that_it_counts_on_the_baseline_until_then(self):
        assert self.clone().note == (
            "it holds what is on vol-1 now, not the snapshot's data, and until it is initialized the plan "
            "counts on its baseline of 3,000 IOPS and 125 MiB/s, above which EBS may go where source and "
            "copy have more; AWS bills the copy too, at a price not known here"
        )

    def test_the_baseline_is_no_more_than_source_and_copy_have(self):
        slow = replace(self.SOURCE, speed=VolumeLimits(3_000, 100.0, 250.0))
        assert "its baseline of 3,000 IOPS and 100 MiB/s" in self.clone(clone_source=slow).note
        fast = VolumeLimits(16_000, 1_000.0, 1_000.0)
        both = self.clone(clone_source=replace(self.SOURCE, speed=fast), speed=fast)
        assert "its baseline of 3,000 IOPS and 125 MiB/s" in both.note

    def test_counts_the_users_own_price(self):
        priced = replace(BOOK, clone_usd_per_gib=Decimal("0.002"))
        assert self.clone(book=priced).decidable_usd == Decimal("2.048")
        assert "not known" not in (self.clone(book=priced).note or "")
        assert self.clone().parts[1].arithmetic == "AWS names no price here, so it is not counted"

    @pytest.mark.parametrize(
        ("changes", "limits", "reason"),
        [
            ({"clone_source": None}, EstimateLimits(), "not alive in the target's Availability Zone"),
            ({"clone_source": replace(SOURCE, being_copied=True)}, EstimateLimits(), "one copy at a time"),
            (
                {"clone_quota_left": 0},
                EstimateLimits(),
                "quota leaves 0 copies, and this restore would need 1",
            ),
            ({"settings": VolumeSettings("gp3", 1_000)}, EstimateLimits(), "has grown to 1,024 GiB"),
            ({}, EstimateLimits(budget_usd=Decimal(100)), "no price for volume clones"),
        ],
    )
    def test_is_refused_with_the_reason(self, changes, limits, reason):
        outcome = self.clone(limits, **changes)
        assert isinstance(outcome, Infeasible)
        assert reason in outcome.reason

    def test_is_taken_only_where_the_request_names_it(self):
        there = no_instance(clone_source=self.SOURCE)
        asked = decide(there, fixed=Strategy.VOLUME_CLONE)
        assert asked.plan.estimate.strategy is Strategy.VOLUME_CLONE
        assert "not the snapshot's data" in asked.plan.why
        assert asked.fallbacks == ()
        unasked = decide(there, 7 * HOUR, fixed=None)
        reasons = {one.strategy: one.reason for one in unasked.considered}
        assert reasons[Strategy.VOLUME_CLONE].startswith(
            "Only where the request names it: it holds what is on"
        )

    def test_several_at_once_need_the_quota_for_all(self):
        volumes = [no_instance(clone_source=replace(self.SOURCE, volume_id=f"vol-{n}")) for n in range(6)]
        with pytest.raises(NoStrategyFitsError, match=r"leaves 5 copies, and this restore would need 6"):
            choose_all(volumes, PlanObjective(fixed=Strategy.VOLUME_CLONE), BOOK)


class TestSeveralVolumes:
    def test_a_snapshot_too_many_for_the_quota_keeps_all_from_fast_snapshot_restore(self):
        volumes = [no_instance(snapshot_id=f"snap-{n}", fast_restore_quota_left=2) for n in range(3)]
        with pytest.raises(NoStrategyFitsError, match=r"leaves 2 in this Region, and .* would need 3"):
            choose_all(volumes, PlanObjective(fixed=Strategy.FAST_SNAPSHOT_RESTORE), BOOK)

    def test_a_snapshot_that_has_it_already_needs_no_quota(self):
        enabled = FastSnapshotRestore("enabled", NOW, 10.0)
        (one,) = choose_all(
            [no_instance(fast_restore=enabled, fast_restore_quota_left=0)], PlanObjective(240.0), BOOK
        )
        assert one.plan.estimate.strategy is Strategy.FAST_SNAPSHOT_RESTORE

    def test_agents_side_by_side_promise_no_more_than_the_instance_has(self):
        limits = InstanceEbsLimits(125.0, 125.0, 20_000, 20_000)
        alone = facts(instance_limits=limits, instance_id="i-1")
        # 328 s alone, 655 s side by side, and 210 s in common.
        assert choose(alone, PlanObjective(700.0), BOOK).plan.estimate.strategy is Strategy.WARM_UP_AGENT
        decisions = choose_all([alone, alone], PlanObjective(700.0), BOOK)
        strategies = {decision.plan.estimate.strategy for decision in decisions}
        assert strategies == {Strategy.WARM_UP_AGENT, Strategy.PROVISIONED_RATE}

    def test_one_that_reads_on_another_instance_is_no_burden(self):
        limits = InstanceEbsLimits(125.0, 125.0, 20_000, 20_000)
        volumes = [facts(instance_limits=limits, instance_id=name) for name in ("i-1", "i-2")]
        for decision in choose_all(volumes, PlanObjective(1_000.0), BOOK):
            assert decision.plan.estimate.strategy is Strategy.WARM_UP_AGENT

    def test_volumes_of_one_instance_share_the_ebs_card_that_they_are_on(self):
        limits = InstanceEbsLimits(125.0, 125.0, 20_000, 20_000)
        on_cards = [facts(instance_limits=limits, instance_id="i-1", card=card) for card in (0, 1)]
        for decision in choose_all(on_cards, PlanObjective(700.0), BOOK):
            assert decision.plan.estimate.strategy is Strategy.WARM_UP_AGENT
        both = choose_all([on_cards[1], on_cards[1]], PlanObjective(700.0), BOOK)
        strategies = {decision.plan.estimate.strategy for decision in both}
        assert strategies == {Strategy.WARM_UP_AGENT, Strategy.PROVISIONED_RATE}

    def test_the_last_millionth_of_a_dollar_is_shared_too(self):
        volumes = [no_instance(snapshot_id="snap-1") for _ in range(7)]
        decisions = choose_all(volumes, PlanObjective(fixed=Strategy.FAST_SNAPSHOT_RESTORE), BOOK)
        # $0.90 an hour, one hour: 7 credits are there after 42 min.
        assert sum(one.plan.estimate.decidable_usd for one in decisions) == Decimal("0.90")
