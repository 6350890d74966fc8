"""Virtual time: what is to happen is done in order, and time jumps from one thing to the next.

Nothing runs at once. A handler is plain code that may sleep in the middle (botocore backs off). So it runs in
a greenlet, which stops there and lets others run.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable, Generator
from contextlib import suppress
from typing import Any

from greenlet import getcurrent, greenlet

from local.aws.clock import ManualClock

Work = Callable[[], None]
Steps = Generator["Future", Any, Any]


class FiberEnded(BaseException):
    """Unwinds code that may not go on: its lab was closed, or its Lambda function had no time left."""


class Future:
    """Something that will be known; `value` is what came of it."""

    def __init__(self) -> None:
        self.done = False
        self.value: Any = None
        self._heard: list[Callable[[Any], None]] = []

    def settle(self, value: Any = None) -> None:
        """The first value counts; who listens hears it at once."""
        if self.done:
            return
        self.done, self.value = True, value
        for listener in self._heard:
            listener(value)

    def listen(self, listener: Callable[[Any], None]) -> None:
        """Tell `listener` the value, now or later."""
        if self.done:
            listener(self.value)
        else:
            self._heard.append(listener)


class Scheduler:
    """What happens next, and when. Things due at the same instant come in an order that the seed decides."""

    def __init__(self, clock: ManualClock, chance: random.Random) -> None:
        self.clock = clock
        self._chance = chance
        self._agenda: list[tuple[float, float, int, Work]] = []
        self._count = 0
        self._fibers: set[Fiber] = set()
        self._processes: set[Process] = set()
        self.current: Fiber | None = None

    @property
    def now(self) -> float:
        """Virtual time, in seconds since the epoch."""
        return self.clock.now()

    def at(self, due: float, work: Work) -> None:
        """Do `work` at an instant, or as soon as possible if that is past."""
        self._count += 1
        heapq.heappush(self._agenda, (max(due, self.now), self._chance.random(), self._count, work))

    def after(self, seconds: float, work: Work) -> None:
        """Do `work` in some time."""
        self.at(self.now + seconds, work)

    def sleep(self, seconds: float) -> Future:
        """A future that is settled after some time."""
        slept = Future()
        self.after(seconds, slept.settle)
        return slept

    def next_due(self) -> float | None:
        """When the next thing happens; None where nothing is left to do."""
        return self._agenda[0][0] if self._agenda else None

    def step(self) -> bool:
        """Do the next thing; False where there is none."""
        if not self._agenda:
            return False
        due, _, _, work = heapq.heappop(self._agenda)
        self.clock.advance(max(0.0, due - self.now))
        work()
        return True

    def start(self, steps: Steps) -> Process:
        """Begin a process now."""
        process = Process(self, steps)
        self._processes.add(process)
        process.result.listen(lambda _: self._processes.discard(process))
        self.at(self.now, lambda: process.advance(None))
        return process

    def fiber(self, work: Callable[[], Any], scope: Any, seconds: float, late: Any = None) -> Fiber:
        """Begin plain code that may sleep; after `seconds` it is ended, and its result is `late`."""
        fiber = Fiber(self, work, scope, self.now + seconds, late)
        self._fibers.add(fiber)
        self.at(self.now, fiber.resume)
        return fiber

    def close(self) -> None:
        """End every process and every fiber."""
        for process in list(self._processes):
            process.stop()
        self._agenda.clear()
        for fiber in list(self._fibers):
            fiber.kill()

    def over(self, fiber: Fiber) -> None:
        """The fiber has ended."""
        self._fibers.discard(fiber)


class Process:
    """Steps that wait for futures; `result` settles with what they return."""

    def __init__(self, scheduler: Scheduler, steps: Steps) -> None:
        self.result = Future()
        self._scheduler = scheduler
        self._steps = steps

    def advance(self, value: Any) -> None:
        """Go on with what was waited for."""
        if self.result.done:
            return
        try:
            awaited = self._steps.send(value)
        except StopIteration as end:
            self.result.settle(end.value)
            return
        awaited.listen(lambda found: self._scheduler.at(self._scheduler.now, lambda: self.advance(found)))

    def stop(self, value: Any = None) -> None:
        """End it where it is."""
        if not self.result.done:
            self._steps.close()
            self.result.settle(value)


class Fiber:
    """Plain code that may sleep in virtual time."""

    def __init__(
        self, scheduler: Scheduler, work: Callable[[], Any], scope: Any, deadline: float, late: Any
    ) -> None:
        self.result = Future()
        self.scope = scope
        self.deadline = deadline
        self._outcome = late
        self._scheduler = scheduler
        self._work = work
        self._greenlet = greenlet(self._run)
        self._owner = getcurrent()
        self._killed = False

    def resume(self) -> None:
        """Let it run until it sleeps or ends. Only the scheduler calls this."""
        if self._killed:
            return
        self._switch()

    def sleep(self, seconds: float) -> None:
        """Called by the code itself. Past the deadline it does not wake up again."""
        left = self.deadline - self._scheduler.now
        self._scheduler.after(max(0.0, min(seconds, left)), self.resume)
        self._park()
        if seconds >= left:
            raise FiberEnded

    def kill(self) -> None:
        """End it where it sleeps."""
        if self._killed or self.result.done:
            return
        self._killed = True
        if self._greenlet:
            self._switch()

    def _park(self) -> None:
        self._owner.switch()
        if self._killed:
            raise FiberEnded

    def _switch(self) -> None:
        """What it raises is raised here."""
        before, self._scheduler.current = self._scheduler.current, self
        self._owner = self._greenlet.parent = getcurrent()
        try:
            self._greenlet.switch()
        finally:
            self._scheduler.current = before
        if self._greenlet.dead:
            self._scheduler.over(self)
            if not self._killed:
                self.result.settle(self._outcome)

    def _run(self) -> None:
        # What comes too late leaves the outcome as it was.
        with suppress(FiberEnded):
            self._outcome = self._work()
