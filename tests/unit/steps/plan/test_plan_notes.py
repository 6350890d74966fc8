"""What a plan says beside its numbers."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest

from rewarm.contracts.values import Candidate, NewVolume
from rewarm.domain.model import GIB, Boost, PriceFigure, Strategy
from rewarm.domain.plan.cost import CostPart
from rewarm.domain.snapshots import PassedOverSnapshot
from rewarm.domain.time.measured import Phase
from rewarm.domain.volume.extents import Scope
from rewarm.steps.plan.plan_notes import adoption_notes, plan_notes, stale_prices, warm_up_notes
from tests.support.builders import NOW, SNAPSHOT_ID, assignment, boosted_plan, plan, volume_plan
from tests.support.fakes import tokyo_prices


def book(**days_old: float):
    """A book whose figures are so many days old."""
    names = {"fsr": "fsrUsdPerHour", "rate": "rateUsdPerGibMibS", "list": "listBlocksUsdPerThousand"}
    names["iops"], names["throughput"] = "iopsUsdPerMonth.gp3", "throughputUsdPerMibSMonth.gp3"
    figures = {
        name: PriceFigure(Decimal(1), NOW - timedelta(days=days_old.get(key, 0)), "somewhere")
        for key, name in names.items()
    }
    return replace(tokyo_prices(NOW), figures=figures)


def planned(*strategies: Strategy, boost: Boost | None = None, **volume):
    candidates = [
        Candidate(strategy=one, feasible=True, chosen=False, reason="because", boost=boost)
        for one in strategies
    ]
    return volume_plan(candidates=candidates, volume=assignment(**volume))


def test_an_ordinary_plan_has_none():
    assert plan_notes([planned(Strategy.PROVISIONED_RATE)], book()) == []


def test_a_volume_that_is_larger_than_its_snapshot_is_named():
    """No sc1 volume is as small as the snapshot."""
    large = NewVolume(volume_type="sc1", size_gib=125)
    plans = [planned(Strategy.BACKGROUND, snapshot_size_gib=1, volume=large)] * 2
    assert plan_notes(plans, book()) == [
        "An sc1 volume has at least 125 GiB, so the 1 GiB snapshot gets one of 125 GiB."
    ]
    asked_for = NewVolume(volume_type="sc1", size_gib=200)
    assert plan_notes([planned(Strategy.BACKGROUND, volume=asked_for)], book()) == []


def test_an_instance_that_is_started_is_named_once():
    plans = [planned(Strategy.WARM_UP_AGENT, starts_instance=True)] * 2
    (note,) = plan_notes(plans, book())
    assert note.startswith(
        "i-0123456789abcdef0 is stopped. It is started once its volumes are attached; if it"
    )


def test_a_snapshot_of_unknown_size_is_named_once():
    plans = [planned(Strategy.WARM_UP_AGENT, data_bytes_from="volumeSize")] * 2
    (note,) = plan_notes(plans, book())
    assert note.startswith(
        f"EC2 does not say how much data {SNAPSHOT_ID} holds, so this plan counts the whole volume, the most"
    )
    assert note.endswith("its plan costs no more, and is in time wherever this one is.")
    assert plan_notes([planned(Strategy.WARM_UP_AGENT, data_bytes_from="writtenBlocks")], book()) == []


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        # Of 2 h, the agent reads 100 min.
        ({"phases": {Phase.READ: (4_000, 6_000)}}, "within 1 h 10 min instead of 2 h (P90)."),
        # 600 GiB at 200 MiB/s take 51.2 min at the least.
        (
            {"initialization_rate_mib_s": 200},
            "within 1 h 35 min instead of 2 h (P90), and the rate costs half.",
        ),
    ],
)
def test_a_snapshot_of_unknown_size_says_how_wrong_the_plan_may_be(changes, words):
    made = plan(ready_p90_seconds=7_200, **changes)
    volume = assignment(data_bytes=600 * GIB, data_bytes_from="volumeSize")
    _, note = plan_notes([volume_plan(plan=made, volume=volume)], book())
    assert note == f"With half the data, full speed comes {words}"


@pytest.mark.parametrize(("iops", "throughput"), [(16_000, 1_000), (64_000, 1_000)])
def test_fast_snapshot_restore_is_enough_for_all_but_the_fastest_volumes(iops, throughput):
    made = plan(Strategy.FAST_SNAPSHOT_RESTORE)
    volume = NewVolume(volume_type="gp3", size_gib=1_024, iops=iops, throughput_mib_s=throughput)
    assert plan_notes([volume_plan(plan=made, volume=assignment(volume=volume))], book()) == []


def test_what_fast_snapshot_restore_leaves_of_a_faster_volume_is_said_once():
    fast = assignment(
        volume=NewVolume(volume_type="gp3", size_gib=1_024, iops=16_000, throughput_mib_s=2_000)
    )
    plans = [volume_plan(plan=plan(Strategy.FAST_SNAPSHOT_RESTORE), volume=fast)] * 2
    (note,) = plan_notes(plans, book())
    assert (
        "but its full benefit ends at 64,000 IOPS and 1,000 MiB/s, and the volume has 16,000 IOPS and" in note
    )
    assert plan_notes([volume_plan(plan=plan(Strategy.BACKGROUND), volume=fast)], book()) == []


class TestPriceInSteps:
    def at_rate(self, rate, *volumes, budget=None):
        """40 GiB each, at $0.0000144 for a GiB and MiB/s."""
        usd = Decimal(40 * rate) * Decimal("0.0000144")
        part = CostPart(item="Provisioned initialization rate", usd=usd, arithmetic="")
        made = plan(
            Strategy.PROVISIONED_RATE, initialization_rate_mib_s=rate, cost_usd=usd, cost_parts=[part]
        )
        return [volume_plan(plan=made, budget_usd=budget) for _ in volumes or [0]]

    @pytest.mark.parametrize(
        ("rate", "words"),
        [
            # 40 x 200 x 0.0000144 = 0.1152, and at 100 half of it
            (100, "costs $0.058 more: $0.115."),
            # 40 x 300 x 0.0000144 = 0.1728; at 201 0.115776
            (201, "costs $0.057 more: $0.17."),
        ],
    )
    def test_the_plan_says_how_much_more_it_could_be(self, rate, words):
        (note,) = plan_notes(self.at_rate(rate), book())
        assert note.endswith(words)

    @pytest.mark.parametrize("rate", [161, 200, 241, 300])
    def test_near_the_top_of_a_step_there_is_nothing_to_say(self, rate):
        assert plan_notes(self.at_rate(rate), book()) == []

    def test_all_volumes_are_counted_together(self):
        (note,) = plan_notes(self.at_rate(100, 0, 1, 2), book())
        assert note.endswith("costs $0.17 more: $0.35.")

    @pytest.mark.parametrize(("budget", "over"), [("0.2", False), ("0.1", True)])
    def test_it_says_so_where_that_is_over_the_budget(self, budget, over):
        (note,) = plan_notes(self.at_rate(100, budget=Decimal(budget)), book())
        assert note.endswith(", over the budget.") == over

    def test_where_no_rate_is_taken_there_is_nothing_to_say(self):
        assert plan_notes([planned(Strategy.PROVISIONED_RATE)], book()) == []


class TestWarmUp:
    plans = (volume_plan(plan=plan(Strategy.WARM_UP_AGENT)),)

    def test_the_agents_times_are_for_written_blocks_and_an_idle_volume(self):
        assert warm_up_notes(self.plans, Scope.WRITTEN, None) == []
        assert warm_up_notes(self.plans, Scope.WHOLE, None) == []
        (note,) = warm_up_notes(self.plans, Scope.USED, None)
        assert "reads fewer where the file systems use fewer, and the others stay cold" in note
        (note,) = warm_up_notes(self.plans, Scope.WHOLE, 2.5)
        assert "warmUp.politeLatencyMs 2.5 it takes longer where the application reads much" in note

    def test_nothing_is_said_where_no_agent_reads(self):
        assert warm_up_notes([volume_plan(plan=plan(Strategy.BACKGROUND))], Scope.USED, 5.0) == []


class TestOldPrices:
    def test_ninety_days_are_fresh_and_more_are_not(self):
        plans = [planned(Strategy.PROVISIONED_RATE)]
        assert stale_prices(plans, book(rate=90), NOW) == []
        assert stale_prices(plans, book(rate=90.1), NOW) == ["initialization rate of 2026-08-23"]

    def test_only_what_a_strategy_that_can_be_had_costs(self):
        assert stale_prices([planned(Strategy.WARM_UP_AGENT)], book(fsr=400, rate=400, iops=400), NOW) == []
        plans = [planned(Strategy.FAST_SNAPSHOT_RESTORE)]
        assert stale_prices(plans, book(fsr=400, rate=400), NOW) == ["fast snapshot restore of 2025-10-17"]

    def test_a_boost_is_reckoned_with_iops_and_throughput(self):
        raised = Boost(volume_type="gp3", iops=6_000, throughput_mib_s=500)
        plans = [planned(Strategy.BOOSTED_WARM_UP, boost=raised)]
        found = stale_prices(plans, book(iops=100, throughput=100), NOW)
        assert found == ["IOPS of gp3 of 2026-08-13", "throughput of gp3 of 2026-08-13"]

    def test_they_are_no_note_of_their_own(self):
        """Each price has its date beside it; what stands on every plan is read by nobody."""
        assert plan_notes([planned(Strategy.PROVISIONED_RATE)], book(rate=400, list=100)) == []


class TestPricesOfAnotherRegion:
    def borrowed(self, usd):
        figures = {"rateUsdPerGibMibS": PriceFigure(Decimal(1), NOW, "somewhere", "us-east-1")}
        made = plan(Strategy.PROVISIONED_RATE, initialization_rate_mib_s=200, cost_usd=Decimal(usd))
        plans = [volume_plan(plan=made)] * 2
        return plan_notes(plans, replace(tokyo_prices(NOW), region="sa-east-1", figures=figures))

    def test_are_said_once_where_the_plan_costs_something_by_them(self):
        (note,) = self.borrowed("0.50")
        assert note.startswith(
            "No price of sa-east-1 is known here for initialization rate, so us-east-1's counts"
        )

    def test_are_not_said_where_nothing_is_paid(self):
        assert self.borrowed("0.001") == []


class TestSnapshots:
    def test_names_those_that_were_passed_over_but_not_the_older_ones(self):
        passed = [
            PassedOverSnapshot(snapshot_id="snap-1", reason="it is pending (37 % done)"),
            PassedOverSnapshot(snapshot_id="snap-2", reason="older than snap-3"),
        ]
        (note,) = plan_notes([planned(passed_over=passed)], book())
        assert note == "snap-1 was passed over: it is pending (37 % done)."

    def test_names_five_at_the_most(self):
        passed = [PassedOverSnapshot(snapshot_id=f"snap-{at}", reason="it is in error") for at in range(7)]
        notes = plan_notes([planned(passed_over=passed)], book())
        assert len(notes) == 6
        assert notes[-1].startswith("And 2 more of vol-")

    def test_says_where_the_volumes_are_of_different_times(self):
        plans = [
            planned(consistent_set=False),
            planned(consistent_set=False, snapshot_started_at=NOW - timedelta(days=3)),
        ]
        (note,) = plan_notes(plans, book())
        assert note.startswith("The snapshots are not a consistent set")
        assert note.endswith("so the data is of 2026-11-18 03:00 UTC to 2026-11-20 03:00 UTC.")
        assert plan_notes([planned(consistent_set=True)], book()) == []


@pytest.mark.parametrize(
    ("measured", "checked"), [(True, "; random reads check that."), (False, ", and nothing is measured.")]
)
def test_whether_anything_checks_that_a_volume_is_warm_is_said(measured, checked):
    """With verify.samples 0 nothing does."""
    warm = volume_plan(volume=assignment(adopts="vol-1", warm_because="EBS says so"))
    assert list(adoption_notes([warm], measured=measured))[1:] == [
        f"vol-1 is at full speed already: EBS says so{checked}"
    ]


def test_when_a_boost_of_a_volume_that_was_there_ends_is_said():
    boosted = volume_plan(volume=assignment(adopts="vol-1"), plan=boosted_plan())
    notes = list(adoption_notes([boosted], measured=True))
    assert len(notes) == 2
    assert notes[1].startswith("A boost is taken back once EC2 has finished the raise")
