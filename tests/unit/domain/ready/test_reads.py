"""What a volume's type and limits promise for random 4 KiB reads, one at a time."""

from __future__ import annotations

import pytest

from rewarm.domain.model import InstanceEbsLimits, VolumeSettings
from rewarm.domain.ready.reads import expected_reads, p99_limit_ms


def volume(kind, size_gib=100, iops=None, throughput=None):
    return VolumeSettings(volume_type=kind, size_gib=size_gib, iops=iops, throughput_mib_s=throughput)


@pytest.mark.parametrize(
    ("settings", "p50", "p99", "iops", "limited_by"),
    [
        (volume("gp3", iops=3_000, throughput=125), 10, 20, 100, "latency of gp3"),
        (volume("gp2", 8), 10, 20, 100, "latency of gp2"),
        (volume("io2", iops=10_000), 1, 20, 1_000, "latency of io2"),
        (volume("io2", iops=200), 5, 20, 200, "IOPS of io2"),
        (volume("io1", iops=100), 10, 20, 100, "latency of io1"),
        (volume("st1", 1_024), 25, 60, 40, "IOPS of st1"),
        (volume("st1", 125), 204.8, 409.6, 4.88, "IOPS of st1"),
        (volume("sc1", 16_384), 15, 60, 66.7, "latency of sc1"),
    ],
)
def test_by_type_and_limits(settings, p50, p99, iops, limited_by):
    found = expected_reads(settings)
    assert (found.p50_ms, found.p99_ms) == (pytest.approx(p50), pytest.approx(p99))
    assert found.iops == pytest.approx(iops, rel=0.01)
    assert found.limited_by == limited_by


def test_a_small_instance_is_the_limit_and_does_not_make_the_volume_slow():
    small = InstanceEbsLimits(5.0, 260.0, 50, 11_800)
    settings = volume("gp3", iops=3_000, throughput=125)
    found = expected_reads(settings, small)
    assert (found.iops, found.p50_ms, found.limited_by) == (50, 20, "IOPS of the instance")
    assert p99_limit_ms(None, settings) == 20


def test_an_instance_that_says_nothing_changes_nothing():
    settings = volume("gp3", iops=3_000, throughput=125)
    assert expected_reads(settings, InstanceEbsLimits(None, None, None, None)) == expected_reads(settings)


def test_the_request_has_the_last_word():
    assert p99_limit_ms(7.5, volume("st1", 125)) == 7.5
