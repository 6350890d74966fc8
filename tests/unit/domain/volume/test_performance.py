"""The settings of a volume: as a tag, in words, and when they are those wanted."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from rewarm.domain.errors import InvalidRequestError
from rewarm.domain.model import MIB, Boost, VolumeSettings
from rewarm.domain.volume.performance import (
    Activity,
    Limit,
    ModificationRule,
    PerformanceSettings,
    Slots,
    VolumeModification,
    changed_limit,
    distinct,
    is_loaded,
    parse_performance,
    performance_of,
    settle_target,
    sight,
    slots,
)
from rewarm.domain.volume.volume_types import WantedVolume
from tests.support.builders import NOW

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


VOLUME = VolumeSettings("gp3", 100, 4_000, 500)
RAISED = datetime(2021, 6, 1, 10, 9, 40, tzinfo=UTC)
LOWERED = datetime(2021, 6, 1, 10, 31, 9, tzinfo=UTC)

FOUR, SIX = ModificationRule.FOUR_IN_24_H, ModificationRule.SIX_HOURS


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
            (VOLUME, WantedVolume(iops=8_000), PerformanceSettings("gp3", 8_000, 500)),
            (VOLUME, WantedVolume(throughput_mib_s=125), PerformanceSettings("gp3", 4_000, 125)),
            (VOLUME, WantedVolume(throughput_mib_s=1_000), PerformanceSettings("gp3", 4_000, 1_000)),
            (
                VolumeSettings("gp3", 100, 8_000, 2_000),
                WantedVolume(iops=3_000),
                PerformanceSettings("gp3", 3_000, 750),
            ),
            (VOLUME, WantedVolume("io2", iops=10_000), PerformanceSettings("io2", 10_000)),
            (VOLUME, WantedVolume("gp2"), PerformanceSettings("gp2")),
            (VolumeSettings("io2", 100, 5_000), WantedVolume(iops=100), PerformanceSettings("io2", 100)),
            (VolumeSettings("gp2", 100, 300), WantedVolume("gp3"), PerformanceSettings("gp3", 3_000, 125)),
            (VolumeSettings("standard", 100), WantedVolume("gp3"), PerformanceSettings("gp3", 3_000, 125)),
        ],
    )
    def test_keeps_what_was_not_asked_for(
        self, volume: VolumeSettings, wanted: WantedVolume, target: PerformanceSettings
    ) -> None:
        assert settle_target(volume, wanted) == target

    @pytest.mark.parametrize(
        ("volume", "wanted", "field", "says"),
        [
            (VOLUME, WantedVolume(iops=90_000), "iops", "3000 to 50000"),
            (VOLUME, WantedVolume(throughput_mib_s=1_500), "throughputMibS", "125 to 1000"),
            (VOLUME, WantedVolume("io2"), "iops", "is missing"),
            (VOLUME, WantedVolume("gp2", iops=3_000), "iops", "no IOPS setting"),
            (VOLUME, WantedVolume("io2", iops=500, throughput_mib_s=250), "throughputMibS", "no throughput"),
            (VOLUME, WantedVolume("st1"), "volumeType", "125 to 16384 GiB, and this one 100"),
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
        found = changed_limit(PerformanceSettings("io2", 1_000), PerformanceSettings("io2", 2_000), 100)
        assert found == Limit("IOPS", 1_000, 2_000)

    def test_is_throughput_else(self) -> None:
        found = changed_limit(
            PerformanceSettings("gp3", 4_000, 500), PerformanceSettings("gp3", 4_000, 125), 100
        )
        assert found == Limit("MiB/s", 500, 125)

    def test_is_nothing_where_only_the_name_changes(self) -> None:
        assert (
            changed_limit(PerformanceSettings("io2", 3_000), PerformanceSettings("io1", 3_000), 4_000) is None
        )

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


def ago(hours: float) -> datetime:
    return NOW - timedelta(hours=hours)


def change(state: str, hours: float, progress: int | None = None) -> VolumeModification:
    return VolumeModification(
        state, PerformanceSettings("gp3", 4_000, 250), started_at=ago(hours), progress_percent=progress
    )


def left(
    *hours: float,
    rule: ModificationRule = FOUR,
    latest: VolumeModification | None = None,
    size_gib: int = 100,
) -> Slots:
    return slots(rule, [ago(one) for one in hours], latest, size_gib=size_gib, now=NOW)


class TestFourIn24Hours:
    def test_a_volume_that_was_never_changed_is_free(self) -> None:
        assert left() == Slots(FOUR, ())

    def test_three_leave_one(self) -> None:
        found = left(20, 10, 1)
        assert (found.next_free_at, len(found.started_at)) == (None, 3)

    def test_the_fifth_waits_until_the_first_is_a_day_old(self) -> None:
        found = left(20, 10, 5, 1)
        assert found.next_free_at == ago(20) + timedelta(hours=24)
        assert "4 modifications within 24 hours" in found.reason

    def test_more_than_four_that_others_got_count_from_the_fourth_last(self) -> None:
        assert left(23, 20, 10, 5, 1).next_free_at == ago(20) + timedelta(hours=24)

    def test_what_is_a_day_old_counts_no_more(self) -> None:
        assert left(24, 20, 10, 5).next_free_at is None
        assert left(23.99, 20, 10, 5).next_free_at == ago(23.99) + timedelta(hours=24)

    def test_the_latest_counts_once_whoever_tells_of_it(self) -> None:
        found = left(20, 10, 1, latest=change("completed", 1.001))
        assert (len(found.started_at), found.next_free_at) == (3, None)

    def test_a_failed_one_counts_as_ec2_does_not_say_that_it_does_not(self) -> None:
        assert left(20, 10, 5, latest=change("failed", 1)).next_free_at is not None


class TestUnderWay:
    @pytest.mark.parametrize("state", ["modifying", "optimizing"])
    def test_the_earlier_one_must_be_completed(self, state: str) -> None:
        found = left(latest=change(state, 1))
        assert found.next_free_at is not None
        assert state in found.reason

    def test_its_progress_tells_when(self) -> None:
        found = left(latest=change("optimizing", 1, progress=25))
        assert found.next_free_at == NOW + timedelta(hours=3)
        assert "25 % done" in found.reason

    def test_without_progress_the_size_tells(self) -> None:
        assert left(latest=change("optimizing", 1), size_gib=1_024).next_free_at == NOW + timedelta(hours=5)

    def test_what_should_be_done_long_since_is_a_minute_ahead(self) -> None:
        assert left(latest=change("optimizing", 100, progress=99)).next_free_at > NOW

    def test_both_reasons_are_told_and_the_later_time_counts(self) -> None:
        found = left(20, 10, 5, latest=change("modifying", 1))
        assert found.next_free_at == NOW + timedelta(hours=4)
        assert "modifying" in found.reason
        assert "within 24 hours" in found.reason


class TestSixHours:
    def test_one_in_six_hours(self) -> None:
        found = left(5, rule=SIX)
        assert found.next_free_at == NOW + timedelta(hours=1)
        assert "less than 6 hours ago" in found.reason
        assert left(6, rule=SIX).next_free_at is None
        assert left(rule=SIX).next_free_at is None


def test_two_accounts_of_one_change_are_one() -> None:
    second = timedelta(seconds=1)
    assert distinct([NOW + second, NOW, NOW + 29 * second]) == [NOW]
    assert distinct([NOW, NOW + 40 * second]) == [NOW, NOW + 40 * second]
