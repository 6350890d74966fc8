"""StopExecution ends what the execution does.

Why: the emulator marks the execution ABORTED but lets the thread sleep through its Wait state, lets a Map's
iterations go on to their end, and can overwrite ABORTED with FAILED. On AWS nothing of a stopped execution
goes on (AWS documentation, API reference of StopExecution).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from local.aws.emulator import seam
from local.aws.emulator.executions import Executions
from local.aws.emulator.lab_time import STOPPED, current_stop


def apply(executions: Executions) -> None:
    """Mend the emulator's Step Functions."""
    states = seam.module("services.stepfunctions")
    _mend_run(states, executions)
    _mend_stop(states, executions)
    _mend_errors(states)
    for name in ("_execute_pass", "_execute_task", "_execute_choice", "_execute_map", "_execute_parallel"):
        seam.replace(states, name, _unless_stopped(states, seam.known(states, name)))


def _mend_run(states: Any, executions: Executions) -> None:
    run = seam.known(states, "_run_execution", 'execution["status"] == "RUNNING"')

    def run_stoppable(arn: str) -> None:
        running = executions.get(arn)
        current_stop.set(running.stop)
        try:
            run(arn)
        finally:
            running.done.set()
            executions.forget(arn)

    run_stoppable.__wrapped__ = run  # type: ignore[attr-defined]
    seam.replace(states, "_run_execution", run_stoppable)


def _mend_stop(states: Any, executions: Executions) -> None:
    stop = seam.known(states, "_stop_execution", 'execution["status"] = "ABORTED"')

    def stop_now(data: dict[str, Any]) -> Any:
        answer = stop(data)
        if answer[0] < 300:
            executions.get(data["executionArn"]).stop.set()
        return answer

    stop_now.__wrapped__ = stop  # type: ignore[attr-defined]
    seam.replace(states, "_stop_execution", stop_now)


def _mend_errors(states: Any) -> None:
    fail = seam.known(states, "_fail_execution", 'execution["status"] = "FAILED"')
    matches = seam.known(states, "_error_matches", '"States.ALL" in error_equals')

    def fail_if_running(execution: dict[str, Any], error: str, cause: str) -> None:
        if execution["status"] == "RUNNING":
            fail(execution, error, cause)

    def matches_unless_stopped(error_equals: list[str], error: str) -> bool:
        return error != STOPPED and bool(matches(error_equals, error))

    seam.replace(states, "_fail_execution", fail_if_running)
    seam.replace(states, "_error_matches", matches_unless_stopped)


def _unless_stopped(states: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    def run(*args: Any, **kwargs: Any) -> Any:
        stop = current_stop.get()
        if stop is not None and stop.is_set():
            raise states._ExecutionError(STOPPED, "the execution was stopped")
        return function(*args, **kwargs)

    run.__wrapped__ = function  # type: ignore[attr-defined]
    return run
