"""Time in the embedded AWS.

Lab time starts at the present and runs at the speed of real time while anything works. While everything only
waits (every execution sits in a Wait state, and no Lambda, instance or agent is busy) it runs ahead, because
nothing but AWS's own timers could notice. An agent's reads are therefore never accelerated.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Protocol


class Clock(Protocol):
    """The instant as AWS would stamp it."""

    def now(self) -> float:
        """Seconds since the epoch, in lab time."""


class ManualClock:
    """A clock that moves only when asked, for unit tests of the simulator."""

    def __init__(self, start: float = 1_800_000_000.0) -> None:
        self._now = start

    def now(self) -> float:
        return self._now

    def advance(self, seconds: float) -> None:
        """Move forward by `seconds`; going back is refused."""
        if seconds < 0:
            raise ValueError(f"a clock cannot go back by {-seconds} s")
        self._now += seconds


@dataclass(eq=False, frozen=True)
class _Hold:
    holder: str
    works: Callable[[], bool]


class LabClock:
    """Real time that runs ahead at `idle_speed` while `waiting` callers exist and no `busy` one does."""

    def __init__(self, idle_speed: float = 1_800.0) -> None:
        if idle_speed < 1:
            raise ValueError(f"idle_speed must be at least 1, not {idle_speed}")
        self._idle_speed = idle_speed
        self._changed = threading.Condition()
        self._anchor_real = time.monotonic()
        self._anchor_lab = time.time()
        self._speed = 1.0
        self._busy: list[_Hold] = []
        self.people_are_there = False
        """Somebody may answer what waits for people, such as an approval; such a wait is then not skipped."""
        self._wakings: list[float] = []
        """When each waiting caller is to wake; lab time that runs ahead stops at the first of them."""

    def now(self) -> float:
        """Seconds since the epoch, in lab time; never goes back."""
        with self._changed:
            return self._now()

    def busy(self, holder: str = "", works: Callable[[], bool] | None = None) -> AbstractContextManager[None]:
        """Hold lab time at the speed of real time: something measurable is going on.

        `holder` is who holds it, otherwise the caller's place. `works` says whether the holder still works;
        otherwise that is so while the thread lives that took the hold.
        """
        if not holder:
            caller = sys._getframe(1)
            holder = f"{caller.f_code.co_filename}:{caller.f_lineno}"
        return self._held(_Hold(holder, works or threading.current_thread().is_alive))

    def forgotten(self) -> list[str]:
        """Who holds lab time while somebody waits for it and no holder works; empty where one does."""
        with self._changed:
            holds = list(self._busy) if self._wakings else []
        return [] if any(one.works() for one in holds) else sorted(one.holder for one in holds)

    @contextmanager
    def _held(self, hold: _Hold) -> Iterator[None]:
        with self._change():
            self._busy.append(hold)
        try:
            yield
        finally:
            with self._change():
                self._busy.remove(hold)

    def sleep(self, seconds: float, *, stop: threading.Event | None = None) -> None:
        """Wait for `seconds` of lab time; only these waits let lab time run ahead. `stop` ends it."""
        with self._change():
            deadline = self._anchor_lab + seconds
            self._wakings.append(deadline)
        try:
            self._wait_until(deadline, stop)
        finally:
            with self._change():
                self._wakings.remove(deadline)

    def observe_until(self, instant: float, *, stop: threading.Event | None = None) -> bool:
        """Wait until lab time reaches `instant` without letting it run ahead; False if `stop` came first."""
        return self._wait_until(instant, stop)

    def _now(self) -> float:
        now = self._anchor_lab + (time.monotonic() - self._anchor_real) * self._speed
        if self._speed == 1:
            return now
        # A millisecond in which a thread is late to wake would be seconds of lab time.
        return min(now, max(self._anchor_lab, min(self._wakings)))

    @contextmanager
    def _change(self) -> Iterator[None]:
        """Take lab time as it is now, and go on from there at the speed that follows from the change."""
        with self._changed:
            self._anchor_lab, self._anchor_real = self._now(), time.monotonic()
            yield
            self._speed = self._idle_speed if self._wakings and not self._busy else 1.0
            self._changed.notify_all()

    def _wait_until(self, deadline: float, stop: threading.Event | None) -> bool:
        with self._changed:
            while (remaining := deadline - self._now()) > 0:
                if stop is not None and stop.is_set():
                    return False
                real = remaining / self._speed
                self._changed.wait(min(real, 0.1) if stop is not None else real)
        return True
