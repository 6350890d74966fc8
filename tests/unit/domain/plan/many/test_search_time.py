"""A search for the plan of many volumes looks at its budget of time all along, and ends when it is over.

The clock counts calls of functions, so that the machine's speed has no part in it.
"""

from __future__ import annotations

import sys
from itertools import pairwise
from typing import Any

import pytest

from local.tools.bench.checks import plans
from rewarm.domain.plan.allocation import allocate
from rewarm.domain.plan.estimates import PlanObjective, SearchTime
from tests.support.values.facts import TOKYO
from tests.support.values.many_volumes import restore

CALLS_A_VOLUME = 2_500
"""The most between two looks: 1,640 were counted, while the estimates of all volumes are made at first."""
ENDLESS = float("inf")
LATE = plans.volumes(80), 1.0, None
CASES = [
    (LATE, 300_000),
    (restore(0, (100,)), 700_000),
    (restore(1, (100,)), ENDLESS),
    (restore(5, (100,)), ENDLESS),
]
"""Volumes with deadline and budget, and how many functions may be called."""


class CountedClock:
    """Has time until so many functions were called."""

    def __init__(self, most: float) -> None:
        self.calls = 0
        self.looks: list[int] = []
        self._most = most

    def has_time(self) -> bool:
        self.looks.append(self.calls)
        return self.calls < self._most

    def count(self, _frame: Any, event: str, _of: Any) -> None:
        self.calls += event == "call"


def searched(case: Any, most: float) -> CountedClock:
    several, deadline, budget = case
    clock, before = CountedClock(most), sys.getprofile()
    sys.setprofile(clock.count)
    try:
        allocate(several, PlanObjective(deadline, budget, patience=SearchTime(clock.has_time)), TOKYO)
    finally:
        sys.setprofile(before)
    return clock


@pytest.mark.parametrize(("case", "most"), CASES)
def test_no_step_of_a_search_is_long_and_little_is_done_when_its_time_is_over(case, most):
    clock, longest = searched(case, most), CALLS_A_VOLUME * len(case[0])
    assert max(later - earlier for earlier, later in pairwise([0, *clock.looks, clock.calls])) <= longest
    assert clock.calls - most <= longest
