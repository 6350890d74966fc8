"""What the end of a session shows: how much of the fault matrix it has played, and what tests measured."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

FAULT_ROWS = "faultRows"
"""Property of a test: (rows of the fault matrix that ended well, rows that it played)."""
LINE = "line"
"""Property of a test: a line for people."""


def fault_rows(reports: Iterable[pytest.TestReport]) -> tuple[int, int]:
    """Rows that ended well, and rows that were played; of a test's three reports the last two have them."""
    calls = [one for one in reports if one.when == "call"]
    rows = [value for one in calls for name, value in one.user_properties if name == FAULT_ROWS]
    return sum(row[0] for row in rows), sum(row[1] for row in rows)


def lines(reports: Iterable[pytest.TestReport]) -> list[str]:
    """In the order of the tests' ends."""
    calls = [one for one in reports if one.when == "call"]
    return [str(value) for one in calls for name, value in one.user_properties if name == LINE]
