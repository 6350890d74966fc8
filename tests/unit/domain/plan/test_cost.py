"""What strategies cost, and what the parts of a price have come to, by hand."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local.yaml_text import template
from rewarm.domain.blocks.shards import MOST_BLOCKS
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


class TestBlocks:
    TIB_BLOCKS = 2_097_152

    def test_of_a_tib_are_requests_packs_and_function_runs(self):
        requests, packs, runs = cost.blocks(self.TIB_BLOCKS, BOOK)
        # 2,097,152 x $0.003 / 1,000; 1,024 GiB x $0.023 x 2 / 30
        assert (requests.usd, packs.usd) == (Decimal("6.291456"), Decimal("1.570133"))
        # 4,096 x (6.4 s x 1.7275 GB x $0.0000133334 + $0.0000002 + 2 x $0.000025)
        assert runs.usd == pytest.approx(Decimal("0.8095"), abs=Decimal("0.0005"))
        assert runs.arithmetic == (
            "4,096 runs x (6.4 s x 1,769 / 1,024 GB x $0.0000133334 + $0.20 / 1,000,000 + 2 x $0.025 / 1,000)"
        )

    @given(st.integers(0, 10**7), st.integers(1, 50), st.integers(0, 10**8))
    def test_the_part_of_a_fleets_volume_is_all_that_it_was_given(self, blocks, sharers, micros):
        lines = cost.shared_blocks(Decimal(micros) / 10**6, blocks, sharers, BOOK)
        assert cost.total(lines) * 10**6 == micros
        assert min(line.usd for line in lines) >= 0

    def test_the_functions_are_those_of_the_template(self):
        shard = template()["Resources"]["CopyShardFunction"]["Properties"]
        assert (shard["MemorySize"], MOST_BLOCKS) == (cost.RUN_MB, cost.RUN_BLOCKS)


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
