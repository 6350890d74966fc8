"""What needs approval, and until when."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from rewarm.domain.plan.approval import ApprovalRule, open_until

NOW = datetime(2026, 11, 21, 3, tzinfo=UTC)
ABOVE = "above $1.00 it needs approval (objective.approveAboveUsd)."
REPLACES = "The plan replaces a volume, which needs approval (objective.approveReplace)."
MINUTE = timedelta(minutes=1)


def rule(above=None, approved=None, *, replaces=False):
    values = [None if usd is None else Decimal(usd) for usd in (above, approved)]
    return ApprovalRule(values[0], replaces, values[1])


@pytest.mark.parametrize(
    ("of", "usd", "reason"),
    [
        (rule(), "1000", None),
        (rule("1"), "1", None),
        (rule("1"), "1.01", f"The plan costs $1.01; {ABOVE}"),
        (rule("0"), "0", "Every plan needs approval (objective.approveAboveUsd is 0)."),
        (rule("0", "0"), "0", None),
        (rule("1", "3"), "3", None),
        (rule("1", "3"), "4", f"The plan costs $4.00, and $3.00 was approved; {ABOVE}"),
        (rule("5", "3"), "4", None),
        (rule(replaces=True), "0", REPLACES),
        (rule(approved="3", replaces=True), "4", None),
    ],
)  # fmt: skip
def test_what_costs_more_or_replaces_needs_approval(of, usd, reason):
    assert of.reason(Decimal(usd), unpriced=False) == reason


def test_both_reasons_are_told():
    reason = rule("1", replaces=True).reason(Decimal(2), unpriced=False)
    assert "costs $2.00" in reason
    assert "replaces a volume" in reason


def test_a_part_without_a_known_price_may_cost_anything():
    assert "whose price is not known; above $1.00" in rule("1").reason(Decimal(0), unpriced=True)
    assert rule("1", "0").reason(Decimal(0), unpriced=True) is None, "approved so"
    assert rule().reason(Decimal(0), unpriced=True) is None


def test_what_goes_ahead_is_the_most_that_other_plans_may_cost():
    assert rule("1").ceiling_usd(Decimal("0.2")) == 1
    assert rule("1").ceiling_usd(Decimal("3.2")) == Decimal("3.2")
    assert rule("1", "3.2").ceiling_usd(Decimal(2)) == Decimal("3.2")
    assert rule(replaces=True).ceiling_usd(Decimal(2)) is None


@pytest.mark.parametrize(
    ("minutes_to_deadline", "minutes_of_plan", "minutes"),
    [(None, 30, 24 * 60), (120, 30, 88), (30, 25, 10), (30, 90, 10)],
)
def test_waits_as_long_as_the_plan_is_still_in_time(minutes_to_deadline, minutes_of_plan, minutes):
    """For people at least ten minutes, and 24 hours where there is no deadline."""
    deadline = None if minutes_to_deadline is None else NOW + minutes_to_deadline * MINUTE
    assert open_until(NOW, deadline, NOW + minutes_of_plan * MINUTE) == NOW + minutes * MINUTE
