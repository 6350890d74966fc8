"""Lab time: it runs ahead while everything waits, and never past the instant that somebody waits for."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

from local.aws.clock import LabClock

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
