"""What finished restores teach: robust, bounded, independent of order, and better with each restore."""

from __future__ import annotations

import statistics
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewarm.domain.model import GIB, MIB, Strategy
from rewarm.domain.time.history import NEAREST, application_times, learned
from rewarm.domain.time.measured import (
    MOST_POINTS,
    Likeness,
    Measured,
    Phase,
    weight,
    with_point,
)
from rewarm.domain.time.timings import (
    PRIORS,
    Basis,
    Quantiles,
    WeightedValue,
    shrunk,
    upper_quantile,
    weighted_median,
)
from tests.support.builders import NOW

HERE = Likeness("gp3", "us-east-1a", "m5.large")
PRIOR = Quantiles(10, 60)
seconds = st.floats(0, 1e6)
samples = st.lists(st.builds(WeightedValue, seconds, st.floats(0.01, 1)), max_size=30)


def record(number: int = 0, **changes: object) -> Measured:
    values: dict[str, object] = {
        "name": f"restore-{number:03}/0",
        "at": NOW - timedelta(hours=number),
        "strategy": Strategy.WARM_UP_AGENT,
        "likeness": HERE,
        "written_bytes": 40 * GIB,
        "data_bytes": 40 * GIB,
        "snapshot_size_gib": 100,
        "seconds": {},
        "read_limit_mib_s": 125.0,
        **changes,
    }
    return Measured(**values)  # type: ignore[arg-type]


def timings(*records: Measured):
    return learned(records, HERE, now=NOW)


class TestQuantiles:
    @given(samples)
    def test_they_are_bounded_by_the_data_and_the_prior(self, sample):
        found = shrunk(sample, PRIOR)
        values = [one.value for one in sample] + [PRIOR.p50, PRIOR.p90]
        assert min(values) <= found.p50 <= found.p90 <= max(values)

    @given(samples, st.randoms())
    def test_the_order_does_not_matter(self, sample, random):
        shuffled = list(sample)
        random.shuffle(shuffled)
        assert shrunk(shuffled, PRIOR) == shrunk(sample, PRIOR)

    @given(samples.filter(len), st.data())
    def test_a_larger_observation_never_lowers_them(self, sample, data):
        index = data.draw(st.integers(0, len(sample) - 1))
        larger = list(sample)
        larger[index] = replace(sample[index], value=sample[index].value + data.draw(seconds))
        before, after = shrunk(sample, PRIOR), shrunk(larger, PRIOR)
        assert after.p50 >= before.p50
        assert after.p90 >= before.p90

    @given(st.lists(seconds, min_size=9, max_size=9), seconds, seconds)
    def test_one_wild_value_in_ten_leaves_the_median_among_the_middle_ones(self, others, wild, prior):
        """Of the nine others: between the fourth and the sixth, wherever the prior and the wild one are."""
        sample = [WeightedValue(value) for value in [*others, wild]]
        moved, ordered = shrunk(sample, Quantiles(prior, 2 * prior)).p50, sorted(others)
        assert ordered[3] <= moved <= ordered[5]

    @given(st.lists(seconds, min_size=1))
    def test_with_equal_weights_the_median_is_the_usual_one(self, values):
        found = weighted_median([WeightedValue(value) for value in values])
        assert found == pytest.approx(statistics.median(values))

    def test_the_next_of_nine_is_promised_by_the_highest(self):
        """Rank p (n + 1): of ten equally likely places of the next value, nine are below the highest."""
        nine = [WeightedValue(value) for value in range(1, 10)]
        assert upper_quantile(nine, 0.9) == 9
        assert upper_quantile([*nine, *nine], 0.9) == 9

    def test_without_observations_the_prior_stands(self):
        assert shrunk([], PRIOR) == PRIOR

    @pytest.mark.parametrize("value", [1.0, 100.0])
    def test_one_restore_does_not_overturn_what_is_expected_and_two_do(self, value):
        assert shrunk([WeightedValue(value)], PRIOR).p50 == PRIOR.p50
        assert shrunk([WeightedValue(value, 0.9)] * 2, PRIOR).p50 == value

    def test_nine_alike_overturn_what_is_promised(self):
        assert shrunk([WeightedValue(12)] * 8, PRIOR).p90 == PRIOR.p90
        assert shrunk([WeightedValue(12)] * 9, PRIOR).p90 == 12


