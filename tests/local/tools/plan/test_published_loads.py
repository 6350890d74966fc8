"""The shipped estimates hold against every published loading time, with the volume as it was published."""

from __future__ import annotations

from dataclasses import fields

import pytest

from local.tools.plan.published import LOADS, first_touch_ratios
from rewarm.domain.time.timings import PRIORS


def test_at_most_one_in_ten_took_longer_than_p90():
    late = [load.text for load in LOADS if load.seconds > load.estimate().p90]
    assert len(late) <= len(LOADS) // 10, late


def test_p50_is_what_about_half_of_them_took():
    measured = [load for load in LOADS if not load.is_most]
    slower = [load.text for load in measured if load.seconds > 1.01 * load.estimate().p50]
    assert len(measured) / 4 <= len(slower) <= len(measured) / 2, slower


def test_what_a_prior_was_taken_from_is_marked_and_something_else_is_left():
    assert {load.prior for load in LOADS} - {""} <= {field.name for field in fields(PRIORS)}
    circular = [load.text for load in LOADS if load.prior]
    assert "io2: 700 MB/s" in circular
    assert len(LOADS) - len(circular) == 5


def test_a_copy_that_waits_for_each_block_is_in_the_table_though_it_took_eight_times_as_long():
    (load,) = [load for load in LOADS if "2020" in load.text]
    found = load.estimate()
    assert (round(found.p50), round(found.p90), round(load.seconds)) == (80, 163, 1_297)


@pytest.mark.parametrize(
    "load", [load for load in LOADS if not (load.is_most or load.one_by_one) and load.seconds]
)
def test_p50_is_off_by_less_than_a_factor_of_two(load):
    assert 0.5 < load.seconds / load.estimate().p50 < 2, load.text


@pytest.mark.parametrize("load", LOADS)
def test_p90_is_apart_from_p50(load):
    found = load.estimate()
    assert found.p90 > found.p50, load.text


@pytest.mark.parametrize("ratio", first_touch_ratios().values(), ids=first_touch_ratios())
def test_a_first_touch_takes_about_as_long_as_published(ratio):
    assert 1 / 3 < ratio < 3


def test_the_slowest_published_read_at_depth_is_what_is_promised():
    slowest = min(1_024 * 1_024 / load.seconds for load in LOADS if "fio" in load.text)
    assert PRIORS.first_touch_mib_s.p90 <= slowest
