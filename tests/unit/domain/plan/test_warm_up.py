"""How fast the agent is: alone, beside others, on an instance that bursts, and with a boost."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rewarm.domain.model import GIB, Boost, InstanceEbsLimits, VolumeSettings
from rewarm.domain.plan.estimates import EstimateLimits, Infeasible
from rewarm.domain.plan.facts import beside_each_other
from rewarm.domain.plan.warm_up import (
    InstanceRate,
    OwnRate,
    boosted_warm_up,
    boosts_of,
    shared_seconds,
    warm_up_agent,
)
from rewarm.domain.time.measured import Phase
from rewarm.domain.time.timings import Quantiles, Timings
from rewarm.domain.volume.extents import Scope
from rewarm.domain.volume.performance import ModificationRule
from rewarm.domain.volume.volume_types import VolumeLimits, speed
from tests.support.builders import facts
from tests.support.values.facts import TOKYO

STEADY = InstanceRate(100.0, 0, 100.0)
GP3 = VolumeSettings("gp3", 100, 3_000, 125)
S3_ALONE = Timings(first_touch_mib_s=Quantiles(352.0, 235.0), warm_up_share=Quantiles(1.0, 1.0))
"""An account in which nothing but S3 keeps the agent from the lowest limit."""


def reading(the_facts):
    (part,) = (part for phase, part in phases(the_facts) if phase is Phase.READ)
    return part


def phases(the_facts):
    return warm_up_agent(the_facts, TOKYO, EstimateLimits()).times.phases


class TestSharedSeconds:
    @pytest.mark.parametrize(
        ("own", "beside", "seconds"),
        [
            # 1,000 MiB at the volume's own 50 MiB/s, or the instance's 100
            (50.0, (), 20.0),
            (400.0, (), 10.0),
            # two alike have 50 MiB/s each
            (400.0, (1_000.0,), 20.0),
            # the small one has its 100 MiB at 50 MiB/s within 2 s, then there are 900 MiB at 100 MiB/s
            (400.0, (100.0,), 2.0 + 9.0),
            # 60 MiB/s of its own: 50 for 2 s, then 900 / 60
            (60.0, (100.0,), 2.0 + 15.0),
            # a larger one beside it is there to the end
            (400.0, (5_000.0,), 20.0),
            # three: 33.3 MiB/s until 100 MiB are read (3 s), 50 until 500 (8 s), 100 for the rest (5 s)
            (400.0, (100.0, 500.0), 3.0 + 8.0 + 5.0),
        ],
    )
    def test_shares_the_instance_evenly(self, own, beside, seconds):
        assert shared_seconds(1_000.0, OwnRate(own), STEADY, beside) == pytest.approx(seconds)

    def test_bursts_for_half_an_hour(self):
        burst = InstanceRate(200.0, 1_800, 50.0)
        assert shared_seconds(200.0 * 1_800, OwnRate(400.0), burst, ()) == pytest.approx(1_800)
        # 360,000 MiB in the burst, 90,000 MiB at 50 MiB/s
        assert shared_seconds(450_000.0, OwnRate(400.0), burst, ()) == pytest.approx(1_800 + 1_800)

    @pytest.mark.parametrize("mib", [0.0, 5e-324])
    def test_needs_no_time_for_nothing_and_next_to_nothing(self, mib):
        assert shared_seconds(mib, OwnRate(400.0), STEADY, (100.0,)) == 0

    @given(
        st.floats(0, 1e6),
        st.floats(1, 4_000),
        st.floats(1, 4_000),
        st.floats(1, 10),
        st.lists(st.floats(0, 1e6), max_size=5),
    )
    @example(mib=5e-324, own=1.0, baseline=1.0, factor=1.0, beside=[1.0])
    def test_is_never_faster_than_alone_nor_slower_than_in_turn(self, mib, own, baseline, factor, beside):
        instance = InstanceRate(baseline * factor, 1_800, baseline)
        seconds = shared_seconds(mib, OwnRate(own), instance, tuple(sorted(beside)))
        assert seconds >= shared_seconds(mib, OwnRate(own), instance, ()) * (1 - 1e-9)
        others = sum(min(other, mib) for other in beside)
        assert seconds <= (mib / min(own, baseline) + others / baseline) * (1 + 1e-9)


class TestAgent:
    def test_a_fast_volume_is_held_back_by_s3(self):
        found = reading(facts(speed=VolumeLimits(80_000, 2_000.0, 2_000.0)))
        # Published are 130 to 140 MB/s; promised are 100 MB/s.
        assert found.p50 == pytest.approx(40_960 * 1.048576 / 135)
        assert found.p90 == pytest.approx(40_960 * 1.048576 / 100)

    @pytest.mark.parametrize("volume_type", ["io1", "io2"])
    def test_s3_gives_volumes_with_provisioned_iops_more(self, volume_type):
        settings = VolumeSettings(volume_type, 100, 64_000)
        limits = InstanceEbsLimits(7_500.0, 7_500.0, 260_000, 260_000)
        found = reading(facts(settings=settings, speed=speed(settings), instance_limits=limits))
        # 700 MB/s; and 351.6 MiB/s on a bad day.
        assert found.p50 == pytest.approx(40_960 * 1.048576 / 700)
        assert found.p90 == pytest.approx(1.5 * 40_960 / 351.648, rel=1e-4)

    @pytest.mark.parametrize("size_gib", [100, 1_024, 16_384])
    def test_the_promise_is_as_much_later_as_there_is_data(self, size_gib):
        found = reading(facts(written_bytes=size_gib * GIB))
        assert found.p90 - found.p50 == pytest.approx(size_gib * 1_024 / 125 / 3)

    def test_a_small_instance_is_expected_to_burst_and_promises_only_its_baseline(self):
        limits = InstanceEbsLimits(43.0, 260.0, 2_000, 11_800)
        found = reading(
            facts(instance_limits=limits, speed=VolumeLimits(6_000, 500.0, 500.0), timings=S3_ALONE)
        )
        assert found.p50 == pytest.approx(40_960 / 260)
        assert found.p90 == pytest.approx(40_960 / 43)

    def test_the_burst_is_expected_for_half_an_hour_only(self):
        limits = InstanceEbsLimits(43.0, 260.0, 2_000, 11_800)
        found = reading(
            facts(
                instance_limits=limits,
                speed=VolumeLimits(6_000, 500.0, 500.0),
                written_bytes=1_024 * GIB,
                timings=S3_ALONE,
            )
        )
        # 1,800 s at 260 MiB/s are 468,000 MiB; the other 580,576 MiB come at 43 MiB/s.
        assert found.p50 == pytest.approx(1_800 + 580_576 / 43)
        assert found.p90 == pytest.approx(1_048_576 / 43)

    def test_iops_limit_an_instance_too(self):
        limits = InstanceEbsLimits(1_000.0, 1_000.0, 200, 200)
        # 200 IOPS of 256 KiB are 50 MiB/s.
        assert reading(facts(instance_limits=limits)).p50 == pytest.approx(40_960 / 50)

    @pytest.mark.parametrize("estimator", [warm_up_agent, boosted_warm_up])
    @pytest.mark.parametrize("known", [{}, {"maximum_throughput_mib_s": 500.0}, {"baseline_iops": 4_000}])
    def test_an_instance_whose_throughput_aws_does_not_name_is_promised_nothing(self, estimator, known):
        limits = replace(InstanceEbsLimits(None, None, None, None), **known)
        outcome = estimator(facts(instance_limits=limits, settings=GP3), TOKYO, EstimateLimits(1e9))
        assert isinstance(outcome, Infeasible)
        assert "AWS names no EBS throughput of the instance type" in outcome.reason

    def test_two_on_one_instance_take_as_long_as_it_has_throughput_for(self):
        limits = InstanceEbsLimits(100.0, 100.0, 20_000, 20_000)
        found = reading(facts(instance_limits=limits, read_beside=(40 * GIB,)))
        assert found.p50 == pytest.approx(2 * 40_960 / 100)

    def test_reads_as_much_of_its_limit_as_earlier_restores_did(self):
        timings = replace(S3_ALONE, warm_up_share=Quantiles(0.96, 0.8))
        found = reading(facts(timings=timings))
        assert (found.p50, found.p90) == pytest.approx((40_960 / 120, 40_960 / 100))

    def test_blocks_that_were_never_written_come_at_the_volumes_rate(self):
        fast = {
            "speed": VolumeLimits(16_000, 1_000.0, 1_000.0),
            "instance_limits": InstanceEbsLimits(7_500.0, 7_500.0, 260_000, 260_000),
        }
        timings = replace(S3_ALONE, first_touch_mib_s=Quantiles(200.0, 100.0))
        written, whole = (
            reading(facts(**fast, timings=timings, settings=GP3, scope=scope))
            for scope in (Scope.WRITTEN, Scope.WHOLE)
        )
        unwritten = 60 * 1024 / 1_000
        assert whole.p50 == pytest.approx(written.p50 + unwritten)
        assert whole.p90 == pytest.approx(written.p90 + unwritten)

    def test_blocks_that_were_never_written_come_no_faster_than_the_instance_allows(self):
        io2, limits = (
            VolumeSettings("io2", 1_024, 64_000),
            InstanceEbsLimits(2_384.2, 2_384.2, 80_000, 80_000),
        )
        tenth = facts(
            settings=io2, speed=speed(io2), instance_limits=limits, scope=Scope.WHOLE,
            written_bytes=1_024 * GIB // 10, snapshot_size_gib=1_024,
        )  # fmt: skip
        # 104,858 MiB at 234.4 MiB/s, and 943,718 MiB at three quarters of the instance's 2,384.2 MiB/s
        assert reading(tenth).p90 == pytest.approx(104_857.6 / 234.432 + 943_718.4 / 1_788.15, rel=1e-3)
        # Beside a larger volume, which has half of the instance all the time.
        both = replace(tenth, read_beside=(4_096 * GIB,))
        assert reading(both).p90 == pytest.approx(104_857.6 / 234.432 + 943_718.4 / 894.07, rel=1e-3)

    def test_the_whole_volume_holds_up_those_beside_it(self):
        one, two = beside_each_other(
            [facts(instance_id="i-1", settings=GP3, scope=scope) for scope in (Scope.WHOLE, Scope.USED)]
        )
        assert (one.read_beside, two.read_beside) == ((40 * GIB,), (100 * GIB,))

    @pytest.mark.parametrize(
        "changes", [{"scope": Scope.WHOLE}, {"scope": Scope.USED}, {"polite_latency_ms": 5.0}]
    )
    def test_a_rate_that_says_nothing_of_others_is_not_learned_from(self, changes):
        estimate = warm_up_agent(facts(settings=GP3, **changes), TOKYO, EstimateLimits())
        assert estimate.read_limit_mib_s is None

    def test_says_what_limits_it_but_s3(self):
        estimate = warm_up_agent(facts(speed=VolumeLimits(8_000, 500.0, 500.0)), TOKYO, EstimateLimits())
        assert estimate.read_limit_mib_s == pytest.approx(500.0)


class TestBoost:
    def boosted(self, limits=EstimateLimits(), **changes):  # noqa: B008 - frozen
        return boosted_warm_up(facts(**{"settings": GP3, "timings": S3_ALONE, **changes}), TOKYO, limits)

    def test_without_a_deadline_it_is_as_much_as_can_be_relied_on(self):
        # More than S3 gives would be waste. gp3 needs 4 IOPS a MiB/s, and has 3,000.
        assert self.boosted().boost == Boost("gp3", 3_000, 235)

    def test_nothing_published_promises_more_of_gp3_than_100_mb_s(self):
        # 95.4 MiB/s from S3, where the agent reaches 0.75 of the volume's: 127.2 MiB/s.
        assert self.boosted(timings=Timings()).boost == Boost("gp3", 3_000, 128)

    def test_needs_more_iops_where_s3_gives_more(self):
        timings = replace(S3_ALONE, first_touch_mib_s=Quantiles(1_500.0, 1_000.0))
        limits = InstanceEbsLimits(2_000.0, 2_000.0, 80_000, 80_000)
        estimate = self.boosted(timings=timings, instance_limits=limits)
        assert estimate.boost == Boost("gp3", 4_000, 1_000)
        # 875 MiB/s x $0.048 and 1,000 IOPS x $0.006, for 210 s and 40,960 / 1,000 = 41 s: 251 s in all.
        month = 875 * Decimal("0.048") + 1_000 * Decimal("0.006")
        assert estimate.decidable_usd == round(month / 730 * 251 / 3_600, 6)
        assert estimate.parts[1].arithmetic == (
            "(875 MiB/s x $0.048 + 1,000 IOPS x $0.006) a month / 730 h x 0.07 h"
        )

    def test_never_goes_above_what_the_instance_promises(self):
        limits = InstanceEbsLimits(150.0, 1_250.0, 20_000, 20_000)
        assert self.boosted(instance_limits=limits).boost.throughput_mib_s == 150

    def test_never_goes_above_what_the_request_allows(self):
        assert self.boosted(max_warm_up_mib_s=140).boost.throughput_mib_s == 140

    def test_the_whole_volume_gains_beyond_what_s3_gives(self):
        timings = replace(S3_ALONE, first_touch_mib_s=Quantiles(200.0, 150.0))
        slow_s3 = facts(settings=GP3, timings=timings)
        steps = [boosts_of(replace(slow_s3, scope=one), TOKYO).steps_mib_s for one in Scope]
        assert steps[0][-1] == steps[1][-1] == 150
        assert steps[2][-1] > 150

    def test_a_budget_lowers_it(self):
        dearest = self.boosted().decidable_usd
        estimate = self.boosted(EstimateLimits(1.0, dearest / 2))
        assert estimate.decidable_usd <= dearest / 2
        assert 126 <= estimate.boost.throughput_mib_s < 235

    def test_raises_the_iops_of_io2(self):
        io2 = VolumeSettings("io2", 100, 400)
        book = replace(TOKYO, iops_usd_per_month={"io2": Decimal("0.074")})
        estimate = boosted_warm_up(facts(settings=io2, speed=speed(io2)), book, EstimateLimits())
        # 234.4 MiB/s from S3 / 0.75, so 313 MiB/s in I/Os of 256 KiB; 400 IOPS are 100 MiB/s.
        assert estimate.boost == Boost("io2", 1_252, None)

    @pytest.mark.parametrize(
        ("changes", "reason"),
        [
            ({"instance_limits": None}, "no target instance"),
            ({"agent_available": False}, "no agent"),
            ({"instance_limits": InstanceEbsLimits(60.0, 60.0, None, None, nvme=False)}, "has no NVMe"),
            ({"settings": None}, "the volume has no performance setting"),
            ({"settings": VolumeSettings("gp2", 100)}, "a gp2 volume has no performance setting"),
            ({"settings": VolumeSettings("st1", 125)}, "an st1 volume has no performance setting"),
            ({"settings": replace(GP3, multi_attach=True)}, "several instances"),
            ({"speed": VolumeLimits(4_000, 250.0, 250.0)}, "250 MiB/s is as much as instance and S3"),
            ({"speed": VolumeLimits(3_000, 2_000.0, 2_000.0)}, "2,000 MiB/s is all that this type"),
            (
                {
                    "instance_limits": InstanceEbsLimits(200.0, 200.0, None, None),
                    "read_beside": (40 * GIB,),
                },
                "beside it",
            ),
            (
                {"settings": VolumeSettings("io1", 100, 400), "speed": VolumeLimits(400, 100.0, 100.0)},
                "IOPS of io1",
            ),
        ],
    )
    def test_is_refused_with_the_reason(self, changes, reason):
        book = replace(TOKYO, iops_usd_per_month={})
        outcome = boosted_warm_up(facts(**{"settings": GP3, **changes}), book, EstimateLimits())
        assert isinstance(outcome, Infeasible)
        assert reason in outcome.reason

    def test_every_step_makes_it_earlier(self):
        boosts = boosts_of(facts(settings=GP3, timings=S3_ALONE), TOKYO)
        times = [boosts.ready_p90(mib_s) for mib_s in boosts.steps_mib_s]
        assert (boosts.steps_mib_s[0], boosts.steps_mib_s[-1]) == (126, 235)
        assert times == sorted(times, reverse=True)
        assert len(set(times)) == len(times)


class TestBoostInPlace:
    """Of a volume that is there: EC2 raises it while the agent reads, and lowers it afterwards."""

    SLOW = VolumeSettings("io2", 1_024, 200)

    def there(self, **changes):
        much = {"data_bytes": 400 * GIB, "written_bytes": 400 * GIB, "written_blocks": 800 * 1_024}
        settings = changes.get("settings", self.SLOW)
        known = {"settings": settings, "speed": speed(settings), "timings": S3_ALONE, "is_there": True}
        return facts(**{**much, **known, **changes})

    def boosted(self, the_facts, deadline=None):
        return boosted_warm_up(the_facts, TOKYO, EstimateLimits(deadline))

    def test_what_is_read_before_ec2_has_raised_it_is_read_at_the_old_speed(self):
        there, made = self.boosted(self.there()), self.boosted(self.there(is_there=False))
        slow = warm_up_agent(self.there(), TOKYO, EstimateLimits())
        reads = {
            name: dict(one.times.phases)[Phase.READ]
            for name, one in (("there", there), ("made", made), ("slow", slow))
        }
        assert there.boost == made.boost
        for at, raise_seconds in (("p50", 60), ("p90", 900)):
            fast, late, whole = (getattr(reads[name], at) for name in ("made", "there", "slow"))
            assert late == pytest.approx(raise_seconds + fast * (1 - raise_seconds / whole))

    def test_it_is_billed_until_ec2_has_finished_the_raise(self):
        part = self.boosted(self.there()).parts[-1]
        assert part.seconds == 6 * 3_600 + 900
        small = replace(self.SLOW, size_gib=200)
        estimate = self.boosted(self.there(settings=small))
        assert estimate.parts[-1].seconds >= estimate.times.ready_p90

    def test_a_small_one_is_billed_for_six_hours_where_ec2_takes_no_change_before(self):
        six_hours = {"modification_rule": ModificationRule.SIX_HOURS}
        small = self.there(settings=replace(self.SLOW, size_gib=200), **six_hours)
        large = replace(small, settings=replace(self.SLOW, size_gib=2_048))
        for there, hours in ((small, 6), (large, 12)):
            part = self.boosted(there).parts[-1]
            assert part.seconds == hours * 3_600 + 900
        usual = replace(small, modification_rule=ModificationRule.FOUR_IN_24_H)
        assert self.boosted(small).parts[-1].usd > self.boosted(usual).parts[-1].usd

    @given(st.integers(1_000, 60_000))
    def test_the_least_boost_is_the_one_that_meets_the_deadline(self, deadline):
        """Comparisons use the same sums as the estimate."""
        estimate = self.boosted(self.there(), float(deadline))
        found = boosts_of(self.there(), TOKYO)
        mib_s = estimate.boost.iops // 4
        assert found.ready_p90(mib_s) == estimate.times.ready_p90
        if estimate.times.ready_p90 <= deadline and mib_s > found.steps_mib_s[0]:
            assert found.ready_p90(mib_s - 1) > deadline

    def test_nothing_is_gained_where_all_is_read_before_it_is_raised(self):
        few = self.there(written_bytes=GIB, data_bytes=GIB, written_blocks=2_048)
        assert isinstance(self.boosted(few), Infeasible)

    @pytest.mark.parametrize("why", [{"boost_refusal": "not allowed"}, {"warm_because": "not allowed"}])
    def test_without_consent_or_need_there_is_none(self, why):
        assert self.boosted(self.there(**why)).reason == "not allowed"
