"""The series of an initialization: small however long it takes, and right."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rewarm.domain.model import MIB
from rewarm.domain.time.measured import MOST_SAMPLES, Sample, rates_mib_s, with_sample


def grown(count, seconds=15.0):
    series = []
    for number in range(count):
        series = with_sample(series, Sample(number * seconds, number / count * 100, number * MIB))
    return series


@given(st.integers(min_value=1, max_value=4_000))
def test_it_never_has_more_than_the_most_and_keeps_first_and_last(count):
    series = grown(count)
    assert len(series) <= MOST_SAMPLES
    assert series[0].seconds == 0
    assert series[-1].seconds == (count - 1) * 15.0
    assert [one.seconds for one in series] == sorted({one.seconds for one in series})


def test_two_days_of_looks_every_quarter_of_a_minute_stay_small():
    series = grown(48 * 60 * 4)
    assert MOST_SAMPLES / 2 <= len(series) <= MOST_SAMPLES


def test_a_look_that_is_repeated_changes_nothing():
    series = grown(3)
    assert with_sample(series, Sample(30.0, 99.0, 99)) == series
    assert with_sample(series, Sample(29.0, 99.0, 99)) == series


def test_a_rate_is_the_agents_word_or_the_mean_since_the_look_before():
    series = [Sample(0, 0, 0), Sample(10, 50, 50 * MIB), Sample(20, 80, 80 * MIB, 7.5), Sample(30, 10, 0)]
    assert rates_mib_s(series) == [None, 5.0, 7.5, None]
    assert rates_mib_s([]) == []


def test_an_agent_that_has_finished_reads_no_more():
    series = [
        Sample(0, 50, 50 * MIB, 118.0),
        Sample(1, 100, 100 * MIB, 118.0),
        Sample(60, 100, 100 * MIB, 118.0),
    ]
    assert rates_mib_s(series) == [118.0, 118.0, 0.0]
