"""Lab time: it runs ahead while everything waits, and never past the instant that somebody waits for."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest

from local.aws.clock import LabClock
from tests.support.stack.stuck_time import watched

HOUR = 3_600
LATE_SECONDS = 5.0
"""Far above what a busy machine takes to wake a thread, far below what that would be in lab time."""


def test_a_wait_ends_at_its_instant_however_late_the_thread_wakes():
    clock = LabClock(idle_speed=1e9)
    began = clock.now()
    for number in range(1, 6):
        clock.sleep(HOUR)
        assert 0 <= clock.now() - began - number * HOUR < LATE_SECONDS


def test_time_runs_ahead_only_when_nothing_works_any_more():
    clock = LabClock(idle_speed=1e6)
    began = clock.now()

    def woken():
        clock.sleep(HOUR)
        return clock.now() - began - HOUR

    with ThreadPoolExecutor(1) as pool:
        with clock.busy():
            wait = pool.submit(woken)
            time.sleep(0.2)
            assert clock.now() - began < LATE_SECONDS
        assert 0 <= wait.result() < LATE_SECONDS


def test_time_never_goes_back_and_has_its_own_speed_while_something_works():
    clock = LabClock(idle_speed=1e6)
    seen = [clock.now()]
    for _ in range(20):
        clock.sleep(10)
        seen.append(clock.now())
        with clock.busy():
            before = clock.now()
            time.sleep(0.01)
            assert clock.now() - before < LATE_SECONDS
            seen.append(clock.now())
    assert seen == sorted(seen)


def somebody_waits(clock: LabClock, stop: threading.Event) -> threading.Thread:
    waiting = threading.Thread(target=clock.sleep, args=(HOUR,), kwargs={"stop": stop})
    waiting.start()
    while not clock._wakings:
        time.sleep(0.001)
    return waiting


def test_a_test_fails_with_the_holders_name_where_time_is_held_and_nothing_works():
    clock, stop = LabClock(), threading.Event()
    with clock.busy("the forgetful one", works=lambda: False):
        waiting = somebody_waits(clock, stop)
        with pytest.raises(pytest.fail.Exception, match="the forgetful one"), watched(clock, 0.2):
            waiting.join()
        stop.set()
        waiting.join()


def test_time_is_not_forgotten_while_one_holder_works():
    clock, stop = LabClock(), threading.Event()
    with clock.busy("the forgetful one", works=lambda: False), clock.busy():
        waiting = somebody_waits(clock, stop)
        assert clock.forgotten() == []
        stop.set()
        waiting.join()


def test_a_hold_of_a_thread_that_ended_is_forgotten():
    clock, stop = LabClock(), threading.Event()
    holds = ExitStack()
    holder = threading.Thread(target=lambda: holds.enter_context(clock.busy("who has ended")))
    holder.start()
    holder.join()
    waiting = somebody_waits(clock, stop)
    assert clock.forgotten() == ["who has ended"]
    stop.set()
    waiting.join()


def test_a_hold_without_a_name_has_the_place_that_took_it():
    clock, stop = LabClock(), threading.Event()
    holds = ExitStack()
    holds.enter_context(clock.busy(works=lambda: False))
    waiting = somebody_waits(clock, stop)
    assert [name.rpartition(":")[0] for name in clock.forgotten()] == [__file__]
    stop.set()
    waiting.join()
