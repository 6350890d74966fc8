"""Who is at work in the emulator, so that lab time knows when it may run ahead.

A thread that runs states holds the clock at real speed. It lets go while it waits for a Wait state, a retry,
a child execution or its own branches, and takes hold again before it goes on.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime

from local.aws.clock import LabClock

STOPPED = "Rewarm.ExecutionStopped"
"""Error that unwinds a stopped execution; no Retry or Catch may match it."""

current_stop: ContextVar[threading.Event | None] = ContextVar("current_stop", default=None)
"""Set once the execution that this thread works for has been stopped."""


def iso(instant: float) -> str:
    """An instant in the form of AWS's stamps."""
    return datetime.fromtimestamp(instant, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"


class Activity:
    """Holds the clock busy for the threads that work."""

    def __init__(self, clock: LabClock) -> None:
        self.clock = clock
        self._local = threading.local()

    @contextmanager
    def working(self) -> Iterator[None]:
        """This thread works: lab time runs at the speed of real time."""
        outer = self._hold
        if outer is not None:
            yield
            return
        self._take()
        try:
            yield
        finally:
            self._let_go()

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """This thread, which works, only waits for now."""
        held = self._hold is not None
        self._let_go()
        try:
            yield
        finally:
            if held:
                self._take()

    def sleep(self, seconds: float) -> bool:
        """Wait for `seconds` of lab time; False when the execution was stopped meanwhile."""
        stop = current_stop.get()
        with self.waiting():
            if seconds > 0:
                self.clock.sleep(seconds, stop=stop)
        return not (stop is not None and stop.is_set())

    @property
    def _hold(self) -> ExitStack | None:
        return getattr(self._local, "hold", None)

    def _take(self) -> None:
        hold = ExitStack()
        hold.enter_context(self.clock.busy(threading.current_thread().name))
        self._local.hold = hold

    def _let_go(self) -> None:
        hold, self._local.hold = self._hold, None
        if hold is not None:
            hold.close()
