"""Turns at the Region's initialization rate."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from rewarm.domain.plan.batches import RATES, RateJob, Turn, turns
from tests.support.amount import cases

QUOTA_MIB_S = 500
"""For five volumes at the lowest rate."""


def job(seconds_at_lowest: float, *, limit_seconds: float = 100_000) -> RateJob:
    """A volume that is loaded in so many seconds at 100 MiB/s, and sooner at a higher rate."""
    seconds = tuple(seconds_at_lowest * RATES[0] / rate for rate in RATES)
    return RateJob(round(seconds_at_lowest * 100) << 20, limit_seconds, seconds)


def held_at_once(jobs: Sequence[RateJob], taken: Sequence[Turn]) -> int:
    """The most MiB/s that the volumes hold at any time."""
    spans = [
        (turn.start_seconds, turn.start_seconds + one.held_seconds(turn.rate_mib_s), turn.rate_mib_s)
        for one, turn in zip(jobs, taken, strict=True)
    ]
    return max(sum(rate for start, end, rate in spans if start <= at < end) for at, _, _ in spans)


def test_the_last_volume_of_many_begins_as_early_as_an_exact_packing_allows():
    """On five places: 15 x 10 + 15 x 20 + 15 x 40 s, of which the five longest come last."""
    jobs = [job(seconds) for seconds in (10, 20, 40) for _ in range(15)]
    taken = turns(jobs, QUOTA_MIB_S)
    assert taken is not None
    assert {turn.rate_mib_s for turn in taken} == {100}
    # The 40 that come before need (15 x 10 + 15 x 20 + 10 x 40) / 5 = 170 s of each place.
    assert max(turn.start_seconds for turn in taken) == 170


def test_who_must_be_ready_sooner_begins_sooner_for_the_same_price():
    jobs = [job(60), *(job(50) for _ in range(4)), job(10, limit_seconds=12), job(10, limit_seconds=20)]
    taken = turns(jobs, QUOTA_MIB_S)
    assert taken is not None
    assert {turn.rate_mib_s for turn in taken} == {100}
    assert [turn.start_seconds for turn in taken[-2:]] == [0, 0]


@given(st.lists(st.integers(1, 300), min_size=1, max_size=40), st.integers(300, 3_000))
@cases(100, 1_000)
def test_no_more_than_the_quota_is_held_and_nobody_is_late(lengths, limit):
    jobs = [job(seconds, limit_seconds=limit) for seconds in lengths]
    taken = turns(jobs, QUOTA_MIB_S)
    if taken is None:
        assert sum(lengths) > limit
        return
    assert held_at_once(jobs, taken) <= QUOTA_MIB_S
    for one, turn in zip(jobs, taken, strict=True):
        assert turn.start_seconds + one.ready_p90(turn.rate_mib_s) <= limit + 1e-6
