"""A snapshot of another Region: copy and strategy are chosen together, held against every duration."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import assume, given

from rewarm.domain.errors import NoStrategyFitsError
from rewarm.domain.model import GIB, MIB, InstanceEbsLimits, Strategy, VolumeSettings
from rewarm.domain.plan import copying, cost
from rewarm.domain.plan.copying import (
    CopySource,
    choose_with_copies,
    durations,
    frontier_with_copies,
    lead_of,
)
from rewarm.domain.plan.estimates import Estimate, EstimateLimits, Infeasible, PlanObjective
from rewarm.domain.plan.estimators import direct_write
from rewarm.domain.time.measured import Phase
from rewarm.domain.volume.volume_types import VolumeLimits
from tests.support.amount import cases
from tests.support.builders import facts
from tests.support.values.facts import HOUR, TOKYO, any_facts, budgets, deadlines

IRELAND = CopySource("eu-west-1", Decimal("0.02"))


FACTS = facts(settings=VolumeSettings("gp3", 100, 3_000, 125), snapshot_id="snap-0")


def sized(data_bytes):
    return replace(FACTS, data_bytes=data_bytes)


def planned(volumes, deadline=None, budget=None, source=IRELAND):
    return choose_with_copies(volumes, source, PlanObjective(deadline, budget), TOKYO)


class TestDurations:
    def test_a_small_snapshot_may_have_each_price(self):
        volume = sized(100 * GIB)
        assert durations([volume]) == [15, 30, 60, 120, 240, 480, 960]

    def test_a_copy_has_500_mib_a_second_at_most(self):
        """AWS's own example: 900,000 MiB take 30 minutes at least."""
        volume = sized(900_001 * MIB)
        assert durations([replace(volume, data_bytes=900_000 * MIB)])[0] == 30
        assert durations([volume])[:2] == [45, 60]

    def test_all_copies_together_have_2000(self):
        volume = sized(900_000 * MIB)
        assert durations([volume] * 4)[0] == 30
        assert durations([volume] * 5)[0] == 45

    def test_48_hours_are_the_most(self):
        volume = sized(64 * 1024 * GIB)
        assert durations([volume]) == [2_250]
        assert durations([volume] * 6) == []
        with pytest.raises(NoStrategyFitsError, match="take more than 2 d"):
            planned([volume] * 6)


@pytest.mark.parametrize(
    ("minutes", "usd"),
    [
        (15, "60"),
        (45, "54"),
        (60, "48"),
        (105, "48"),
        (225, "42"),
        (465, "36"),
        (480, "30"),
        (945, "30"),
        (960, "15"),
    ],
)
def test_a_copy_costs_by_its_duration(minutes, usd):
    """AWS's own example: 3,000 GiB within 8 hours cost $30."""
    assert cost.timed_copy(3_000 * GIB, minutes).usd == Decimal(usd)


def test_two_copies_of_a_snapshot_follow_each_other():
    volume = sized(10 * GIB)
    other = replace(volume, snapshot_id="snap-other")
    assert lead_of([volume, other], 30).p50 == 1_800
    assert lead_of([volume, volume], 30).p50 == 3_600


@cases(12, 1_000)
@given(any_facts(), deadlines, budgets)
def test_no_duration_is_cheaper_in_time(volume, deadline, budget):
    """Each of the 192 durations that AWS takes, and the strategies with what it leaves."""
    assume(durations([volume]))
    best = outcome(volume, deadline, budget, durations([volume]))
    every = range(durations([volume])[0], copying.MOST_MINUTES + 1, copying.STEP_MINUTES)
    assert best == min(
        (found for minutes in every if (found := outcome(volume, deadline, budget, [minutes]))), default=None
    )


def outcome(volume, deadline, budget, minutes):
    """Whether it is late, and then how late, else its price; None where nothing fits."""
    found = []
    for one in minutes:
        try:
            plan = copying._plan([volume], IRELAND, one, PlanObjective(deadline, budget), TOKYO)
        except NoStrategyFitsError:
            continue
        found.append((plan.is_late, plan.ready_p90 if plan.is_late else 0.0, plan.usd))
    return min(found, default=None)


@pytest.mark.parametrize("deadline", [None, 2.0 * HOUR, 30.0 * HOUR])
def test_every_estimate_has_the_copy_in_time_and_price(deadline):
    plan = planned([sized(100 * GIB)], deadline)
    seconds = plan.minutes * 60
    for considered in plan.decisions[0].considered:
        if considered.estimate is not None:
            phase, lead = considered.estimate.times.phases[0]
            assert (phase, lead.p50) == (Phase.COPY, seconds)
            assert considered.estimate.times.usable_p50 > seconds
            assert [part.item for part in considered.estimate.parts][:2] == [
                "Time-based snapshot copy",
                "Data transfer from eu-west-1",
            ]
            assert considered.estimate.decidable_usd >= Decimal("2.5")


