"""Virtual time: what is to happen is done in order, and time jumps from one thing to the next.

Nothing runs at once. A handler is plain code that may sleep in the middle (botocore backs off), so it gets a
thread of its own; but only one thread ever runs, and each says when the next may.
"""

from __future__ import annotations

import heapq
import random
import threading
from collections.abc import Callable, Generator
from contextlib import suppress
from typing import Any

from local.aws.clock import ManualClock

Work = Callable[[], None]
Steps = Generator["Future", Any, Any]
_STACK_BYTES = 1_048_576
"""Of a handler's thread: a thousand may sleep at once."""


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
        self._idle: list[_Thread] = []
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
        self.at(self.now, lambda: process.advance(None))
        return process

    def fiber(self, work: Callable[[], Any], scope: Any, seconds: float, late: Any = None) -> Fiber:
        """Begin plain code that may sleep; after `seconds` it is ended, and its result is `late`."""
        fiber = Fiber(self, work, scope, self.now + seconds, late)
        self._fibers.add(fiber)
        self.at(self.now, fiber.resume)
        return fiber

    def close(self) -> None:
        """End every process and every thread."""
        self._agenda.clear()
        for fiber in list(self._fibers):
            fiber.kill()
        for thread in self._idle:
            thread.end()
        self._idle.clear()

    def thread(self) -> _Thread:
        """A thread that has nothing to do."""
        return self._idle.pop() if self._idle else _Thread()

    def over(self, fiber: Fiber, thread: _Thread) -> None:
        """The fiber has ended; its thread can have another."""
        self._fibers.discard(fiber)
        self._idle.append(thread)


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
        self._thread: _Thread | None = None
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
        if self._thread is not None:
            self._switch()

    def _park(self) -> None:
        assert self._thread is not None
        self._thread.park()
        if self._killed:
            raise FiberEnded

    def _switch(self) -> None:
        before, self._scheduler.current = self._scheduler.current, self
        try:
            if self._thread is None:
                self._thread = self._scheduler.thread()
                self._thread.begin(self._run)
            else:
                self._thread.resume()
        finally:
            self._scheduler.current = before
        if self._thread.idle:
            self._scheduler.over(self, self._thread)
            if not self._killed:
                self.result.settle(self._outcome)

    def _run(self) -> None:
        # What comes too late leaves the outcome as it was.
        with suppress(FiberEnded):
            self._outcome = self._work()


class _Thread:
    """A thread that runs only while its owner waits for it."""

    def __init__(self) -> None:
        self.idle = True
        self._go, self._back = threading.Lock(), threading.Lock()
        self._go.acquire()
        self._back.acquire()
        self._work: Work | None = None
        self._failure: BaseException | None = None
        before = threading.stack_size(_STACK_BYTES)
        try:
            self._thread = threading.Thread(target=self._loop, name="fast-lab", daemon=True)
            self._thread.start()
        finally:
            threading.stack_size(before)

    def begin(self, work: Work) -> None:
        """Run `work` until it parks or ends."""
        self._work, self.idle = work, False
        self.resume()

    def resume(self) -> None:
        """Let it go on; what it raises is raised here."""
        self._go.release()
        self._back.acquire()
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    def park(self) -> None:
        """Called in the thread: let the owner go on."""
        self._back.release()
        self._go.acquire()

    def end(self) -> None:
        """Let the thread end."""
        self._work = None
        self._go.release()
        self._thread.join()

    def _loop(self) -> None:
        while True:
            self._go.acquire()
            if self._work is None:
                return
            try:
                self._work()
            except BaseException as failure:
                self._failure = failure
            self.idle = True
            self._back.release()