class TestWeight:
    @pytest.mark.parametrize(
        ("likeness", "expected"),
        [
            (HERE, 1.0),
            (replace(HERE, instance_type="m7g.large"), 0.5),
            (replace(HERE, availability_zone="us-east-1b"), 0.5),
            (replace(HERE, volume_type="io2"), 0.25),
            (Likeness("io2", "us-east-1b", None), 0.0625),
        ],
    )
    def test_each_difference_counts(self, likeness, expected):
        assert weight(record(likeness=likeness), HERE, NOW) == pytest.approx(expected)

    def test_age_counts(self):
        assert weight(record(at=NOW - timedelta(days=90)), HERE, NOW) == pytest.approx(0.5)
        assert weight(record(at=NOW + timedelta(days=1)), HERE, NOW) == 1.0


class TestLearned:
    def test_without_records_the_priors_stand(self):
        assert timings() is PRIORS

    def test_what_was_measured_becomes_the_expectation(self):
        measured = {
            Phase.CREATE: 3.0,
            Phase.ATTACH: 4.0,
            Phase.MEASURE: 8.0,
            Phase.DELIVER: 2.0,
            Phase.READ: 40 * 1024 / 120,
            Phase.SETTLE: 90.0,
            Phase.VERIFY: 7.0,
        }
        found = timings(*(record(number, seconds=measured) for number in range(12)))
        assert (found.create_seconds.p50, found.attach_seconds.p50, found.verify_seconds.p50) == (3, 4, 7)
        assert (found.measure_seconds.p50, found.delivery_seconds.p50) == (8, 2)
        assert found.metric_delay_seconds.p50 == 90
        assert found.warm_up_share.p50 == pytest.approx(120 / 125)
        assert found.first_touch_mib_s == Quantiles(PRIORS.first_touch_mib_s.p50, pytest.approx(120))
        assert found.basis_of(Strategy.WARM_UP_AGENT) == Basis("history", 12)
        assert found.basis_of(Strategy.BOOSTED_WARM_UP) == Basis("history", 12)
        assert found.basis_of(Strategy.BACKGROUND) == Basis("priors", 0)

    def test_a_reader_far_below_its_limit_teaches_what_s3_gives(self):
        found = timings(*(self.read_at(200, number) for number in range(6)))
        assert found.first_touch_mib_s.p50 == pytest.approx(200)
        assert found.warm_up_share == PRIORS.warm_up_share

    def read_at(self, mib_s: float, number: int = 0, limit: float = 1_000.0, volume_type: str = "gp3"):
        likeness = replace(HERE, volume_type=volume_type)
        seconds = {Phase.READ: 40 * 1024 / mib_s}
        return record(number, seconds=seconds, read_limit_mib_s=limit, likeness=likeness)

    def of_io2(self, *records: Measured):
        return learned(records, replace(HERE, volume_type="io2"), now=NOW)

    @pytest.mark.parametrize("measured", [40.0, 130.0, 200.0, 300.0])
    def test_one_restore_shows_what_s3_gives_and_two_how_far_it_can_be_relied_on(self, measured):
        prior = PRIORS.first_touch_mib_s
        one = timings(self.read_at(measured)).first_touch_mib_s
        two = timings(*(self.read_at(measured, number) for number in range(2))).first_touch_mib_s
        assert (one.p50, two.p50) == (pytest.approx(measured), pytest.approx(measured))
        assert two.p90 == pytest.approx(measured / 1.5)
        # In time: a third of the way from there to the prior is left after one.
        assert 1 / one.p90 == pytest.approx(max(1.5 / measured * 2 / 3 + 1 / prior.p90 / 3, 1 / one.p50))

    @pytest.mark.parametrize("measured", [400.0, 700.0, 1_144.0])
    def test_io2_is_planned_by_what_it_showed_after_two_restores(self, measured):
        read = [self.read_at(measured, number, 4_000.0, "io2") for number in range(2)]
        found = self.of_io2(*read).first_touch_io_mib_s
        assert found.p50 == pytest.approx(measured)
        assert found.p90 == pytest.approx(measured / 1.5)

    def test_gp3_and_io2_teach_nothing_of_each_other(self):
        fast = [self.read_at(900, number, 4_000.0, "io2") for number in range(9)]
        assert timings(*fast).first_touch_mib_s == PRIORS.first_touch_mib_s
        slow = [self.read_at(120, number) for number in range(9)]
        assert self.of_io2(*slow).first_touch_io_mib_s == PRIORS.first_touch_io_mib_s

    def test_a_slow_reader_on_another_instance_type_says_nothing_of_s3(self):
        """It may have met the baseline of that type. A fast one cannot have."""
        slow, fast = (
            [
                replace(self.read_at(mib_s, number), likeness=replace(HERE, instance_type="t3.medium"))
                for number in range(4)
            ]
            for mib_s in (43, 250)
        )
        assert timings(*slow).first_touch_mib_s == PRIORS.first_touch_mib_s
        assert timings(*fast).first_touch_mib_s.p50 == pytest.approx(250)

    def test_ten_restores_promise_the_slowest_of_them(self):
        found = timings(*(self.read_at(200 + number, number) for number in range(10))).first_touch_mib_s
        assert found.p90 == pytest.approx(200)

    def test_who_meets_a_limit_above_what_s3_is_expected_to_give_raises_it(self):
        met = [self.read_at(980, number, 1_000.0, "io2") for number in range(2)]
        assert self.of_io2(*met).first_touch_io_mib_s.p50 == pytest.approx(980)

    @pytest.mark.parametrize(
        ("count", "promised"), [(1, PRIORS.first_touch_io_mib_s.p90), (2, 320), (10, 480)]
    )
    def test_who_meets_a_lower_limit_shows_that_s3_gives_no_less(self, count, promised):
        met = [self.read_at(480, number, 500.0, "io2") for number in range(count)]
        small = [self.read_at(124, 20 + number, 125.0, "io2") for number in range(3)]
        found = self.of_io2(*met, *small).first_touch_io_mib_s
        assert found.p50 == PRIORS.first_touch_io_mib_s.p50
        assert found.p90 == pytest.approx(promised)

    def test_what_exceeded_its_limit_does_not_promise_others_more_than_theirs(self):
        fast = {Phase.READ: 40 * 1024 / 200}
        found = timings(*(record(number, seconds=fast, read_limit_mib_s=75.0) for number in range(6)))
        assert found.warm_up_share == PRIORS.warm_up_share

    def test_a_rates_promise_is_below_its_expectation(self):
        found = timings(
            *(record(number, seconds={Phase.READ: 40 * 1024 / (102 + number)}) for number in range(20))
        )
        assert found.warm_up_share.p90 < found.warm_up_share.p50 < 1

    def by_rate(self, number: int, gib: int, delay: float, share: float = 1.0) -> Measured:
        return record(
            number,
            strategy=Strategy.PROVISIONED_RATE,
            data_bytes=gib * GIB,
            rate_mib_s=100,
            seconds={Phase.LOAD: gib * GIB / MIB / 100 / share + delay},
        )

    def test_short_loads_teach_the_delay_of_the_status(self):
        found = timings(*(self.by_rate(number, 20 + number, 200.0) for number in range(6)))
        assert found.status_delay_seconds.p50 == pytest.approx(200)
        assert found.rate_delivered == PRIORS.rate_delivered

    def test_long_loads_teach_the_share_that_is_delivered(self):
        found = timings(*(self.by_rate(number, 2_000, 120.0, share=0.93) for number in range(6)))
        assert found.rate_delivered.p50 == pytest.approx(0.93, rel=1e-3)
        assert found.status_delay_seconds == PRIORS.status_delay_seconds

    def test_in_the_background_time_goes_with_the_size_once_that_is_known(self):
        def loaded(number: int, gib: int) -> Measured:
            taken = {Phase.LOAD: gib * 1024 / 1.2 + PRIORS.status_delay_seconds.p50}
            return record(number, strategy=Strategy.BACKGROUND, data_bytes=gib * GIB, seconds=taken)

        assert timings(loaded(0, 20)).background_least_seconds == PRIORS.background_least_seconds
        found = timings(*(loaded(number, 20 + number) for number in range(4)))
        assert found.background_least_seconds.p50 == 0
        assert found.background_least_seconds.p90 == PRIORS.background_least_seconds.p90
        assert found.background_seconds_per_tib.p50 == pytest.approx(1024 * 1024 / 1.2)

    def test_fast_restore_has_a_delay_and_a_stretch(self):
        def prepared(number: int, lead: float, taken: float) -> Measured:
            return record(
                number,
                strategy=Strategy.FAST_SNAPSHOT_RESTORE,
                lead_seconds=lead,
                seconds={Phase.PREPARE: taken},
            )

        short = timings(*(prepared(number, 400, 490) for number in range(6)))
        assert short.fsr_poll_seconds.p50 == 90
        assert short.fsr_optimizing_seconds_per_tib == PRIORS.fsr_optimizing_seconds_per_tib
        long = timings(*(prepared(number, 7_200, 9_000) for number in range(6)))
        assert long.fsr_optimizing_seconds_per_tib.p50 == pytest.approx(4_500)
        assert long.fsr_poll_seconds == PRIORS.fsr_poll_seconds

    def test_those_alike_come_first(self):
        here = [record(number, seconds={Phase.CREATE: 3.0}) for number in range(NEAREST)]
        other = replace(HERE, volume_type="io2")
        there = [
            record(number + 100, likeness=other, at=NOW, seconds={Phase.CREATE: 50.0}) for number in range(60)
        ]
        assert timings(*there, *here).create_seconds.p50 == 3.0
        assert learned([*there, *here], other, now=NOW).create_seconds.p50 == 50.0

    def test_an_agent_that_writes_says_nothing_of_one_that_measures_first(self):
        writers = [replace(record(number, seconds={Phase.DELIVER: 900.0}), strategy=Strategy.REWIND)
                   for number in range(9)]  # fmt: skip
        assert timings(*writers).delivery_seconds == PRIORS.delivery_seconds

    def test_a_record_that_was_written_twice_counts_once(self):
        assert timings(*[record(seconds={Phase.CREATE: 100.0})] * 9).create_seconds.p50 == 10

    @given(st.lists(st.floats(1, 1e5), min_size=1, max_size=40), st.randoms())
    def test_the_order_of_records_does_not_matter(self, values, random):
        records = [record(number % 7, name=f"r{number}", seconds={Phase.CREATE: value, Phase.READ: value})
                   for number, value in enumerate(values)]  # fmt: skip
        shuffled = list(records)
        random.shuffle(shuffled)
        assert timings(*shuffled) == timings(*records)

    @given(st.lists(st.floats(50, 100), min_size=9, max_size=9), st.floats(0, 1e7))
    def test_a_restore_that_a_fault_stretched_does_not_wreck_the_estimate(self, values, wild):
        records = [record(number, seconds={Phase.SETTLE: value}) for number, value in enumerate(values)]
        found = timings(*records, record(9, seconds={Phase.SETTLE: wild})).metric_delay_seconds.p50
        assert min(values) <= found <= max(values)

    @pytest.mark.parametrize("broken", [float("nan"), float("inf"), -1.0])
    def test_what_is_no_duration_teaches_nothing(self, broken):
        phases = dict.fromkeys(Phase, broken)
        found = timings(*(record(number, seconds=phases) for number in range(9)))
        assert replace(found, restores={}) == PRIORS

    def test_a_load_shorter_than_what_the_status_is_late_by_teaches_nothing(self):
        late = [
            record(
                number,
                strategy=Strategy.BACKGROUND,
                seconds={Phase.LOAD: 4_000.0},
                data_bytes=0,
                rate_mib_s=100,
            )
            for number in range(9)
        ]
        short = record(9, strategy=Strategy.BACKGROUND, seconds={Phase.LOAD: 3_900.0}, data_bytes=1)
        found = timings(*late, short)
        assert found.status_delay_seconds.p50 == 4_000.0
        assert found.background_seconds_per_tib == PRIORS.background_seconds_per_tib

    @given(
        st.lists(
            st.tuples(
                st.sampled_from(Strategy),
                st.dictionaries(st.sampled_from(Phase), st.floats(0, 1e6)),
                st.integers(0, 1 << 44),
                st.one_of(st.none(), st.integers(100, 300)),
                st.one_of(st.none(), st.floats(0, 1e6)),
                st.one_of(st.none(), st.floats(0, 4_000)),
            ),
            max_size=12,
        )
    )
    def test_whatever_was_recorded_gives_figures_that_can_be_used(self, found):
        records = [
            record(number, strategy=strategy, seconds=phases, written_bytes=size, data_bytes=size,
                   rate_mib_s=rate, lead_seconds=lead, read_limit_mib_s=limit)
            for number, (strategy, phases, size, rate, lead, limit) in enumerate(found)
        ]  # fmt: skip
        made = timings(*records)
        for name in vars(made):
            value = getattr(made, name)
            if isinstance(value, Quantiles):
                rate = name.endswith(("_mib_s", "_share", "delivered"))
                worse, better = (value.p50, value.p90) if rate else (value.p90, value.p50)
                assert 0 <= better <= worse < float("inf"), name
                assert not rate or better > 0, name


