"""State Check Approval."""

from __future__ import annotations

from datetime import timedelta

import pytest

from rewarm.domain.errors import ApprovalTimedOutError, NotAwaitingApprovalError, RestoreCancelledError
from rewarm.steps.request.approval import ApproveRestorePorts, approve_restore
from rewarm.steps.request.check_approval import CheckApprovalEvent, check_approval
from tests.support.builders import ALICE, NOW, RESTORE_ID
from tests.support.fakes import FakeTable
from tests.support.holds import FakeHolds
from tests.support.worlds.signals import FakeTasks, FakeWaiters
from tests.unit.steps.request.test_approval import question


@pytest.fixture
def table():
    """Of a restore that has a plan for $3.20 and waits an hour at most."""
    table = FakeTable()
    table.put_new(RESTORE_ID, {"status": "planned", "request": {}, "volumeCount": 1})
    return table


def look(table, minutes=0.0, asked=None):
    now = NOW + timedelta(minutes=minutes)
    return check_approval(
        CheckApprovalEvent(restore_id=RESTORE_ID, now=now, question=asked or question()), table=table
    )


def approve(table, by=ALICE):
    waiters, tasks = FakeWaiters(), FakeTasks()
    ports = ApproveRestorePorts(table=table, waiters=waiters, tasks=tasks, holds=FakeHolds())
    return approve_restore(RESTORE_ID, by=by, now=NOW, ports=ports)


def test_waits_a_quarter_of_an_hour_and_never_longer_than_there_is_time(table):
    first = look(table)
    assert (first.approved, first.plan_again, first.wait_seconds) == (None, False, 900)
    assert table.records[RESTORE_ID]["status"] == "awaiting-approval"
    assert look(table, minutes=58).wait_seconds == 120


def test_goes_on_once_somebody_approved(table):
    look(table)
    approve(table)
    found = look(table, minutes=4)
    assert found.approved.by == ALICE.name
    assert not found.plan_again
    assert table.records[RESTORE_ID]["status"] == "planned"


def test_a_plan_that_waited_for_more_than_five_minutes_is_made_again(table):
    look(table)
    approve(table)
    assert look(table, minutes=6).plan_again


def test_an_approval_before_the_first_look_counts(table):
    """The message was sent, and the state machine has not looked yet."""
    table.update(RESTORE_ID, {"approval": question().to_json()})
    approve(table)
    assert look(table).approved.by == ALICE.name


def test_fails_where_nobody_approved_in_time(table):
    look(table)
    with pytest.raises(ApprovalTimedOutError, match="until 2026-11-21 04:00 UTC; nothing was made for it"):
        look(table, minutes=60)
    with pytest.raises(NotAwaitingApprovalError):
        approve(table)
    with pytest.raises(ApprovalTimedOutError):
        look(table, minutes=60)


def test_an_approval_at_the_last_moment_counts(table, monkeypatch):
    look(table)
    write = table.replace_value

    def overtaken(*arguments, **changes):
        monkeypatch.undo()
        approve(table)
        return write(*arguments, **changes)

    monkeypatch.setattr(table, "replace_value", overtaken)
    assert look(table, minutes=60).approved.by == ALICE.name


@pytest.mark.parametrize("approved", [False, True])
def test_what_was_cancelled_does_not_go_on(table, approved):
    look(table)
    if approved:
        approve(table)
    table.request_cancel(RESTORE_ID)
    with pytest.raises(RestoreCancelledError):
        look(table, minutes=60)


def test_a_lost_record_asks_again(table):
    look(table)
    table.records.clear()
    assert look(table, minutes=15).approved is None
    assert approve(table)["approval"]["by"] == ALICE.name
    assert look(table, minutes=16).approved is not None


def test_a_dearer_plan_is_asked_about_although_the_first_was_approved(table):
    look(table)
    approve(table)
    dearer = question(usd="9", asked_at=NOW + timedelta(minutes=10))
    assert look(table, minutes=10, asked=dearer).approved is None
    assert table.records[RESTORE_ID]["approval"]["usd"] == "9"
