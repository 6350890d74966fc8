"""What the parts of a price have come to."""

from __future__ import annotations

from decimal import Decimal

import pytest

from rewarm.domain.model import Strategy
from rewarm.domain.plan.billing import billed
from rewarm.domain.plan.cost import LIST_BLOCKS

FSR, BOOST, RATE = Strategy.FAST_SNAPSHOT_RESTORE, Strategy.BOOSTED_WARM_UP, Strategy.PROVISIONED_RATE


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
