"""An event wakes who waits for it, once, whatever else comes."""

from __future__ import annotations

import json
from pathlib import Path

from rewarm.domain.ready.waits import volume_signal
from rewarm.steps.warm.wake_up import WakeUpPorts, wake_up
from tests.support.worlds.signals import FakeTasks, FakeWaiters

AWS = Path(__file__).parents[4] / "events/aws"
INITIALIZED = json.loads((AWS / "ebs-volume-initialized.json").read_text(encoding="utf-8"))
SIGNAL = volume_signal("vol-00000000000000001")


def waiting(*tokens):
    waiters, tasks = FakeWaiters(), FakeTasks(set(tokens))
    for token in tokens:
        waiters.add(SIGNAL, token, seconds=900)
    return waiters, tasks


def test_everybody_who_waits_is_woken():
    waiters, tasks = waiting("token-1", "token-2")
    assert wake_up(INITIALIZED, WakeUpPorts(waiters=waiters, tasks=tasks)) == 2
    assert tasks.woken == ["token-1", "token-2"]


def test_an_event_that_comes_twice_finds_nobody():
    waiters, tasks = waiting("token-1")
    wake_up(INITIALIZED, WakeUpPorts(waiters=waiters, tasks=tasks))
    assert wake_up(INITIALIZED, WakeUpPorts(waiters=waiters, tasks=tasks)) == 0


def test_who_has_stopped_waiting_is_not_woken():
    waiters, tasks = waiting("token-1")
    tasks.waiting.clear()
    assert wake_up(INITIALIZED, WakeUpPorts(waiters=waiters, tasks=tasks)) == 0


def test_other_events_wake_nobody():
    waiters, tasks = waiting("token-1")
    other = {**INITIALIZED, "detail": {**INITIALIZED["detail"], "event": "modifyVolume"}}
    assert wake_up(other, WakeUpPorts(waiters=waiters, tasks=tasks)) == 0
    assert wake_up({}, WakeUpPorts(waiters=waiters, tasks=tasks)) == 0
    assert waiters.take(SIGNAL) == ["token-1"]
