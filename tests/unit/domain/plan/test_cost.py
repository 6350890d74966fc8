"""What strategies cost, and what the parts of a price have come to, by hand."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewarm.domain.model import GIB, Strategy
from rewarm.domain.plan import cost
from rewarm.domain.plan.cost import LIST_BLOCKS, billed
from tests.support.builders import NOW
from tests.support.fakes import tokyo_prices

BOOK = tokyo_prices(NOW)

FSR, BOOST, RATE = Strategy.FAST_SNAPSHOT_RESTORE, Strategy.BOOSTED_WARM_UP, Strategy.PROVISIONED_RATE


class TestProvisionedRate:
    @pytest.mark.parametrize(
        ("data_gib", "rate", "usd"),
        [
            # Tokyo: 1.2 x $0.000012 = $0.0000144 per GiB and MiB/s.
            (100, 100, "0.144"),
            (100, 300, "0.432"),
            (1024, 300, "4.423680"),
            (16_384, 100, "23.592960"),
        ],
    )
    def test_is_data_times_rate_times_price(self, data_gib, rate, usd):
        assert cost.provisioned_rate(BOOK, data_gib * GIB, rate).usd == Decimal(usd)

    def test_is_for_the_data_not_for_the_volume(self):
        part = cost.provisioned_rate(BOOK, GIB // 2, 200)
        assert part.usd == Decimal("0.00144")
        assert part.arithmetic == "0.500 GiB x 200 MiB/s x $0.0000144"


class TestFastSnapshotRestore:
    @pytest.mark.parametrize(
        ("seconds", "usd", "minutes"),
        [(1, "0.90", "60"), (3_600, "0.90", "60"), (3_601, "0.915", "61"), (7_200, "1.80", "120")],
    )
    def test_is_billed_by_the_minute_and_for_an_hour_at_least(self, seconds, usd, minutes):
        part = cost.fast_snapshot_restore(BOOK, seconds)
        assert part.usd == Decimal(usd)
        assert part.arithmetic == f"{minutes} min / 60 x $0.90"

    def test_volumes_of_one_snapshot_share_it(self):
        assert cost.fast_snapshot_restore(BOOK, 60, sharers=12).usd == Decimal("0.075")

    def test_costs_nothing_where_somebody_pays_already(self):
        assert cost.already_enabled_elsewhere().usd == 0


class TestListBlocks:
    @pytest.mark.parametrize(
        ("blocks", "requests"),
        [(0, "1 request"), (10_000, "1 request"), (10_001, "2 requests"), (2_097_152, "210 requests")],
    )
    def test_is_one_request_for_each_ten_thousand_blocks(self, blocks, requests):
        part = cost.list_blocks(BOOK, blocks)
        assert part.arithmetic == f"{requests} x $0.0006 / 1,000"
        assert part.sunk

    def test_of_a_full_tib_costs_next_to_nothing(self):
        assert cost.list_blocks(BOOK, 2_097_152).usd == Decimal("0.000126")


class TestTotal:
    @given(st.lists(st.integers(0, 10**9)))
    def test_is_exact(self, micros):
        parts = [cost.CostPart("x", Decimal(micro) / 10**6, "") for micro in micros]
        assert cost.total(parts) * 10**6 == sum(micros)

    def test_is_told_in_words(self):
        words = cost.in_words([cost.fast_snapshot_restore(BOOK, 1), cost.list_blocks(BOOK, 1)])
        assert words == (
            "Fast snapshot restore: 60 min / 60 x $0.90 = $0.90; "
            "ListSnapshotBlocks requests: 1 request x $0.0006 / 1,000 = under $0.0001"
        )


@pytest.mark.parametrize(
    ("strategy", "planned_seconds", "actual_seconds", "usd"),
    [
        (FSR, 7_200.0, 600.0, "0.75"),  # an hour at least
        (FSR, 7_200.0, 3_601.0, "0.7625"),  # by the minute that has begun
        (FSR, 7_200.0, 10_800.0, "2.25"),
        (BOOST, 3_600.0, 1_800.0, "0.75"),  # by the second
        (BOOST, 3_600.0, 7_200.0, "3.00"),
    ],
)
def test_what_is_billed_by_time_follows_the_time_that_it_took(strategy, planned_seconds, actual_seconds, usd):
    found, how = billed(
        strategy, "x", Decimal("1.50"), planned_seconds, is_made=True, actual_seconds=actual_seconds
    )
    assert found == Decimal(usd)
    assert "planned were" in how


def test_a_rate_is_billed_in_full_once_there_is_a_volume():
    planned = Decimal("0.0576")
    assert billed(RATE, "rate", planned, None, is_made=True, actual_seconds=None)[0] == planned
    assert billed(RATE, "rate", planned, None, is_made=False, actual_seconds=None)[0] == 0


def test_requests_are_billed_whatever_came_of_them():
    planned = Decimal("0.000005")
    assert billed(RATE, LIST_BLOCKS, planned, None, is_made=False, actual_seconds=None)[0] == planned


def test_what_cannot_be_known_is_not_guessed():
    found, how = billed(BOOST, "boost", Decimal(1), 60.0, is_made=True, actual_seconds=None)
    assert found is None
    assert "AWS's bill" in how