class TestPoints:
    def test_they_stay_few_and_keep_both_ends(self):
        points: list[tuple[float, int]] = []
        for second in range(1_000):
            points = with_point(points, float(second), second * MIB)
        assert len(points) <= MOST_POINTS
        assert (points[0], points[-1]) == ((0.0, 0), (999.0, 999 * MIB))
        assert all(bytes_done == seconds * MIB for seconds, bytes_done in points)

    def test_a_standstill_costs_no_room(self):
        points: list[tuple[float, int]] = []
        for second in range(100):
            points = with_point(points, float(second), 7)
        assert points == [(0.0, 7), (99.0, 7)]

    def test_a_look_at_the_same_second_says_nothing_new(self):
        assert with_point([(5.0, 1)], 5.0, 2) == [(5.0, 1)]


class TestApplications:
    LIMITS = (("mount /data", 120), ("health check", 300))

    def times(self, *took, titles=("mount /data", "health check")):
        records = [
            record(number, parts=tuple(zip(titles, parts, strict=True))) for number, parts in enumerate(took)
        ]
        return application_times([*records, *records, record(99)], self.LIMITS, HERE, now=NOW)

    def test_before_some_restores_nothing_is_known(self):
        assert self.times((4, 20), (5, 22)) is None

    def test_the_usual_times_are_those_that_were_measured_each_restore_once(self):
        found = self.times((4, 20), (5, 22), (4, 90))
        assert found.restores == 3
        assert [part.p50 for part in found.parts] == [4, 22]
        assert found.whole.p50 == 27
        assert 27 < found.whole.p90 < 420, "a bad day is longer, and the limits are not what is expected"

    def test_another_application_teaches_nothing(self):
        assert self.times((4, 20), (5, 22), (4, 21), titles=("mount /data", "document other")) is None
