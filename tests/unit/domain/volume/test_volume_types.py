"""What volume types allow and how fast they are."""

from __future__ import annotations

import pytest

from rewarm.domain.errors import InvalidRequestError
from rewarm.domain.model import VolumeSettings
from rewarm.domain.volume.volume_types import VolumeLimits, WantedVolume, settle, speed


class TestSettle:
    @pytest.mark.parametrize(
        ("wanted", "field", "allowed"),
        [
            (WantedVolume(size_gib=99), "volume.sizeGib", "100 to 65536 GiB"),
            (
                WantedVolume(volume_type="io2", size_gib=70_000, iops=100),
                "volume.sizeGib",
                "100 to 65536 GiB",
            ),
            (WantedVolume(volume_type="gp2", size_gib=16_385), "volume.sizeGib", "100 to 16384 GiB"),
            (WantedVolume(volume_type="gp3", iops=50_001), "volume.iops", "3000 to 50000"),
            (WantedVolume(volume_type="gp3", iops=2_999), "volume.iops", "3000 to 50000"),
            (WantedVolume(volume_type="gp2", iops=3_000), "volume.iops", "gp2 volumes have no IOPS setting"),
            (WantedVolume(volume_type="io2"), "volume.iops", "is missing; .* 100 to 100000"),
            (WantedVolume(volume_type="io1", iops=5_001), "volume.iops", "100 to 5000"),
            (WantedVolume(throughput_mib_s=751), "volume.throughputMibS", "125 to 750 MiB/s"),
            (WantedVolume(volume_type="gp2", throughput_mib_s=250), "volume.throughputMibS", "no throughput"),
            (WantedVolume(multi_attach=True), "volume.multiAttach", "io2 and io1 can"),
        ],
    )
    def test_refuses_what_ec2_would_refuse_and_says_what_is_allowed(self, wanted, field, allowed):
        with pytest.raises(InvalidRequestError, match=rf"^{field}: .*{allowed}"):
            settle(wanted, None, 100)

    def test_a_snapshot_too_large_for_the_type_is_to_blame_and_no_empty_range_is_named(self):
        with pytest.raises(
            InvalidRequestError, match=r"a gp2 volume has at most 16384 GiB, and the snapshot has 20000$"
        ):
            settle(WantedVolume(volume_type="gp2"), None, 20_000)

    def test_a_range_of_one_value_is_named_as_one_value(self):
        with pytest.raises(InvalidRequestError, match=r"a gp3 volume of 4 GiB may have only 3000$"):
            settle(WantedVolume(iops=4_000), None, 4)

    def test_hdd_volumes_have_a_least_size(self):
        assert settle(WantedVolume(volume_type="st1"), None, 10).size_gib == 125

    def test_another_type_does_not_inherit_performance(self):
        source = VolumeSettings("io2", 100, 50_000)
        assert settle(WantedVolume(volume_type="gp3"), source, 100).iops == 3_000
        assert settle(WantedVolume(), source, 100).iops == 50_000

    def test_a_smaller_volume_keeps_within_its_own_limits(self):
        source = VolumeSettings("gp3", 1_000, 80_000, 2_000)
        settled = settle(WantedVolume(), source, 10)
        assert (settled.iops, settled.throughput_mib_s) == (5_000, 1_250)

    def test_an_unknown_old_type_becomes_gp3(self):
        assert settle(WantedVolume(), VolumeSettings("standard", 10), 10).volume_type == "gp3"


class TestSpeed:
    @pytest.mark.parametrize(
        ("settings", "expected"),
        [
            (VolumeSettings("gp3", 100, 3_000, 125), VolumeLimits(3_000, 125, 125)),
            (VolumeSettings("gp3", 100, 3_000, 1_000), VolumeLimits(3_000, 750, 750)),
            (VolumeSettings("gp2", 100), VolumeLimits(300, 75, 128)),
            (VolumeSettings("gp2", 171), VolumeLimits(513, 128.25, 250)),
            (VolumeSettings("gp2", 10_000), VolumeLimits(16_000, 250, 250)),
            (VolumeSettings("io2", 1_000, 256_000), VolumeLimits(256_000, 4_000, 4_000)),
            (VolumeSettings("st1", 2_048), VolumeLimits(500, 80, 500)),
            (VolumeSettings("sc1", 1_024), VolumeLimits(250, 12, 80)),
        ],
    )
    def test_is_the_lower_of_throughput_and_iops(self, settings, expected):
        assert speed(settings) == expected
