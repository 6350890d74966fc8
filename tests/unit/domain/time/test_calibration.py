"""A calibration takes the place of the priors that it measured, and of no others."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from rewarm.domain.model import Strategy
from rewarm.domain.time.calibration import CalibratedFigure, FigureName, calibrated
from rewarm.domain.time.history import learned
from rewarm.domain.time.measured import Likeness
from rewarm.domain.time.timings import PRIORS, Basis, Quantiles

LIKE = Likeness("gp3", "us-east-1a", "m5.large")


def figures(**values: float) -> dict[FigureName, CalibratedFigure]:
    return {
        FigureName[name]: CalibratedFigure(value, value * 0.9, value * 1.1) for name, value in values.items()
    }


def test_without_figures_the_priors_stay():
    assert calibrated({}) == PRIORS


def test_a_duration_keeps_the_distance_of_its_bad_day():
    assert calibrated(figures(CREATE=2)).create_seconds == Quantiles(2, 12)
    wild = {FigureName.CREATE: CalibratedFigure(2, 1, 40)}
    assert calibrated(wild).create_seconds == Quantiles(2, 40)


def test_what_s3_gives_is_what_is_fetched_at_once_over_its_latency():
    found = calibrated(figures(FIRST_TOUCH=100, FETCH_CONCURRENCY=32, FETCH_UNIT=512)).first_touch_mib_s
    assert found.p50 == pytest.approx(160)
    assert found.p90 == pytest.approx(160 / 1.5)
    assert calibrated(figures(FIRST_TOUCH=100)).first_touch_mib_s == PRIORS.first_touch_mib_s


def test_a_completion_is_seen_half_a_refresh_late_and_at_most_a_whole_one():
    assert calibrated(figures(STATUS_LAG=300)).status_delay_seconds.p50 == 150
    assert calibrated(figures(STATUS_LAG=300)).status_delay_seconds.p90 == pytest.approx(330)


def test_a_background_that_was_measured_goes_with_the_size():
    timings = calibrated(figures(BACKGROUND=1024 * 1024 / 36_000))
    assert timings.background_seconds_per_tib == Quantiles(pytest.approx(36_000), pytest.approx(108_000))
    assert timings.background_least_seconds == Quantiles(0, PRIORS.background_least_seconds.p90)


def test_each_strategy_says_whether_its_own_figures_were_measured_here():
    timings = calibrated(figures(RATE_DELIVERED=0.95, FSR_ENABLING=90, CREATE=2, METRIC_DELAY=60))
    here = Basis("calibration")
    assert timings.basis_of(Strategy.PROVISIONED_RATE) == here
    assert timings.basis_of(Strategy.FAST_SNAPSHOT_RESTORE) == here
    assert timings.basis_of(Strategy.WARM_UP_AGENT) == Basis("priors")
    assert timings.rate_delivered == Quantiles(0.95, pytest.approx(0.855))
    assert timings.fsr_poll_seconds.p50 == 150
    assert timings.metric_delay_seconds.p50 == 150


def test_without_restores_history_leaves_a_calibration_as_it_is():
    timings = calibrated(figures(CREATE=2))
    assert learned([], LIKE, now=datetime(2026, 11, 23, tzinfo=UTC), priors=timings) is timings
