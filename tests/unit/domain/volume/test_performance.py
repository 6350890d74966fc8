"""The settings of a volume: as a tag, in words, and when they are those wanted."""

from __future__ import annotations

import pytest

from rewarm.domain.model import Boost, VolumeSettings
from rewarm.domain.volume.performance import (
    PerformanceSettings,
    VolumeModification,
    parse_performance,
    performance_of,
)

GP3 = PerformanceSettings("gp3", 3_000, 125)


class TestPerformance:
    @pytest.mark.parametrize(
        ("performance", "text", "words"),
        [
            (GP3, "gp3 iops=3000 throughputMibS=125", "gp3 with 3,000 IOPS and 125 MiB/s"),
            (PerformanceSettings("io2", 16_000), "io2 iops=16000", "io2 with 16,000 IOPS"),
            (PerformanceSettings("gp2"), "gp2", "gp2"),
        ],
    )
    def test_comes_back_from_its_text(self, performance, text, words):
        assert performance.as_text == text
        assert parse_performance(text) == performance
        assert performance.in_words == words

    @pytest.mark.parametrize(
        "text", ["", "gp3 iops=", "gp3 iops=x", "gp3  iops=1", "gp3 throughputMibS=1 iops=1"]
    )
    def test_refuses_what_it_did_not_write(self, text):
        with pytest.raises(ValueError, match="is not written as gp3 iops=3000"):
            parse_performance(text)

    def test_fits_what_has_the_same_settings(self):
        assert GP3.fits(VolumeSettings("gp3", 100, 3_000, 125))
        assert not GP3.fits(VolumeSettings("gp3", 100, 3_000, 250))
        assert not GP3.fits(VolumeSettings("io2", 100, 3_000))
        assert PerformanceSettings("gp2").fits(VolumeSettings("gp2", 100, 300))

    def test_of_a_volume_and_of_a_boost(self):
        assert performance_of(VolumeSettings("gp3", 100, 3_000, 125)) == GP3
        assert performance_of(Boost("gp3", 3_000, 125)) == GP3


class TestModification:
    @pytest.mark.parametrize(
        ("state", "in_force", "under_way"),
        [
            ("modifying", False, True),
            ("optimizing", True, True),
            ("completed", True, False),
            ("failed", False, False),
        ],
    )
    def test_states(self, state, in_force, under_way):
        change = VolumeModification(state, GP3)
        assert (change.in_force, change.under_way) == (in_force, under_way)
