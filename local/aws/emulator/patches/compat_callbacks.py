"""Tasks that wait for a token, in lab time.

Why: the emulator waits for SendTaskSuccess in real time while it holds lab time at the speed of real time,
goes on waiting where the Lambda failed, and after StopExecution. On AWS the wait is over with the task's
TimeoutSeconds, and a Lambda that fails is the task's failure (Step Functions developer guide, "Wait for a
callback with task token").
"""

from __future__ import annotations

import threading
from contextlib import ExitStack
from typing import Any, cast

from local.aws.emulator import seam
from local.aws.emulator.lab_time import STOPPED, Activity, current_stop

ASKS_PEOPLE = "Check Approval"
"""What follows the one wait that only people can end."""
_YEAR_SECONDS = 31_536_000.0


def apply(activity: Activity) -> None:
    """Mend the emulator's Step Functions."""
    states = seam.module("services.stepfunctions")
    seam.known(states, "_invoke_with_callback", "evt.wait(timeout=timeout)", "_task_tokens.pop(token, None)")
    seam.known(states, "_execute_task", 'resource, effective, ctx["Task"]["Token"], state_def)')

    def invoke(resource: str, data: Any, token: str, state: dict[str, Any]) -> Any:
        answer = _Answer(activity)
        info = {"event": answer, "result": None, "error": None, "heartbeat": None}
        states._task_tokens[token] = info
        try:
            states._invoke_resource(resource.replace(".waitForTaskToken", ""), data)
            seconds = float(state.get("TimeoutSeconds", _YEAR_SECONDS))
            in_time = answer.await_for(seconds, of_people=state.get("Next") == ASKS_PEOPLE)
        finally:
            states._task_tokens.pop(token, None)
        if not in_time:
            stop = current_stop.get()
            if stop is not None and stop.is_set():
                raise states._ExecutionError(STOPPED, "the execution was stopped")
            raise states._ExecutionError("States.Timeout", "Task timed out waiting for callback")
        return _outcome(states, info)

    seam.replace(states, "_invoke_with_callback", invoke)


def _outcome(states: Any, info: dict[str, Any]) -> Any:
    error = info["error"]
    if error:
        raise states._ExecutionError(error.get("Error", "TaskFailed"), error.get("Cause", ""))
    result = info["result"]
    try:
        return states.json.loads(result) if isinstance(result, str) else result
    except ValueError:
        return result


class _Answer:
    """Set by SendTaskSuccess or SendTaskFailure; from then on lab time waits for whoever waited."""

    def __init__(self, activity: Activity) -> None:
        self._activity = activity
        self._answered = threading.Event()
        self._stop = current_stop.get()
        self._hold = ExitStack()

    def set(self) -> None:
        """Called by the emulator's SendTask operations."""
        if not self._answered.is_set():
            self._hold.enter_context(self._activity.clock.busy())
            self._answered.set()

    def is_set(self) -> bool:
        """Nothing more is waited for: answered, or the execution was stopped."""
        return self._answered.is_set() or (self._stop is not None and self._stop.is_set())

    def await_for(self, seconds: float, *, of_people: bool = False) -> bool:
        """False where no answer came within so many seconds of lab time, or the execution was stopped."""
        clock, stop = self._activity.clock, cast("threading.Event", self)
        with self._activity.waiting():
            if of_people and clock.people_are_there:
                with clock.busy():
                    clock.observe_until(clock.now() + seconds, stop=stop)
            elif not self.is_set():
                clock.sleep(seconds, stop=stop)
        with self._hold:
            return self._answered.is_set()
