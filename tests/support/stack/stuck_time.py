"""A test on the embedded AWS fails where lab time stands at real speed while nothing works."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from types import FrameType

    from local.aws.clock import LabClock

LIMIT_SECONDS = 30.0
_LOOKS = 10
"""How often it looks within the limit; every look has to find the same."""


@contextmanager
def watched(clock: LabClock, limit_seconds: float = LIMIT_SECONDS) -> Iterator[None]:
    """Fail the test of the main thread where time has been stuck for so many seconds."""
    end, stuck = threading.Event(), list[str]()

    def fail(_number: int, _frame: FrameType | None) -> None:
        if not end.is_set():
            end.set()
            pytest.fail(
                f"lab time has stood at real speed for {limit_seconds:g} s while nothing works; "
                f"it is held by: {', '.join(stuck)}"
            )

    def look() -> None:
        since = time.monotonic()
        while not end.wait(limit_seconds / _LOOKS):
            stuck[:] = clock.forgotten()
            if not stuck:
                since = time.monotonic()
            elif time.monotonic() - since >= limit_seconds:
                signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGUSR1)
                return

    before = signal.signal(signal.SIGUSR1, fail)
    watcher = threading.Thread(target=look, name="stuck-time", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        end.set()
        watcher.join()
        signal.signal(signal.SIGUSR1, before)
