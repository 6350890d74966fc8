"""What time a step has where its state was tried again."""

from __future__ import annotations

from datetime import timedelta

import pytest

from rewarm.contracts.base import RETRIED_AFTER, StepEvent
from rewarm.contracts.events import ReportEvent
from tests.support.builders import NOW, RESTORE_ID

SECOND = timedelta(seconds=1)


@pytest.mark.parametrize("since_entry", [-5 * SECOND, 0 * SECOND, RETRIED_AFTER])
def test_a_step_has_the_time_at_which_its_state_was_entered(since_entry: timedelta) -> None:
    event = StepEvent(restore_id=RESTORE_ID, now=NOW)
    assert event.at_present(NOW + since_entry) == event


def test_a_step_whose_state_was_tried_for_minutes_has_the_present_time() -> None:
    present = NOW + RETRIED_AFTER + SECOND
    assert StepEvent(restore_id=RESTORE_ID, now=NOW).at_present(present).now == present


def test_a_time_that_the_state_machine_has_chosen_stays() -> None:
    """The report of a confirmation has the end of the restore."""
    event = ReportEvent(restore_id=RESTORE_ID, now=NOW, started_at=NOW, results=[])
    assert event.at_present(NOW + timedelta(hours=1)) == event
