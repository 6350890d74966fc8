"""Which settings a change may have, and whether CloudWatch shows it; with the published figures."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from rewarm.domain.errors import InvalidRequestError
from rewarm.domain.model import MIB, VolumeSettings
from rewarm.domain.volume.performance import Performance
from rewarm.domain.volume.performance_change import (
    Activity,
    Limit,
    changed_limit,
    is_loaded,
    settle_target,
    sight,
)
from rewarm.domain.volume.volume_types import WantedVolume

GP3 = VolumeSettings("gp3", 100, 4_000, 500)
RAISED = datetime(2021, 6, 1, 10, 9, 40, tzinfo=UTC)
LOWERED = datetime(2021, 6, 1, 10, 31, 9, tzinfo=UTC)


def minutes(first: datetime, *operations: float) -> list[Activity]:
    start = first.replace(second=0)
    return [
        Activity(start + timedelta(minutes=number), one, one * 16_384)
        for number, one in enumerate(operations)
    ]


class TestTarget:
    @pytest.mark.parametrize(
        ("volume", "wanted", "target"),
        [
            (GP3, WantedVolume(iops=8_000), Performance("gp3", 8_000, 500)),
            (GP3, WantedVolume(throughput_mib_s=125), Performance("gp3", 4_000, 125)),
            (GP3, WantedVolume(throughput_mib_s=1_000), Performance("gp3", 4_000, 1_000)),
            (
                VolumeSettings("gp3", 100, 8_000, 2_000),
                WantedVolume(iops=3_000),
                Performance("gp3", 3_000, 750),
            ),
            (GP3, WantedVolume("io2", iops=10_000), Performance("io2", 10_000)),
            (GP3, WantedVolume("gp2"), Performance("gp2")),
            (VolumeSettings("io2", 100, 5_000), WantedVolume(iops=100), Performance("io2", 100)),
            (VolumeSettings("gp2", 100, 300), WantedVolume("gp3"), Performance("gp3", 3_000, 125)),
            (VolumeSettings("standard", 100), WantedVolume("gp3"), Performance("gp3", 3_000, 125)),
        ],
    )
    def test_keeps_what_was_not_asked_for(
        self, volume: VolumeSettings, wanted: WantedVolume, target: Performance
    ) -> None:
        assert settle_target(volume, wanted) == target

    @pytest.mark.parametrize(
        ("volume", "wanted", "field", "says"),
        [
            (GP3, WantedVolume(iops=90_000), "iops", "3000 to 50000"),
            (GP3, WantedVolume(throughput_mib_s=1_500), "throughputMibS", "125 to 1000"),
            (GP3, WantedVolume("io2"), "iops", "is missing"),
            (GP3, WantedVolume("gp2", iops=3_000), "iops", "no IOPS setting"),
            (GP3, WantedVolume("io2", iops=500, throughput_mib_s=250), "throughputMibS", "no throughput"),
            (GP3, WantedVolume("st1"), "volumeType", "125 to 16384 GiB, and this one 100"),
            (VolumeSettings("gp3", 20_000), WantedVolume("io1", iops=100), "volumeType", "4 to 16384 GiB"),
            (VolumeSettings("standard", 100), WantedVolume(iops=100), "volumeType", "name the type"),
            (VolumeSettings("io2", 100, 100, multi_attach=True), WantedVolume("gp3"), "volumeType", "keeps"),
        ],
    )
    def test_refuses_with_the_field(
        self, volume: VolumeSettings, wanted: WantedVolume, field: str, says: str
    ) -> None:
        with pytest.raises(InvalidRequestError, match=says) as caught:
            settle_target(volume, wanted)
        assert caught.value.field == field
        assert str(caught.value).startswith(f"{field}: ")


class TestLimit:
    def test_is_iops_where_they_change(self) -> None:
        found = changed_limit(Performance("io2", 1_000), Performance("io2", 2_000), 100)
        assert found == Limit("IOPS", 1_000, 2_000)

    def test_is_throughput_else(self) -> None:
        found = changed_limit(Performance("gp3", 4_000, 500), Performance("gp3", 4_000, 125), 100)
        assert found == Limit("MiB/s", 500, 125)

    def test_is_nothing_where_only_the_name_changes(self) -> None:
        assert changed_limit(Performance("io2", 3_000), Performance("io1", 3_000), 4_000) is None

    def test_throughput_is_what_was_moved(self) -> None:
        assert Limit("MiB/s", 500, 125).rate(Activity(RAISED, 1, 60 * 125 * MIB)) == 125


class TestSight:
    def test_the_published_raise_from_1000_to_2000(self) -> None:
        limit = Limit("IOPS", 1_000, 2_000)
        activity = minutes(RAISED - timedelta(minutes=1), 63_213, 63_213, 120_972)
        found = sight(limit, activity, RAISED)
        assert found is not None
        assert found.minute == datetime(2021, 6, 1, 10, 10, tzinfo=UTC)
        assert (round(found.rate), round(found.rate_before or 0)) == (2_016, 1_054)
        assert found.minute - RAISED < timedelta(minutes=1)

    def test_the_published_fall_from_5000_to_100(self) -> None:
        limit = Limit("IOPS", 5_000, 100)
        activity = minutes(LOWERED - timedelta(minutes=1), 311_038, 6_000)
        found = sight(limit, activity, LOWERED)
        assert found is not None
        assert found.minute == datetime(2021, 6, 1, 10, 31, tzinfo=UTC)
        assert (found.rate, round(found.rate_before or 0)) == (100, 5_184)

    def test_the_load_of_before_shows_nothing(self) -> None:
        assert sight(Limit("IOPS", 1_000, 2_000), minutes(RAISED, 63_213, 63_213), RAISED) is None
        assert sight(Limit("IOPS", 5_000, 100), minutes(LOWERED, 311_038, 311_038), LOWERED) is None

    def test_what_was_before_the_request_shows_nothing(self) -> None:
        earlier = minutes(RAISED - timedelta(minutes=5), 120_972, 120_972)
        assert sight(Limit("IOPS", 1_000, 2_000), earlier, RAISED) is None

    def test_a_load_that_went_away_is_no_lower_limit(self) -> None:
        activity = minutes(LOWERED, 311_038, 0, 60)
        assert sight(Limit("IOPS", 5_000, 100), activity, LOWERED) is None

    def test_a_load_that_was_never_above_shows_no_lower_limit(self) -> None:
        assert sight(Limit("IOPS", 5_000, 100), minutes(LOWERED, 5_400, 5_400), LOWERED) is None

    def test_a_raise_within_the_tolerance_cannot_be_seen(self) -> None:
        assert sight(Limit("IOPS", 3_000, 3_100), minutes(RAISED, 3_100 * 60), RAISED) is None

    def test_datapoints_in_any_order(self) -> None:
        activity = minutes(RAISED - timedelta(minutes=1), 63_213, 63_213, 120_972)[::-1]
        found = sight(Limit("IOPS", 1_000, 2_000), activity, RAISED)
        assert found is not None
        assert round(found.rate_before or 0) == 1_054


def test_a_load_is_half_of_the_smaller_limit_in_the_latest_minute() -> None:
    limit = Limit("IOPS", 1_000, 2_000)
    assert not is_loaded(limit, [])
    assert is_loaded(limit, minutes(RAISED, 0, 500 * 60))
    assert not is_loaded(limit, minutes(RAISED, 500 * 60, 499 * 60))
