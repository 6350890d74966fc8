"""How people read sizes, times and prices."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewarm.domain.units import (
    clock_text,
    count_text,
    duration_text,
    elapsed_text,
    iso,
    price_text,
    round_usd,
    shown,
    size_text,
    usd_text,
)


class TestTexts:
    @pytest.mark.parametrize(
        ("seconds", "text"),
        [
            (0, "0 s"),
            (99, "99 s"),
            (100, "2 min"),
            (3_540, "59 min"),
            (3_541, "1 h"),
            (3_900, "1 h 05 min"),
            (172_799, "2 d"),
            (180_000, "2 d 2 h"),
        ],
    )
    def test_durations_are_rounded_up(self, seconds, text):
        assert duration_text(seconds) == text

    @pytest.mark.parametrize(
        ("amount", "text"),
        [
            ("0", "$0.00"),
            ("0.9", "$0.90"),
            ("1234.5", "$1234.50"),
            ("0.0576", "$0.058"),
            ("0.00012", "$0.00012"),
            ("0.0001", "$0.0001"),
            ("0.000099", "under $0.0001"),
            ("0.0000000001", "under $0.0001"),
        ],
    )
    def test_prices_have_as_many_decimals_as_they_need(self, amount, text):
        assert usd_text(Decimal(amount)) == text

    @pytest.mark.parametrize(
        ("price", "text"),
        [("0.7500000000", "$0.75"), ("0.9", "$0.90"), ("2", "$2.00"), ("0.000012", "$0.000012")],
    )
    def test_prices_of_a_unit_are_exact(self, price, text):
        assert price_text(Decimal(price)) == text

    @pytest.mark.parametrize(
        ("seconds", "text"),
        [
            (0.4, "0 s"),
            (99.4, "99 s"),
            (309, "5 min 09 s"),
            (3_599.6, "1 h"),
            (3_929, "1 h 05 min"),
            (180_010, "2 d 2 h"),
        ],
    )
    def test_measured_times_are_not_rounded_up(self, seconds, text):
        assert elapsed_text(seconds) == text

    def test_one_is_not_plural(self):
        assert [count_text(number, "poll") for number in (0, 1, 1_200)] == [
            "0 polls",
            "1 poll",
            "1,200 polls",
        ]

    @pytest.mark.parametrize(
        ("size", "text"),
        [(0, "0 bytes"), (524_288, "512 KiB"), (1 << 30, "1 GiB"), (3 << 29, "1.5 GiB"), (2 << 40, "2 TiB")],
    )
    def test_sizes(self, size, text):
        assert size_text(size) == text

    def test_times_are_utc(self):
        tokyo = datetime(2026, 11, 21, 12, 0, 0, 5_000, tzinfo=timezone(timedelta(hours=9)))
        assert iso(tokyo) == "2026-11-21T03:00:00.005Z"
        assert iso(tokyo.replace(microsecond=0)) == "2026-11-21T03:00:00Z"
        assert iso(tokyo.replace(microsecond=999)) == "2026-11-21T03:00:00Z"
        assert clock_text(tokyo) == "2026-11-21 03:00 UTC"

    @given(st.datetimes(timezones=st.just(UTC)))
    def test_times_are_read_back_to_the_millisecond(self, instant):
        again = datetime.fromisoformat(iso(instant))
        assert abs(again - instant) < timedelta(milliseconds=1)
        assert iso(again) == iso(instant)

    def test_long_values_are_cut(self):
        assert len(shown("x" * 1_000)) == 121

    @given(st.decimals(0, 10**6, places=12))
    def test_rounding_is_within_half_a_millionth(self, amount):
        assert abs(round_usd(amount) - amount) <= Decimal("0.0000005")
