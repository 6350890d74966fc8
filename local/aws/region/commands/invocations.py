"""One command on one instance: delivery, its steps one after another, time limits, cancel and output.

A running invocation holds lab time at the speed of real time, for its reads are real.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Protocol

from local.aws.machines.dataplane import CommandHandle, DataPlaneError
from local.aws.region.commands.scripts import POWERSHELL, Step
from local.aws.region.core import Core
from local.aws.region.resources import Instance

FINAL = ("Success", "Cancelled", "TimedOut", "Failed")
KILLED = 137
"""What the SSM agent on Linux takes for the end of its time limit (amazon-ssm-agent, pluginutil_unix.go)."""
MOST_RUNS = 15
"""So often a document that was in progress at a reboot is run again (amazon-ssm-agent, CommandRetryLimit)."""
AWAY_LOOK_SECONDS = 15.0
"""How often it is asked whether an instance listens again."""


class OutputSink(Protocol):
    """Where the whole output of commands goes when a command names a bucket or a log group."""

    def put_object(self, bucket: str, key: str, body: bytes) -> None:
        """Store one object."""

    def put_log_events(self, group: str, stream: str, lines: list[str]) -> None:
        """Append lines to a log stream."""


@dataclass(slots=True)
class StepRun:
    """What became of one step (botocore shape CommandPlugin)."""

    step: Step
    status: str = "Pending"
    detail: str = "Pending"
    code: int = -1
    start: float | None = None
    end: float | None = None
    stdout: str = ""
    stderr: str = ""
    logged_chars: int = 0


@dataclass(slots=True)
class Invocation:
    """One command on one instance (botocore shape CommandInvocation)."""

    command_id: str
    document: str
    instance: Instance
    requested: float
    runs: list[StepRun]
    status: str = "Pending"
    detail: str = "Pending"
    handle: CommandHandle | None = None
    current: int = 0
    cancel_asked: bool = False
    reruns: int = 0
    """How often the SSM agent has run the document again after a restart of its instance."""
    busy: ExitStack = field(default_factory=ExitStack)
    number: int = -1
    """Among all of the Region."""

    @property
    def over(self) -> bool:
        """Whether nothing more will happen."""
        return self.status in FINAL

    @property
    def is_given_up(self) -> bool:
        """It was cancelled, and nothing of it runs; the instance will say so when it is back."""
        return self.status == "Cancelling" and self.handle is None


class Runner:
    """Runs invocations on the data plane; everything that takes time happens outside the lock.

    A handle that can be listened to (`listen`) is looked at when it has something to tell, or its time is
    over; any other one again and again.
    """

    def __init__(
        self, core: Core, changed: Callable[[Invocation], None], log: Callable[[Invocation, StepRun], None]
    ) -> None:
        self._core = core
        self._changed = changed
        self._log = log
        self._order = itertools.count()
        self._polled: dict[int, Invocation] = {}
        """By their numbers, which say in which order they are looked at."""
        self._news: dict[int, Invocation] = {}
        self._ends: list[tuple[float, int, Invocation, CommandHandle]] = []
        """When the time limits of running steps are over."""

    def accept(self, one: Invocation, delivery_timeout_seconds: float, *, lost: bool) -> None:
        """Deliver soon, or time out when the instance does not listen."""
        one.number = next(self._order)
        self._core.at(one.requested + delivery_timeout_seconds, lambda due: self._undelivered(one, due))
        longest = sum(run.step.timeout_seconds for run in one.runs)
        expires = one.requested + delivery_timeout_seconds + longest
        self._core.at(expires, lambda due: self._unanswered(one, due))
        if not lost:
            self._hold(one)
            delay = self._core.settings.command.delivery_seconds
            self._core.at(one.requested + delay, lambda due: self._deliver(one, due))

    def cancel(self, one: Invocation) -> None:
        """Ask the instance to end the command; a command that was not delivered is cancelled at once."""
        if one.over or one.cancel_asked:
            return
        one.cancel_asked = True
        if one.status == "Pending":
            self._finish(one, "Cancelled", "Cancelled", self._core.now())
            return
        one.status = one.detail = "Cancelling"
        self._changed(one)
        handle = one.handle
        if handle is not None:
            self._core.later(handle.cancel)

    def poll(self) -> None:
        """Look after running steps; called outside the lock."""
        now = self._core.now()
        while self._ends and self._ends[0][0] < now:
            _, number, one, handle = heapq.heappop(self._ends)
            if one.handle is handle:
                self._news[number] = one
        looked_at, self._news = {**self._polled, **self._news}, {}
        for number in sorted(looked_at):
            self._poll(looked_at[number])

    def _poll(self, one: Invocation) -> None:
        handle = one.handle
        if handle is None:
            self._polled.pop(one.number, None)
            return
        run = one.runs[one.current]
        code = handle.poll()
        run.stdout, run.stderr = handle.output()
        self._log(one, run)
        with self._core.transaction():
            if one.handle is handle:
                self._judge(one, run, handle, code)
        if run.end is not None:
            self._log(one, run)

    def _hold(self, one: Invocation) -> None:
        """Lab time runs at the speed of real time from now on, if the clock can run faster at all."""
        one.busy.enter_context(
            self._core.busy(f"a command on {one.instance.instance_id}", lambda: not one.over)
        )

    def _deliver(self, one: Invocation, due: float) -> None:
        if one.status != "Pending":
            return
        if not one.instance.listens(due):
            one.busy.close()  # lab time may run on to the delivery timeout
            one.detail = "Delayed"
            self._core.at(due + 5, lambda later: self._deliver(one, later))
            return
        one.busy.close()
        self._hold(one)
        one.status, one.detail = "InProgress", "InProgress"
        self._changed(one)
        self._next(one, self._core.now())

    def _undelivered(self, one: Invocation, due: float) -> None:
        if one.status == "Pending":
            self._finish(one, "TimedOut", "DeliveryTimedOut", due)

    def _unanswered(self, one: Invocation, due: float) -> None:
        """Delivery and execution had their time, and the instance is not there to say what came of it."""
        if one.status in ("InProgress", "Cancelling") and one.handle is None:
            self._finish(one, "TimedOut", "ExecutionTimedOut", due)

    def _away(self, one: Invocation, run: StepRun) -> None:
        """The instance went away with the command: no end is reported; the SSM agent keeps the document."""
        one.handle = None
        one.busy.close()
        self._core.at(
            max(self._core.now(), one.instance.online_at), lambda due: self._run_again(one, run, due)
        )

    def _run_again(self, one: Invocation, run: StepRun, due: float) -> None:
        """The SSM agent finds the document in progress when it starts, and runs it (processor.go)."""
        if one.over or one.instance.state == "terminated":
            return
        if not one.instance.listens(due):
            self._core.at(due + AWAY_LOOK_SECONDS, lambda later: self._run_again(one, run, later))
            return
        if one.cancel_asked:
            self._step_over(one, run, "Cancelled", "Cancelled", -1)
            return
        if one.reruns < MOST_RUNS:
            one.reruns += 1
            self._hold(one)
            run.start = due
            self._core.later(lambda: self._launch(one, run))

    def _next(self, one: Invocation, now: float) -> None:
        """Start the step that comes next, or end; steps that do not apply are skipped as a success."""
        while one.current < len(one.runs) and one.runs[one.current].step.skipped:
            run = one.runs[one.current]
            run.status = run.detail = "Success"
            run.code, run.start, run.end = 0, now, now
            run.stdout = f"Step execution skipped due to unsupported platform. Step name: {run.step.name}"
            one.current += 1
        if one.current >= len(one.runs):
            self._end(one, now)
            return
        run = one.runs[one.current]
        run.start, run.status, run.detail = now, "InProgress", "InProgress"
        self._core.later(lambda: self._launch(one, run))

    def _launch(self, one: Invocation, run: StepRun) -> None:
        if run.step.action == POWERSHELL:
            with self._core.transaction():
                run.stderr = "failed to run commands: there is no PowerShell on this instance"
                self._step_over(one, run, "Failed", "Failed", 1)
            return
        settings = self._core.settings
        environment = {
            "AWS_SSM_INSTANCE_ID": one.instance.instance_id,
            "AWS_SSM_REGION_NAME": settings.region,
            "SSM_COMMAND_ID": one.command_id,
            **settings.command.environment,
        }
        try:
            handle = self._core.dataplane.run_command(
                one.instance.instance_id, run.step.script, environment=environment
            )
        except DataPlaneError as error:
            with self._core.transaction():
                run.stderr = f"failed to run commands: {error}"
                self._step_over(one, run, "Failed", "Failed", 1)
            return
        with self._core.transaction():
            if one.cancel_asked or one.over:
                self._core.later(handle.cancel)
            one.handle = handle
            self._watch(one, run, handle)

    def _watch(self, one: Invocation, run: StepRun, handle: CommandHandle) -> None:
        listen = getattr(handle, "listen", None)
        if listen is None:
            self._polled[one.number] = one
            return
        listen(lambda: self._news.__setitem__(one.number, one))
        due = (run.start or self._core.now()) + run.step.timeout_seconds
        heapq.heappush(self._ends, (due, one.number, one, handle))

    def _judge(self, one: Invocation, run: StepRun, handle: CommandHandle, code: int | None) -> None:
        if code is None:
            if run.start is not None and self._core.now() > run.start + run.step.timeout_seconds:
                self._core.later(handle.cancel)
                self._step_over(one, run, "TimedOut", "ExecutionTimedOut", -1)
            return
        if code != 0 and _went_away(one.instance, run):
            self._away(one, run)
        elif one.cancel_asked:
            self._step_over(one, run, "Cancelled", "Cancelled", code)
        elif code == KILLED:
            self._step_over(one, run, "TimedOut", "ExecutionTimedOut", code)
        elif code == 0:
            self._step_over(one, run, "Success", "Success", 0)
        else:
            self._step_over(one, run, "Failed", "Failed", code)

    def _step_over(self, one: Invocation, run: StepRun, status: str, detail: str, code: int) -> None:
        now = self._core.now()
        run.status, run.detail, run.code, run.end = status, detail, code, now
        one.handle = None
        if one.cancel_asked or status in ("TimedOut", "Cancelled"):
            self._end(one, now)
            return
        one.current += 1
        if status == "Failed" and run.step.on_failure in ("exit", "successAndExit"):
            self._skip_to_finally(one)
        self._next(one, now)

    def _skip_to_finally(self, one: Invocation) -> None:
        while one.current < len(one.runs) and not one.runs[one.current].step.finally_step:
            one.current += 1

    def _end(self, one: Invocation, now: float) -> None:
        bad = [run for run in one.runs if run.status in ("Failed", "TimedOut", "Cancelled")]
        counted = [run for run in bad if run.step.on_failure != "successAndExit"]
        worst = counted[0] if counted else None
        self._finish(one, worst.status if worst else "Success", worst.detail if worst else "Success", now)

    def _finish(self, one: Invocation, status: str, detail: str, _now: float) -> None:
        one.status, one.detail = status, detail
        one.busy.close()
        self._changed(one)


def _went_away(instance: Instance, run: StepRun) -> bool:
    """The instance was stopped, rebooted or terminated since the step began."""
    return instance.state != "running" or (run.start is not None and instance.online_at > run.start)
