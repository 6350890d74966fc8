"""Tasks that wait for a token, in lab time.

Why: the emulator waits for SendTaskSuccess in real time while it holds lab time at the speed of real time,
goes on waiting where the Lambda failed, and after StopExecution. On AWS the wait is over with the task's
TimeoutSeconds, and a Lambda that fails is the task's failure (Step Functions developer guide, "Wait for a
callback with task token"). A token whose task is over is refused with TaskTimedOut (botocore's model of
SendTaskSuccess and SendTaskFailure).
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any, cast

from local.aws.emulator import seam
from local.aws.emulator.lab_time import STOPPED, Activity, current_stop

ASKS_PEOPLE = "Check Approval"
"""What follows the one wait that only people can end."""
_YEAR_SECONDS = 31_536_000.0
_CLOSED = "The task token has either expired or the task associated with the token has already been closed."
"""What botocore's model says of TaskTimedOut."""


def apply(activity: Activity) -> None:
    """Mend the emulator's Step Functions."""
    states = seam.module("services.stepfunctions")
    seam.known(states, "_invoke_with_callback", "evt.wait(timeout=timeout)", "_task_tokens.pop(token, None)")
    for name in ("_send_task_success", "_send_task_failure"):
        seam.known(states, name, "info = _task_tokens.get(token)", 'info["event"].set()')
    seam.known(states, "_execute_task", 'resource, effective, ctx["Task"]["Token"], state_def)')

    def invoke(resource: str, data: Any, token: str, state: dict[str, Any]) -> Any:
        answer = _Answer(activity)
        info = {"event": answer, "result": None, "error": None, "heartbeat": None}
        states._task_tokens[token] = info
        try:
            states._invoke_resource(resource.replace(".waitForTaskToken", ""), data)
            seconds = float(state.get("TimeoutSeconds", _YEAR_SECONDS))
            answer.await_for(seconds, of_people=state.get("Next") == ASKS_PEOPLE)
        finally:
            in_time = answer.close()  # the token stays: whoever sends it later learns that it is closed
        if not in_time:
            stop = current_stop.get()
            if stop is not None and stop.is_set():
                raise states._ExecutionError(STOPPED, "the execution was stopped")
            raise states._ExecutionError("States.Timeout", "Task timed out waiting for callback")
        return _outcome(states, info)

    seam.replace(states, "_invoke_with_callback", invoke)
    for name in ("_send_task_success", "_send_task_failure"):
        seam.replace(states, name, _only_while_open(states, getattr(states, name)))


def _only_while_open(states: Any, send: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The emulator's operation, refused where the token's task is over."""

    def send_if_open(data: Any) -> Any:
        info = states._task_tokens.get(data.get("taskToken"))
        answer = info and info["event"]
        if not isinstance(answer, _Answer):
            return send(data)
        with answer.one_step:
            if answer.is_open():
                return send(data)
        return states.error_response_json("TaskTimedOut", _CLOSED, 400)

    return send_if_open


def _outcome(states: Any, info: dict[str, Any]) -> Any:
    error = info["error"]
    if error:
        raise states._ExecutionError(error.get("Error", "TaskFailed"), error.get("Cause", ""))
    result = info["result"]
    try:
        return states.json.loads(result) if isinstance(result, str) else result
    except ValueError:
        return result


def _hands_over() -> bool:
    """An answer does no work: whoever waited takes over at once."""
    return False


class _Answer:
    """Set by SendTaskSuccess or SendTaskFailure; from then on lab time waits for whoever waited."""

    def __init__(self, activity: Activity) -> None:
        self._activity = activity
        self._answered = threading.Event()
        self._stop = current_stop.get()
        self._hold = ExitStack()
        self._closed = False
        self.one_step = threading.RLock()
        """Held by whoever answers or closes: an answer after the end of the wait must find it closed."""

    def is_open(self) -> bool:
        """It may still be answered."""
        return not self._closed and not self._answered.is_set()

    def set(self) -> None:
        """Called by the emulator's SendTask operations."""
        with self.one_step:
            if self.is_open():
                self._hold.enter_context(self._activity.clock.busy("a task's answer", works=_hands_over))
                self._answered.set()

    def close(self) -> bool:
        """The wait is over: True where it was answered. Nobody answers from now on."""
        with self.one_step:
            self._closed = True
        self._hold.close()
        return self._answered.is_set()

    def is_set(self) -> bool:
        """Nothing more is waited for: answered, or the execution was stopped."""
        return self._answered.is_set() or (self._stop is not None and self._stop.is_set())

    def await_for(self, seconds: float, *, of_people: bool = False) -> None:
        """Until an answer comes, so many seconds of lab time are over or the execution is stopped."""
        clock, stop = self._activity.clock, cast("threading.Event", self)
        with self._activity.waiting():
            if of_people and clock.people_are_there:
                with clock.busy("what people are asked"):
                    clock.observe_until(clock.now() + seconds, stop=stop)
            elif not self.is_set():
                clock.sleep(seconds, stop=stop)
