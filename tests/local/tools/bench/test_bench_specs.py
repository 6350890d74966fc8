"""The benchmark's volumes: what is written on them, and what limits them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local.aws.machines.dataplane import BLOCK_BYTES, VolumeLimits
from local.aws.machines.first_touch_process import FirstTouchSettings
from local.tools.bench.specs import (
    MIB,
    SIZE_STEP_BYTES,
    SPECS,
    TOOLS,
    VolumeSpec,
    mean_fetch_seconds,
    physical_limit,
    scattered_runs,
)

BY_NAME = {spec.name: spec for spec in SPECS}


@given(st.integers(1, 5_000), st.floats(0, 1))
def test_scattered_runs_are_ascending_disjoint_and_of_the_size_that_was_asked_for(blocks, share):
    written = round(blocks * share)
    runs = scattered_runs(blocks, written)
    assert sum(count for _, count in runs) == written
    assert all(count > 0 for _, count in runs)
    ends = [first + count for first, count in runs]
    assert all(first > end for (first, _), end in zip(runs[1:], ends, strict=False))
    assert not runs or (runs[0][0] >= 0 and ends[-1] <= blocks)


def test_a_quarter_is_scattered_over_the_whole_volume():
    runs = BY_NAME["quarter"].extents
    blocks = BY_NAME["quarter"].size_bytes // BLOCK_BYTES
    assert len(runs) > 40
    assert {first * 8 // blocks for first, _ in runs} == set(range(8))


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.name)
def test_each_volume_is_measured_with_every_tool_that_may_run_there(spec):
    assert set(spec.tools).isdisjoint(spec.once)
    assert {*spec.tools, *spec.once} <= set(TOOLS)
    assert {"agent-io_uring", "agent-threads", "agent-touch"} <= set(spec.tools)
    # Without blocks fetched ahead dd takes minutes and shows nothing.
    assert ({"dd", "parallel-dd"} <= {*spec.tools, *spec.once}) == (spec.settings.neighbours > 0)
    assert "fio-aws" in {*spec.tools, *spec.once}
    assert ("fio-best-map" if spec.written_fraction < 1 else "fio-best") in spec.tools
    assert spec.size_bytes % SIZE_STEP_BYTES == 0
    assert spec.written_blocks == sum(count for _, count in spec.extents)


def test_the_limit_of_a_common_volume_is_its_throughput():
    limit = physical_limit(BY_NAME["full"].sized(4))
    assert limit.by_throughput_seconds == pytest.approx(32.768)
    assert limit.by_iops_seconds == pytest.approx(16_384 / 3_000)
    assert limit.by_fetches_seconds == pytest.approx(8_192 * 0.091 / 64)
    assert limit.seconds == limit.by_throughput_seconds


def test_the_limit_of_a_fast_volume_is_its_fetches():
    limit = physical_limit(BY_NAME["fast-64"].sized(4))
    assert limit.seconds == pytest.approx(8_192 * 0.091 / 64)
    assert physical_limit(BY_NAME["fast-256"].sized(4)).seconds == pytest.approx(4.096)


def test_a_touch_is_one_request_of_4_kib_a_block():
    limit = physical_limit(BY_NAME["quarter"].sized(4), touch=True)
    assert limit.by_throughput_seconds == pytest.approx(2_048 * 4_096 / MIB / 125)
    assert limit.by_iops_seconds == pytest.approx(2_048 / 3_000)
    assert limit.seconds == pytest.approx(2_048 * 0.091 / 64)


def test_half_of_the_bytes_at_the_first_limit_and_half_at_the_second():
    spec = BY_NAME["changing"].sized(1)
    assert spec.change_after_seconds == pytest.approx(4.096)
    assert physical_limit(spec).seconds == pytest.approx(4.096 + 2.048)
    # The 4,096 requests are through before the limits change.
    assert physical_limit(spec).by_iops_seconds == pytest.approx(4_096 / 3_000)


def test_a_volume_that_becomes_slower_takes_longer():
    spec = VolumeSpec(
        name="slower", text="", size_gib=1, changed_limits=VolumeLimits(iops=3_000, throughput_mib_s=50)
    )
    assert physical_limit(spec).seconds == pytest.approx(4.096 + 512 / 50)


def test_the_tail_counts_in_the_mean_latency():
    settings = FirstTouchSettings(mean_latency_ms=100, tail_probability=0.1, tail_seconds=2)
    assert mean_fetch_seconds(settings) == pytest.approx(0.9 * 0.1 + 0.1 * 2)


def test_a_size_is_a_whole_number_of_steps_and_never_nothing():
    assert BY_NAME["full"].sized(0.0001).size_bytes == SIZE_STEP_BYTES
    assert BY_NAME["full"].sized(0.1).size_bytes == 6 * SIZE_STEP_BYTES
