"""States Await Signal and Await Signal Of Snapshot."""

from __future__ import annotations

import pytest

from rewarm.contracts import AwaitSignalEvent
from rewarm.steps.await_signal import await_signal
from tests.support.builders import NOW, RESTORE_ID, SNAPSHOT_ID, VOLUME_ID, ZONE, assignment, dispatch
from tests.support.signals import FakeWaiters


def wait_for(waiters, **changes):
    values = {"task_token": "token-1", "wait_seconds": 900, **changes}
    event = AwaitSignalEvent(restore_id=RESTORE_ID, now=NOW, volume=assignment(), **values)
    return await_signal(event, waiters=waiters).signal


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
    assert waiters.tokens == {signal: {"token-1"}}
    assert waiters.seconds[signal] > 900


def test_several_restores_wait_for_one_snapshot():
    waiters = FakeWaiters()
    signal = wait_for(waiters)
    wait_for(waiters, task_token="token-2")
    wait_for(waiters, task_token="token-2")
    assert sorted(waiters.take(signal)) == ["token-1", "token-2"]
