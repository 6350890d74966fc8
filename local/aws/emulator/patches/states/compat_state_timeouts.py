"""TimeoutSeconds of a state machine and of a Task, in lab time, also as a JSONata expression.

Why: the emulator ignores a state machine's TimeoutSeconds, compares a Task's with real time, and fails on
`"{% ... %}"` with a Python type error. AWS ends the execution as TIMED_OUT and the Task with States.Timeout.
"""

from __future__ import annotations

import contextvars
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from local.aws.emulator import seam
from local.aws.emulator.executions import Executions, RunningExecution
from local.aws.emulator.lab_time import Activity


def apply(activity: Activity, executions: Executions) -> None:
    """Mend the emulator's Step Functions."""
    states = seam.module("services.stepfunctions")
    _mend_machine_timeout(states, activity, executions)
    _mend_task_timeout(states, activity)
    _mend_expressions(states)


def _mend_machine_timeout(states: Any, activity: Activity, executions: Executions) -> None:
    run = seam.known(states, "_run_execution")

    def run_with_limit(arn: str) -> None:
        execution = states._executions.get(arn)
        limit = _machine_limit_seconds(states, execution)
        if limit is not None:
            # Asked for here, while the execution surely runs: afterwards its facts are forgotten.
            running, deadline = executions.get(arn), activity.clock.now() + limit
            context = contextvars.copy_context()
            watch = (_end_at, states, activity, running, arn, deadline)
            threading.Thread(target=context.run, args=watch, name="execution-timeout", daemon=True).start()
        run(arn)

    run_with_limit.__wrapped__ = run  # type: ignore[attr-defined]
    seam.replace(states, "_run_execution", run_with_limit)


def _machine_limit_seconds(states: Any, execution: dict[str, Any] | None) -> float | None:
    machine = states._state_machines.get((execution or {}).get("stateMachineArn", ""))
    return json.loads(machine["definition"]).get("TimeoutSeconds") if machine else None


def _end_at(states: Any, activity: Activity, running: RunningExecution, arn: str, deadline: float) -> None:
    if not activity.clock.observe_until(deadline, stop=running.done):
        return
    execution = states._executions.get(arn)
    if execution is None or execution["status"] != "RUNNING":
        return
    execution["status"] = "TIMED_OUT"
    execution["stopDate"] = states.now_iso()
    states._add_event(execution, "ExecutionTimedOut", {"executionTimedOutEventDetails": {}})
    states._emit_execution_status_event(execution)
    running.stop.set()


def _mend_task_timeout(states: Any, activity: Activity) -> None:
    seam.known(
        states, "_invoke_resource_with_timeout", "future.result(timeout=timeout)", "_invoke_resource, "
    )

    def invoke(resource: str, argument: Any, timeout_seconds: float) -> Any:
        ended = threading.Event()
        deadline = activity.clock.now() + timeout_seconds
        pool = ThreadPoolExecutor(max_workers=1)
        future = pool.submit(contextvars.copy_context().run, states._invoke_resource, resource, argument)
        future.add_done_callback(lambda _: ended.set())
        pool.shutdown(wait=False)
        with activity.waiting():
            in_time = _ended_before(activity, ended, deadline)
        if not in_time:
            raise states._ExecutionError("States.Timeout", f"Task timed out after {timeout_seconds} seconds")
        return future.result()

    seam.replace(states, "_invoke_resource_with_timeout", invoke)


def _ended_before(activity: Activity, ended: threading.Event, deadline: float) -> bool:
    # Short waits: lab time may run ahead while a child execution waits. The end is noticed at once.
    while not ended.wait(0.05):
        if activity.clock.now() > deadline:
            return False
    return True


def _mend_expressions(states: Any) -> None:
    execute = seam.known(states, "_execute_task", 'state_def["TimeoutSeconds"]')

    def execute_with_number(state: dict[str, Any], raw_input: Any, execution: Any, context: Any) -> Any:
        if isinstance(state.get("TimeoutSeconds"), str):
            seconds = states._jsonata_state_field(state, "TimeoutSeconds", "number", raw_input, context)
            state = {**state, "TimeoutSeconds": seconds}
        return execute(state, raw_input, execution, context)

    execute_with_number.__wrapped__ = execute  # type: ignore[attr-defined]
    seam.replace(states, "_execute_task", execute_with_number)
