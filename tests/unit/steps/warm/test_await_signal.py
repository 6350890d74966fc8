"""States Await Signal, Await Signal Of Snapshot and Await Signal Of Approval."""

from __future__ import annotations

from datetime import timedelta

import pytest

from rewarm.contracts.values import ApprovalQuestion
from rewarm.domain.errors import NotAwaitingApprovalError, RestoreCancelledError
from rewarm.domain.ready.waits import cancel_signal
from rewarm.steps.request.approval import ApproveRestorePorts, approve_restore
from rewarm.steps.request.routes import CancelRestorePorts, cancel_restore
from rewarm.steps.warm.await_signal import AwaitSignalEvent, AwaitSignalPorts, await_signal
from tests.support.builders import ALICE, NOW, RESTORE_ID, SNAPSHOT_ID, VOLUME_ID, ZONE, assignment, dispatch
from tests.support.fakes import FakeTable
from tests.support.holds import FakeHolds
from tests.support.worlds.signals import FakeTasks, FakeWaiters

CANCEL = cancel_signal(RESTORE_ID, 0)
QUESTION = ApprovalQuestion(asked_at=NOW, until=NOW + timedelta(hours=1), usd="3.2", reason="It is dear.")


def wait_for(waiters, table=None, **changes):
    values = {"volume": assignment(), "task_token": "token-1", "wait_seconds": 900, **changes}
    event = AwaitSignalEvent(restore_id=RESTORE_ID, now=NOW, **values)
    return await_signal(event, AwaitSignalPorts(waiters=waiters, table=table or FakeTable())).signal


@pytest.mark.parametrize(
    ("changes", "signal"),
    [
        ({"volume_id": VOLUME_ID}, f"volume#{VOLUME_ID}"),
        ({"volume_id": VOLUME_ID, "dispatch": dispatch()}, "command#command-1"),
        ({}, f"fsr#{SNAPSHOT_ID}#{ZONE}"),
    ],
)
def test_waits_for_what_will_be_told(changes, signal):
    waiters = FakeWaiters()
    assert wait_for(waiters, **changes) == signal
    assert waiters.tokens == {signal: {"token-1"}, CANCEL: {"token-1"}}
    assert waiters.seconds[signal] > 900


def test_several_restores_wait_for_one_snapshot():
    waiters = FakeWaiters()
    signal = wait_for(waiters)
    wait_for(waiters, task_token="token-2")
    wait_for(waiters, task_token="token-2")
    assert sorted(waiters.take(signal)) == ["token-1", "token-2"]


def test_a_wait_that_is_over_is_not_kept_for_who_cancels():
    waiters = FakeWaiters()
    wait_for(waiters)
    wait_for(waiters, task_token="token-2")
    assert waiters.take(CANCEL) == ["token-2"]


def test_who_cancels_ends_the_wait_at_once():
    waiters, tasks, table = FakeWaiters(), FakeTasks({"token-1"}), FakeTable()
    table.put_new(RESTORE_ID, {"status": "initializing", "volumeCount": 1})
    wait_for(waiters, table)
    ports = CancelRestorePorts(table=table, holds=FakeHolds(), waiters=waiters, tasks=tasks)
    cancel_restore(RESTORE_ID, by=ALICE, now=NOW, ports=ports)
    assert tasks.woken == ["token-1"]


def test_a_cancel_in_the_same_moment_is_seen():
    """Marked before the token was there to be taken."""
    waiters, table = FakeWaiters(), FakeTable()
    table.put_new(RESTORE_ID, {"cancelRequested": True})
    with pytest.raises(RestoreCancelledError):
        wait_for(waiters, table)


class TestApproval:
    def test_who_approves_ends_the_wait(self):
        waiters, table, tasks = FakeWaiters(), FakeTable(), FakeTasks({"token-1"})
        table.put_new(RESTORE_ID, {"request": {}, "approval": QUESTION.to_json()})
        assert wait_for(waiters, table, volume=None) == f"approval#{RESTORE_ID}"
        ports = ApproveRestorePorts(table=table, holds=FakeHolds(), waiters=waiters, tasks=tasks)
        approve_restore(RESTORE_ID, by=ALICE, now=NOW, ports=ports)
        assert tasks.woken == ["token-1"]

    @pytest.mark.parametrize("answer", [{"approvedAt": "2026-11-21T03:01:00Z", "by": "alice"},
                                        {"endedAt": "2026-11-21T04:00:00Z"}])  # fmt: skip
    def test_an_answer_in_the_same_moment_is_seen(self, answer):
        """It was there before the token."""
        waiters, table = FakeWaiters(), FakeTable()
        table.put_new(RESTORE_ID, {"approval": {**QUESTION.to_json(), **answer}})
        with pytest.raises(NotAwaitingApprovalError):
            wait_for(waiters, table, volume=None)

    def test_who_cancels_ends_the_wait(self):
        waiters, table, tasks = FakeWaiters(), FakeTable(), FakeTasks({"token-1"})
        table.put_new(RESTORE_ID, {"request": {}, "status": "awaiting-approval"})
        wait_for(waiters, table, volume=None)
        ports = CancelRestorePorts(table=table, holds=FakeHolds(), waiters=waiters, tasks=tasks)
        cancel_restore(RESTORE_ID, by=ALICE, now=NOW, ports=ports)
        assert tasks.woken == ["token-1"]
        with pytest.raises(RestoreCancelledError):
            wait_for(waiters, table, volume=None)
