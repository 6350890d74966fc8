"""N of N is the number of rows, not of reports."""

from __future__ import annotations

from typing import Literal

import pytest

from tests.support.stack.matrix_summary import FAULT_ROWS, fault_rows


def report(when: Literal["setup", "call", "teardown"], *rows: tuple[int, int]) -> pytest.TestReport:
    given: list[tuple[str, object]] = [(FAULT_ROWS, row) for row in rows]
    return pytest.TestReport("a", ("a", 1, "a"), {}, "passed", None, when, user_properties=given)


def test_each_row_is_counted_once() -> None:
    reports = [report("setup"), report("call", (9, 10)), report("teardown", (9, 10)), report("call", (1, 1))]
    assert fault_rows(reports) == (10, 11)
    assert fault_rows([report("call")]) == (0, 0)
