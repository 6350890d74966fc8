"""What is said of a choice agrees with the figures beside it."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

from rewarm.domain.model import GIB, Strategy
from rewarm.domain.plan.reasons import why_not
from rewarm.domain.plan.strategy import PlanObjective, choose, choose_all
from tests.support.builders import NOW, facts
from tests.support.fakes import tokyo_prices

BOOK = tokyo_prices(NOW)


def of_gib(gib):
    return {"data_bytes": gib * GIB, "written_bytes": gib * GIB, "written_blocks": gib * 2_048}


def reason(decision, strategy):
    return next(one.reason for one in decision.considered if one.strategy is strategy)


def test_a_volume_that_waits_for_the_last_is_not_told_that_nothing_is_in_time():
    large = facts(snapshot_id="snap-2", instance_id="i-2", snapshot_size_gib=4_096, **of_gib(4_096))
    small, _ = choose_all([facts(**of_gib(100)), large], PlanObjective(1_000, Decimal(5)), BOOK)
    assert small.plan.deadline_missed
    assert reason(small, Strategy.PROVISIONED_RATE).startswith("Costs $")
    assert small.plan.why.startswith("The volumes cannot all meet the deadline within the budget; warm-up-")


def test_what_is_paid_for_the_others_sake_is_not_called_the_cheapest_alone():
    # Four rates of 200 GiB would be $1.15, and fast snapshot restore for all is $0.90. The small one's part
    # of it is $0.18, and a rate for it alone would be $0.0144.
    large = facts(agent_available=False, **of_gib(200))
    small = facts(agent_available=False, **of_gib(10))
    decisions = choose_all([small, *[large] * 4], PlanObjective(2 * 3_600), BOOK)
    shared = decisions[0]
    assert shared.plan.estimate.strategy is Strategy.FAST_SNAPSHOT_RESTORE
    assert "is the cheapest that meets the deadline for all volumes together" in shared.plan.why
    assert reason(shared, Strategy.PROVISIONED_RATE).startswith("Cheaper alone")


def test_a_price_just_over_the_budget_reads_as_more_than_it():
    # 40 GiB x 100 MiB/s x $0.0000144 = $0.0576
    decision = choose(facts(), PlanObjective(budget_usd=Decimal("0.0575985")), BOOK)
    told = reason(decision, Strategy.PROVISIONED_RATE)
    assert told == "Over budget: it costs $0.0576, and the budget leaves $0.057598."


@pytest.mark.parametrize(("more", "words"), [(1, "price: by 1 s."), (300, "price: 16 min against 11 min.")])
def test_two_times_that_read_the_same_are_told_by_their_difference(more, words):
    best = choose(facts(), PlanObjective(), BOOK).plan.estimate
    # 40,960 MiB / 125 MiB/s / 0.75 = 437 s, and 210 s around it: 10 min 47 s
    slower = replace(best, times=replace(best.times, ready_p90=best.times.ready_p90 + more))
    assert why_not(slower, best, PlanObjective()).endswith(words)
