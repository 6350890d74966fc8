"""How much of the fault matrix a session has played."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

FAULT_ROWS = "faultRows"
"""Property of a test: (rows of the fault matrix that ended well, rows that it played)."""


def fault_rows(reports: Iterable[pytest.TestReport]) -> tuple[int, int]:
    """Rows that ended well, and rows that were played; of a test's three reports the last two have them."""
    calls = [one for one in reports if one.when == "call"]
    rows = [value for one in calls for name, value in one.user_properties if name == FAULT_ROWS]
    return sum(row[0] for row in rows), sum(row[1] for row in rows)
