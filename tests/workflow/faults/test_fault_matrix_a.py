"""The fault matrix, calls and functions: half of the places, for one worker."""

from __future__ import annotations

import pytest

from tests.support.stack import fault_matrix
from tests.support.stack.matrix_summary import FAULT_ROWS


@pytest.mark.matrix
@pytest.mark.parametrize("place", fault_matrix.places("a"))
def test_every_fault_of_every_call_ends_well(fault_rows, place, record_property):
    """Ready, or failed with the right reason; nothing is left, and the meter stands still."""
    rows, wrong = fault_rows.played(place)
    record_property(FAULT_ROWS, (rows - len(wrong), rows))
    assert not wrong, f"{len(wrong)} of {rows}:\n" + "\n".join(wrong)
    assert rows
