"""POST /restores/{id}/approve: who comes first, and who is woken."""

from __future__ import annotations

from datetime import timedelta

import pytest

from rewarm.contracts.values import ApprovalQuestion
from rewarm.domain.errors import (
    ApprovalTimedOutError,
    NotAwaitingApprovalError,
    RestoreEndedError,
    RestoreNotFoundError,
)
from rewarm.domain.ready.waits import approval_signal
from rewarm.steps.record.approvals import answer, ask
from rewarm.steps.record.restore import RestoreNotes
from rewarm.steps.request.approval import ApproveRestorePorts, approve_restore
from rewarm.steps.request.check_approval import CheckApprovalEvent, check_approval
from rewarm.steps.request.routes import cancel_restore
from tests.support.builders import ALICE, BOB, NOW, RESTORE_ID
from tests.support.fakes import FakeTable
from tests.support.holds import FakeHolds
from tests.support.worlds.signals import FakeTasks, FakeWaiters

LATER = NOW + timedelta(minutes=3)


def question(usd="3.20", asked_at=NOW):
    until = asked_at + timedelta(hours=1)
    return ApprovalQuestion(asked_at=asked_at, until=until, usd=usd, reason="It costs more than $1.00.")


@pytest.fixture
def ports():
    """Of a restore that waits."""
    table = FakeTable()
    table.put_new(RESTORE_ID, {"status": "planned", "request": {}, "volumeCount": 1})
    ask(RESTORE_ID, question(), table)
    waiters = FakeWaiters()
    waiters.replace(approval_signal(RESTORE_ID), "token-1", seconds=900)
    return ApproveRestorePorts(
        table=table, waiters=waiters, tasks=FakeTasks({"token-1", "token-2"}), holds=FakeHolds()
    )


def approve(ports, by=ALICE, **more):
    return approve_restore(RESTORE_ID, by=by, now=LATER, ports=ports, **more)


def record(ports):
    return ports.table.records[RESTORE_ID]


def test_wakes_the_restore_and_says_who_approved(ports):
    answered = approve(ports)
    assert ports.tasks.woken == ["token-1"]
    assert answered["status"] == "awaiting-approval"
    assert answered["approval"]["by"] == record(ports)["approval"]["by"] == ALICE.name
    assert answered["approval"]["approvedAt"] == "2026-11-21T03:03:00Z"
    (news,) = record(ports)["events"]
    assert news["event"] == "approved"
    assert "for $3.20" in news["text"]


def test_the_first_approval_counts_and_the_second_wakes_again(ports):
    first = approve(ports)
    ports.waiters.replace(approval_signal(RESTORE_ID), "token-2", seconds=900)
    assert approve(ports, by=BOB) == first
    assert ports.tasks.woken == ["token-1", "token-2"]
    assert len(record(ports)["events"]) == 1


def test_of_two_at_once_one_is_told_that_the_other_approved(ports, monkeypatch):
    table, read = ports.table, ports.table.get

    def read_and_overtaken(restore_id):
        found = read(restore_id)
        monkeypatch.undo()
        approve(ports, by=BOB)
        return found

    monkeypatch.setattr(table, "get", read_and_overtaken)
    assert approve(ports)["approval"]["by"] == BOB.name
    assert len(record(ports)["events"]) == 1


@pytest.mark.parametrize("status", ["ready", "failed", "cancelled"])
def test_what_has_ended_cannot_be_approved(ports, status):
    ports.table.update(RESTORE_ID, {"status": status})
    with pytest.raises(RestoreEndedError, match=status):
        approve(ports)
    assert "approvedAt" not in record(ports)["approval"]


def test_what_never_waited_cannot_be_approved(ports):
    ports.table.records[RESTORE_ID] = {"status": "initializing", "request": {}}
    with pytest.raises(NotAwaitingApprovalError, match="it is initializing"):
        approve(ports)