class TestTransferWithoutAPrice:
    def test_is_said_in_the_plan(self):
        volume = sized(100 * GIB)
        plan = planned([volume], source=CopySource("eu-west-1", None))
        line = plan.decisions[0].plan.estimate.parts[1]
        assert (line.usd, line.arithmetic) == (0, "its price is not known here, so it is not counted")

    def test_keeps_no_budget(self):
        volume = sized(100 * GIB)
        with pytest.raises(NoStrategyFitsError, match="no budget can be kept") as refusal:
            planned([volume], budget=Decimal(100), source=CopySource("eu-west-1", None))
        assert refusal.value.field == "objective.maxCostUsd"


def test_a_budget_below_the_cheapest_copy_names_the_copy():
    volume = sized(100 * GIB)
    with pytest.raises(
        NoStrategyFitsError, match=r"after a copy from eu-west-1 that takes 16 h and costs \$2.50"
    ):
        planned([volume], budget=Decimal(1))


def test_a_deadline_before_every_copy_is_said_of_the_soonest():
    with pytest.raises(
        NoStrategyFitsError, match=r"after a copy .* takes 15 min .* the deadline is"
    ) as refusal:
        choose_with_copies([sized(100 * GIB)], IRELAND, PlanObjective(60.0, strict=True), TOKYO)
    assert str(refusal.value).count("objective.readyWithinMinutes") == 1


def test_the_what_if_has_the_copies_in_it():
    """At each step's deadline the plan costs what the step says, and no step is sooner than a copy."""
    volume = sized(100 * GIB)
    steps = frontier_with_copies([volume], IRELAND, PlanObjective(), TOKYO)
    assert [step.cost_usd for step in steps] == sorted((step.cost_usd for step in steps), reverse=True)
    assert steps[0].deadline_seconds > 15 * 60
    for step in (steps[0], steps[len(steps) // 2], steps[-1]):
        plan = planned([volume], step.deadline_seconds)
        assert not plan.is_late
        assert plan.decisions[0].plan.estimate.cost_usd <= step.cost_usd


class TestDirectWrite:
    """It reads the blocks in the other Region, so there is no copy to wait and pay for."""

    FAST = replace(
        sized(100 * GIB),
        agent_writes=True,
        speed=VolumeLimits(16_000, 1_000.0, 1_000.0),
        instance_limits=InstanceEbsLimits(2_500.0, 2_500.0, 80_000, 80_000),
    )

    def test_is_taken_where_no_copy_is_in_time(self):
        plan = planned([self.FAST], 800)
        (decision,) = plan.decisions
        assert decision.plan.estimate.strategy is Strategy.DIRECT_WRITE
        assert not plan.is_late
        assert decision.plan.why.startswith("direct-write is the cheapest that meets the deadline")
        assert decision.plan.estimate.parts[0].item == "Data transfer from eu-west-1"
        assert Phase.COPY not in dict(decision.plan.estimate.times.phases)

    def test_lets_the_ways_with_a_copy_take_over(self):
        (decision,) = planned([self.FAST], 800).decisions
        assert decision.fallbacks
        for fallback in decision.fallbacks:
            assert Phase.COPY in dict(fallback.estimate.times.phases)
        assert [one.strategy for one in decision.considered if one.chosen] == [Strategy.DIRECT_WRITE]
        assert len({one.strategy for one in decision.considered}) == len(decision.considered)

    def test_takes_over_from_them_last(self):
        (decision,) = planned([replace(self.FAST, written_blocks=100 * 2_048)]).decisions
        assert Phase.COPY in dict(decision.plan.estimate.times.phases)
        assert decision.fallbacks[-1].estimate.strategy is Strategy.DIRECT_WRITE

    def test_is_not_for_a_volume_that_is_written_longer_than_its_packs_can_be_loaded(self):
        slow = replace(self.FAST, speed=VolumeLimits(3_000, 125.0, 125.0))
        for gib, is_possible in ((1_024, True), (4_096, False)):
            settings = VolumeSettings("gp3", gib, 3_000, 125)
            large = replace(slow, settings=settings, snapshot_size_gib=gib, written_bytes=gib * GIB)
            found = direct_write(large, TOKYO, EstimateLimits())
            assert isinstance(found, Estimate) is is_possible
        assert isinstance(found, Infeasible)
        assert "packs can be loaded for 12 h" in found.reason

    def test_several_volumes_of_a_snapshot_pay_the_blocks_once_and_the_transfer_each(self):
        book = replace(TOKYO, get_blocks_usd_per_thousand=Decimal(3))
        volumes = [self.FAST] * 3
        plan = choose_with_copies(volumes, IRELAND, PlanObjective(fixed=Strategy.DIRECT_WRITE), book)
        blocks = sum(
            part.usd
            for decision in plan.decisions
            for part in decision.plan.estimate.parts
            if part.item == "GetSnapshotBlock requests"
        )
        assert blocks == Decimal(3) * self.FAST.written_blocks / 1_000
