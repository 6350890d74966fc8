"""What a plan says beside its numbers."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

from rewarm.contracts import PassedOverSnapshot
from rewarm.contracts.values import Boost, Candidate, NewVolume
from rewarm.domain.model import PriceFigure, Strategy
from rewarm.domain.volume.extents import Scope
from rewarm.steps.plan.plan_notes import plan_notes, stale_prices, warm_up_notes
from tests.support.builders import NOW, SNAPSHOT_ID, assignment, volume_plan
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
    assert plan_notes([planned(Strategy.PROVISIONED_RATE)], book(), NOW) == []


def test_a_volume_that_is_larger_than_its_snapshot_is_named():
    """No sc1 volume is as small as the snapshot."""
    large = NewVolume(volume_type="sc1", size_gib=125)
    plans = [planned(Strategy.BACKGROUND, snapshot_size_gib=1, volume=large)] * 2
    assert plan_notes(plans, book(), NOW) == [
        "An sc1 volume has at least 125 GiB, so the 1 GiB snapshot gets one of 125 GiB."
    ]
    asked_for = NewVolume(volume_type="sc1", size_gib=200)
    assert plan_notes([planned(Strategy.BACKGROUND, volume=asked_for)], book(), NOW) == []


def test_an_instance_that_is_started_is_named_once():
    plans = [planned(Strategy.WARM_UP_AGENT, starts_instance=True)] * 2
    (note,) = plan_notes(plans, book(), NOW)
    assert note.startswith(
        "i-0123456789abcdef0 is stopped. It is started once its volumes are attached; if it"
    )


def test_a_snapshot_of_unknown_size_is_named_once():
    plans = [planned(Strategy.WARM_UP_AGENT, data_bytes_from="volumeSize")] * 2
    (note,) = plan_notes(plans, book(), NOW)
    assert note.startswith(
        f"EC2 does not say how much data {SNAPSHOT_ID} holds, so this plan counts the whole"
    )
    assert plan_notes([planned(Strategy.WARM_UP_AGENT, data_bytes_from="writtenBlocks")], book(), NOW) == []


class TestWarmUp:
    plans = (planned(Strategy.WARM_UP_AGENT, Strategy.BACKGROUND),)

    def test_the_agents_times_are_for_written_blocks_and_an_idle_volume(self):
        assert warm_up_notes(self.plans, Scope.WRITTEN, None) == []
        assert warm_up_notes(self.plans, Scope.WHOLE, None) == []
        (note,) = warm_up_notes(self.plans, Scope.USED, None)
        assert "reads fewer where the file systems use fewer, and the others stay cold" in note
        (note,) = warm_up_notes(self.plans, Scope.WHOLE, 2.5)
        assert "warmUp.politeLatencyMs 2.5 it takes longer where the application reads much" in note

    def test_nothing_is_said_where_no_agent_can_read(self):
        assert warm_up_notes([planned(Strategy.BACKGROUND)], Scope.USED, 5.0) == []


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

    def test_are_named_in_one_sentence(self):
        (note,) = plan_notes([planned(Strategy.PROVISIONED_RATE)], book(rate=400, list=100), NOW)
        assert note.startswith("Prices more than 90 days old: ListSnapshotBlocks of 2026-08-13, ")


class TestSnapshots:
    def test_names_those_that_were_passed_over_but_not_the_older_ones(self):
        passed = [
            PassedOverSnapshot(snapshot_id="snap-1", reason="it is pending (37 % done)"),
            PassedOverSnapshot(snapshot_id="snap-2", reason="older than snap-3"),
        ]
        (note,) = plan_notes([planned(passed_over=passed)], book(), NOW)
        assert note == "snap-1 was passed over: it is pending (37 % done)."

    def test_names_five_at_the_most(self):
        passed = [PassedOverSnapshot(snapshot_id=f"snap-{at}", reason="it is in error") for at in range(7)]
        notes = plan_notes([planned(passed_over=passed)], book(), NOW)
        assert len(notes) == 6
        assert notes[-1].startswith("And 2 more of vol-")

    def test_says_where_the_volumes_are_of_different_times(self):
        plans = [
            planned(consistent_set=False),
            planned(consistent_set=False, snapshot_started_at=NOW - timedelta(days=3)),
        ]
        (note,) = plan_notes(plans, book(), NOW)
        assert note.startswith("The snapshots are not a consistent set")
        assert note.endswith("so the data is of 2026-11-18 03:00 UTC to 2026-11-20 03:00 UTC.")
        assert plan_notes([planned(consistent_set=True)], book(), NOW) == []
