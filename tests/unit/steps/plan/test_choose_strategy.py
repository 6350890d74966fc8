"""State Choose Strategy."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from rewarm.contracts.values import Approval
from rewarm.domain.errors import NoStrategyFitsError
from rewarm.domain.model import GIB, FastSnapshotRestore, Strategy
from rewarm.domain.plan.facts import UnusedQuotas
from rewarm.domain.time.timings import PRIORS
from rewarm.domain.units import duration_text
from rewarm.steps.plan.choose_strategy import ChooseStrategyEvent, ChooseStrategyPorts, choose_strategy
from rewarm.steps.record.payloads import write_volumes
from tests.support.builders import (
    NOW,
    RESTORE_ID,
    SNAPSHOT_ID,
    TO_INSTANCE,
    TO_ZONE,
    ZONE,
    World,
    assignment,
    at,
    request,
    zone_assignment,
)
from tests.support.holds import FakePace
from tests.support.wired import wired

CALIBRATION = Path("events/calibration.json")


def choose(
    world, body=None, *, volumes=None, minutes=None, pace=None, turn_at=None, approved=None, **objective
):
    event = ChooseStrategyEvent(
        restore_id=RESTORE_ID,
        now=NOW,
        request=request(body or TO_INSTANCE, objective=objective),
        deadline_at=at(minutes) if minutes else None,
        volumes_key=write_volumes(RESTORE_ID, volumes or [assignment()], world.artifacts),
        approved=approved,
        turn_at=turn_at,
    )
    return choose_strategy(event, wired(ChooseStrategyPorts, world, pace=pace or FakePace()))


def calibrated(**values):
    """A kept calibration of these figures."""
    figures = {
        name: {"value": value, "low": value, "high": value, "observations": 9}
        for name, value in values.items()
    }
    example = json.loads(CALIBRATION.read_text(encoding="utf-8"))
    return {"calibration": {**example, "figures": figures}, "storedAt": None}


class TestChooseStrategy:
    def test_warms_up_where_that_is_in_time_because_it_costs_nothing(self):
        result = choose(World(), minutes=30)
        (one,) = result.plans
        assert one.plan.strategy is Strategy.WARM_UP_AGENT
        assert not one.plan.deadline_missed
        assert one.plan.ready_p90_seconds <= 30 * 60

    def test_considers_every_strategy_and_says_why(self):
        (one,) = choose(World(), minutes=30).plans
        assert {candidate.strategy for candidate in one.candidates} == {
            one for one in Strategy if one.makes_volume
        }
        assert sum(candidate.chosen for candidate in one.candidates) == 1
        assert all(candidate.reason for candidate in one.candidates)
        reasons = {candidate.strategy: candidate.reason for candidate in one.candidates}
        assert reasons[Strategy.BACKGROUND].startswith("Too late: full speed only within 24 h")

    def test_sends_no_agent_to_an_instance_without_nvme_and_says_so(self):
        world = World()
        world.instances.limits = replace(world.instances.limits, nvme=False)
        result = choose(world, minutes=30)
        (one,) = result.plans
        assert not one.volume.agent_available, "who measures and who falls back goes by it"
        assert one.plan.strategy is Strategy.PROVISIONED_RATE
        assert set(one.plan.phases).isdisjoint({"measure", "verify", "read"})
        reasons = {candidate.strategy: candidate.reason for candidate in one.candidates}
        assert "the instance type has no NVMe" in reasons[Strategy.WARM_UP_AGENT]
        assert "the verdict is unmeasured" in " ".join(result.summary.notes)

    def test_pays_for_the_lowest_rate_where_there_is_no_instance(self):
        (one,) = choose(World(), TO_ZONE, volumes=[zone_assignment()], minutes=15).plans
        assert one.plan.strategy is Strategy.PROVISIONED_RATE
        # 40,960 MiB within 15 min less creation (60 s) and AWS's delay (300 s): at 90 % that is 85 MiB/s.
        assert one.plan.initialization_rate_mib_s == 100
        assert one.plan.cost_usd == Decimal("0.0576") + Decimal("0.000005")

    def test_writes_the_sums_out(self):
        (one,) = choose(World(), TO_ZONE, volumes=[zone_assignment()], minutes=15).plans
        parts = {part.item: part.arithmetic for part in one.plan.cost_parts}
        assert parts["Provisioned initialization rate"] == "40.000 GiB x 100 MiB/s x $0.0000144"
        assert parts["ListSnapshotBlocks requests"] == "9 requests x $0.0006 / 1,000"

    def test_lets_the_others_take_over_in_order(self):
        (one,) = choose(World(), minutes=30).plans
        assert [plan.strategy for plan in one.fallbacks] == [
            Strategy.BOOSTED_WARM_UP,
            Strategy.PROVISIONED_RATE,
            Strategy.DIRECT_WRITE,
            Strategy.FAST_SNAPSHOT_RESTORE,
            Strategy.BACKGROUND,
        ]
        assert one.fallbacks[-1].deadline_missed

    def test_marks_a_deadline_that_nothing_meets(self):
        result = choose(World(), minutes=1)
        assert result.summary.deadline_missed
        assert result.plans[0].plan.why.startswith("No strategy meets the deadline;")

    def test_refuses_where_the_request_is_strict(self):
        with pytest.raises(NoStrategyFitsError, match=r"^objective.readyWithinMinutes: no strategy fits"):
            choose(World(), minutes=1, strict=True)

    def test_honours_a_fixed_strategy_and_lets_nothing_take_over(self):
        (one,) = choose(World(), minutes=30, strategy="background").plans
        assert one.plan.strategy is Strategy.BACKGROUND
        assert one.plan.deadline_missed
        assert one.fallbacks == []

    def test_refuses_a_fixed_strategy_that_cannot_be_had_with_the_reason(self):
        with pytest.raises(
            NoStrategyFitsError, match=r"^objective.strategy: warm-up-agent: there is no target instance"
        ):
            choose(World(), TO_ZONE, volumes=[zone_assignment()], strategy="warm-up-agent")

    def test_takes_fast_snapshot_restore_where_it_is_enabled_already(self):
        world = World()
        world.fast_restores.states[SNAPSHOT_ID, ZONE] = FastSnapshotRestore("enabled", at(-600), 10.0)
        (one,) = choose(world, minutes=4, volumes=[assignment(agent_available=False)]).plans
        assert one.plan.strategy is Strategy.FAST_SNAPSHOT_RESTORE
        assert one.plan.cost_usd < Decimal("0.001")

    def test_volumes_of_one_snapshot_share_its_price(self):
        volumes = [assignment(index=index, device=f"/dev/sd{'fghi'[index]}") for index in range(4)]
        result = choose(World(), volumes=volumes, strategy="fast-snapshot-restore")
        parts = [part for one in result.plans for part in one.plan.cost_parts if part.item.startswith("Fast")]
        alone = choose(World(), strategy="fast-snapshot-restore").plans[0].plan.cost_parts
        assert sum(part.usd for part in parts) == pytest.approx(alone[1].usd, abs=Decimal("0.01"))
        assert parts[0].arithmetic.endswith("/ 4 volumes of the same snapshot")

    def test_the_budget_is_for_all_volumes_together(self):
        volumes = [zone_assignment(index=0), zone_assignment(index=1, data_bytes=80 * GIB)]
        # (40 + 80) GiB x 100 MiB/s x $0.0000144 = $0.1728
        result = choose(World(), TO_ZONE, volumes=volumes, strategy="provisioned-rate", maxCostUsd=0.1728)
        assert [one.plan.initialization_rate_mib_s for one in result.plans] == [100, 100]
        with pytest.raises(
            NoStrategyFitsError,
            match=r"^objective.maxCostUsd: no mix .* 2 volumes together: the budget is \$0.0001 too small$",
        ):
            choose(World(), TO_ZONE, volumes=volumes, strategy="provisioned-rate", maxCostUsd=0.1727)

    def test_a_boost_says_what_the_volume_is_created_with_and_for_how_long(self):
        world = World()
        world.history.calibrated = calibrated(firstTouchMs=91, fetchConcurrency=64, fetchUnitKib=512)
        (one,) = choose(world, minutes=8).plans
        assert one.plan.strategy is Strategy.BOOSTED_WARM_UP
        # 8 min less 60 + 30 + 60 + 60 s (create, attach, deliver, verify) leave 270 s:
        # 40,960 MiB / 270 s / 0.75 = 202.3 MiB/s. 78 MiB/s x $0.048 / 730 h x 0.1333 h = $0.000684.
        assert (one.plan.boost.volume_type, one.plan.boost.iops) == ("gp3", 3_000)
        assert one.plan.boost.throughput_mib_s == 203
        assert one.plan.cost_parts[1].usd == Decimal("0.000684")
        assert one.plan.cost_parts[1].arithmetic == "(78 MiB/s x $0.048) a month / 730 h x 0.13 h"

    def test_the_parts_of_the_time_add_up(self):
        (one,) = choose(World(), minutes=30).plans
        assert sum(p90 for _, p90 in one.plan.phases.values()) == pytest.approx(
            one.plan.ready_p90_seconds, abs=1
        )
        assert one.plan.read_limit_mib_s == pytest.approx(125)
        assert (one.plan.basis.source, one.plan.basis.restores) == ("priors", 0)

    def test_adds_the_volumes_up(self):
        volumes = [zone_assignment(index=0), zone_assignment(index=1)]
        result = choose(World(), TO_ZONE, volumes=volumes, strategy="provisioned-rate")
        assert result.summary.total_cost_usd == 2 * result.plans[0].plan.cost_usd
        assert result.summary.why == "2 volumes: 2 x provisioned-rate; the request asks for it."
        assert result.summary.price_source == "shipped price book"

    def test_beyond_the_quota_of_rate_a_volume_waits_for_its_turn(self):
        world = World()
        world.quotas.quotas = UnusedQuotas(0, 200, 5)
        volumes = [zone_assignment(index=index) for index in range(3)]
        result = choose(world, TO_ZONE, volumes=volumes, strategy="provisioned-rate")
        waiting = [planned.plan for planned in result.plans if planned.plan.start_at is not None]
        (first, *_), (last,) = (
            [planned.plan for planned in result.plans if planned.plan not in waiting],
            waiting,
        )
        assert first.start_at is None
        # It begins when the first of the others is expected to be loaded; EC2 says so later.
        lag = PRIORS.status_delay_seconds
        expected, latest = last.phases["queue"]
        assert expected == pytest.approx(first.ready_p50_seconds - lag.p50, abs=1)
        assert latest == pytest.approx(first.ready_p90_seconds - lag.p90, abs=1)
        assert (last.start_at - NOW).total_seconds() == pytest.approx(expected, abs=1)
        assert "1 begins when others have left enough of the Region's" in result.summary.why

    def test_of_a_late_plan_the_last_words_say_by_how_much_and_what_is_proven(self):
        volumes = [zone_assignment(index=index) for index in range(2)]
        result = choose(World(), TO_ZONE, volumes=volumes, minutes=1)
        summary = result.summary
        assert summary.deadline_seconds == 60
        assert summary.late_seconds == summary.schedule[0].ready_p90_seconds - 60
        late = duration_text(summary.late_seconds)
        assert summary.why.endswith(
            "; no other mix that is ready as soon costs less; "
            f"the last is ready {late} after the deadline (P90)."
        )

    def test_fast_snapshot_restore_says_what_keeping_it_enabled_would_cost(self):
        """0.90 USD an hour in Tokyo, 730 hours a month."""
        (planned,) = choose(World(), TO_ZONE, volumes=[zone_assignment()]).plans
        kept = {one.strategy: one.kept_on_usd_a_month for one in planned.candidates}
        assert kept.pop(Strategy.FAST_SNAPSHOT_RESTORE) == 657
        assert set(kept.values()) == {None}

    def test_says_what_a_polite_warm_up_cannot_promise(self):
        world = World()
        event = ChooseStrategyEvent(
            restore_id=RESTORE_ID,
            now=NOW,
            request=request(warmUp={"politeLatencyMs": 5}),
            volumes_key=write_volumes(RESTORE_ID, [assignment()], world.artifacts),
        )
        result = choose_strategy(event, wired(ChooseStrategyPorts, world, pace=FakePace()))
        assert "warmUp.politeLatencyMs 5 " in result.summary.notes[-1]

    def test_warms_up_no_faster_than_the_request_allows(self):
        world = World()
        event = ChooseStrategyEvent(
            restore_id=RESTORE_ID,
            now=NOW,
            request=request(warmUp={"maxMibPerSecond": 10}, objective={"strategy": "warm-up-agent"}),
            volumes_key=write_volumes(RESTORE_ID, [assignment()], world.artifacts),
        )
        result = choose_strategy(event, wired(ChooseStrategyPorts, world, pace=FakePace()))
        assert result.plans[0].plan.ready_p50_seconds >= 40 * 1024 / 10


class TestTurns:
    VOLUMES = (zone_assignment(index=0), zone_assignment(index=1))

    def test_each_volume_begins_when_ec2_can_answer_it(self):
        pace = FakePace(seconds_a_call=10)
        plans = choose(World(), TO_ZONE, volumes=[*self.VOLUMES], pace=pace).plans
        assert [one.starts_at for one in plans] == [NOW, NOW + timedelta(seconds=40)]

    def test_the_turn_of_a_fleet_is_that_of_its_volumes(self):
        pace = FakePace(seconds_a_call=10)
        plans = choose(World(), TO_ZONE, volumes=[*self.VOLUMES], pace=pace, turn_at=at(-0.1)).plans
        assert [one.starts_at for one in plans] == [NOW, NOW]
        assert pace.given == 0


class TestApproval:
    """(40 + 80) GiB x 100 MiB/s x $0.0000144 = $0.1728, and $0.00001 for listing, whatever is chosen."""

    DEAR = {"strategy": "provisioned-rate"}
    REPLACE = {**TO_INSTANCE, "target": {**TO_INSTANCE["target"], "device": "/dev/sdf", "mode": "replace"}}

    def two(self, **changes):
        volumes = [zone_assignment(index=0), zone_assignment(index=1, data_bytes=80 * GIB)]
        return choose(World(), TO_ZONE, volumes=volumes, **self.DEAR, **changes)

    def test_what_costs_no_more_goes_on_and_nothing_dearer_takes_over(self):
        result = self.two(approveAboveUsd="0.2")
        assert result.question is None
        budgets = [one.budget_usd for one in result.plans]
        assert sum(budgets) == Decimal("0.2")
        assert budgets[0] == Decimal("0.0576") + (Decimal("0.2") - Decimal("0.1728")) / 2

    def test_what_a_budget_accepts_is_within_an_approval_of_the_same_amount(self):
        result = self.two(approveAboveUsd="0.1728", maxCostUsd="0.1728", strict=True)
        assert result.summary.total_cost_usd == Decimal("0.17281")
        assert result.question is None
        assert self.two(approveAboveUsd="0.1727").question is not None

    def test_what_costs_more_waits_until_the_deadline_makes_that_pointless(self):
        result = self.two(approveAboveUsd="0.1", minutes=600)
        assert result.question.usd == Decimal("0.17281")
        assert result.question.asked_at == NOW
        slowest = max(one.plan.ready_p90_seconds for one in result.plans)
        assert result.question.until == at(600) - timedelta(seconds=slowest) - timedelta(minutes=2)
        assert "The plan costs $0.1728; above $0.10 it needs approval" in result.question.reason
        assert result.summary.needs_approval == result.question.reason
        assert result.summary.notes[0].startswith(result.question.reason)
        assert sum(one.budget_usd for one in result.plans) == Decimal("0.1728"), "what will be approved"

    def test_a_dry_run_says_so_and_never_waits(self):
        body = {**TO_ZONE, "dryRun": True}
        result = choose(World(), body, volumes=[zone_assignment()], approveAboveUsd=0, **self.DEAR)
        assert result.question is None
        assert "needs approval" in result.summary.needs_approval

    @pytest.mark.parametrize(("usd", "asks"), [("0.17281", False), ("0.17", True)])
    def test_only_what_costs_more_than_was_approved_is_asked_about_again(self, usd, asks):
        approved = Approval(
            asked_at=at(-30), until=at(30), usd=usd, reason="It is dear.", approved_at=at(-1), by="alice"
        )
        result = self.two(approveAboveUsd="0.1", approved=approved)
        assert (result.question is not None) is asks
        assert sum(one.budget_usd for one in result.plans) == max(Decimal(usd), Decimal("0.1728"))

    def test_the_requests_own_budget_stays_the_limit(self):
        result = self.two(approveAboveUsd="1", maxCostUsd="0.18")
        assert sum(one.budget_usd for one in result.plans) == Decimal("0.18")

    def test_replacing_waits_whatever_it_costs(self):
        result = choose(World(), self.REPLACE, approveReplace=True)
        assert "replaces a volume" in result.question.reason
        assert result.question.until == at(24 * 60)
        assert choose(World(), self.REPLACE).question is None
        assert choose(World(), approveReplace=True).question is None
