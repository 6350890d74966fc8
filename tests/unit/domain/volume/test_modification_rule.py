"""When a volume may be modified again."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from rewarm.domain.volume.modification_rule import ModificationRule, Slots, distinct, slots
from rewarm.domain.volume.performance import Performance, VolumeModification
from tests.support.builders import NOW

FOUR, SIX = ModificationRule.FOUR_IN_24_H, ModificationRule.SIX_HOURS


def ago(hours: float) -> datetime:
    return NOW - timedelta(hours=hours)


def change(state: str, hours: float, progress: int | None = None) -> VolumeModification:
    return VolumeModification(
        state, Performance("gp3", 4_000, 250), started_at=ago(hours), progress_percent=progress
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