def test_it_is_too_late_once_the_wait_is_over(ports):
    known = RestoreNotes(ports.table, RESTORE_ID).read()
    assert answer(RESTORE_ID, known, {"endedAt": "2026-11-21T04:00:00Z"}, ports.table)
    with pytest.raises(NotAwaitingApprovalError, match="in time"):
        approve(ports)
    assert ports.tasks.woken == []


def test_another_plan_than_the_one_that_was_shown_is_not_approved(ports):
    ask(RESTORE_ID, question(usd="9", asked_at=LATER), ports.table)
    with pytest.raises(NotAwaitingApprovalError, match=r"another plan by now, for \$9.00"):
        approve(ports, asked_at=NOW)
    assert approve(ports, asked_at=LATER)["approval"]["usd"] == "9"


def test_what_is_being_cancelled_is_not_approved(ports):
    cancel_restore(RESTORE_ID, by=BOB, now=NOW, ports=ports)
    assert ports.tasks.woken == ["token-1"], "who cancels ends the wait"
    with pytest.raises(NotAwaitingApprovalError, match="is being cancelled"):
        approve(ports)


def test_a_restore_that_nobody_knows(ports):
    with pytest.raises(RestoreNotFoundError):
        approve_restore("restore-other", by=ALICE, now=NOW, ports=ports)


class TestAsk:
    def test_asking_again_forgets_no_approval(self, ports):
        approve(ports)
        assert ask(RESTORE_ID, question(), ports.table).by == ALICE.name
        assert record(ports)["approval"]["by"] == ALICE.name

    def test_a_new_question_takes_the_place_of_the_one_before(self, ports):
        approve(ports)
        asked = ask(RESTORE_ID, question(usd="9", asked_at=LATER), ports.table)
        assert asked.is_open
        assert record(ports)["approval"] == question(usd="9", asked_at=LATER).to_json()

    def test_what_is_lost_with_the_record_is_asked_again(self, ports):
        ports.table.records[RESTORE_ID] = {"status": "restoring", "request": {}}
        assert ask(RESTORE_ID, question(), ports.table).is_open
        assert record(ports)["status"] == "awaiting-approval"
        assert record(ports)["approval"] == question().to_json()


class TestFleets:
    """A fleet waits with its plan as a restore does, and the same route approves it."""

    FLEET_ID = "fleet-0123456789abcdef"

    @pytest.fixture
    def waiting(self, ports):
        ports.table.put_new(self.FLEET_ID, {"status": "fleet-accepted", "cancelRequested": False})
        ask(self.FLEET_ID, question(), ports.table)
        ports.waiters.replace(approval_signal(self.FLEET_ID), "token-2", seconds=900)
        return ports

    def approve(self, ports):
        return approve_restore(self.FLEET_ID, by=ALICE, now=LATER, ports=ports, asked_at=NOW)

    def test_one_approval_wakes_it_and_it_goes_on(self, waiting):
        record = waiting.table.records[self.FLEET_ID]
        assert record["status"] == "fleet-awaiting-approval"
        answered = self.approve(waiting)
        assert (answered["status"], answered["approval"]["by"]) == ("awaiting-approval", ALICE.name)
        assert waiting.tasks.woken == ["token-2"]
        asked = CheckApprovalEvent(restore_id=self.FLEET_ID, now=LATER, question=question())
        assert check_approval(asked, table=waiting.table).approved.by == ALICE.name
        assert record["status"] == "fleet-restoring"

    def test_a_fleet_that_has_ended_takes_none(self, waiting):
        waiting.table.update(self.FLEET_ID, {"status": "fleet-incomplete"})
        with pytest.raises(RestoreEndedError, match="it is incomplete"):
            self.approve(waiting)

    def test_nobody_in_time_ends_it(self, waiting):
        late = NOW + timedelta(hours=2)
        asked = CheckApprovalEvent(restore_id=self.FLEET_ID, now=late, question=question())
        with pytest.raises(ApprovalTimedOutError, match="nobody approved the fleet until"):
            check_approval(asked, table=waiting.table)

    def test_there_is_no_fleet_of_another_name(self, ports):
        with pytest.raises(RestoreNotFoundError):
            self.approve(ports)
