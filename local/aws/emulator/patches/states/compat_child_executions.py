"""startExecution.sync:2 reports its child as AWS does.

Why: the emulator runs the child inside the parent's thread as if it were an express workflow: no status
event, no time limit, no end when the parent is stopped; and a failed child surfaces with the child's own
error name. AWS starts an ordinary execution, reports every failure as States.TaskFailed with the child's
description as JSON in Cause, and stops the child of an aborted task (AWS documentation, "Integrating services
with Step Functions", run a job).
"""

from __future__ import annotations

import json
from typing import Any

from local.aws.emulator import seam
from local.aws.emulator.executions import Executions, RunningExecution
from local.aws.emulator.lab_time import STOPPED, Activity, current_stop


def apply(activity: Activity, executions: Executions) -> None:
    """Mend the emulator's Step Functions."""
    states = seam.module("services.stepfunctions")
    seam.known(states, "_invoke_nested_start_execution_sync", "_start_sync_execution(request)", ".sync:2")

    def start_and_wait(resource: str, argument: dict[str, Any]) -> dict[str, Any]:
        arn = _start(states, argument)
        running = executions.get(arn)
        execution = states._executions[arn]
        if execution["status"] == "RUNNING":
            with activity.waiting():
                _wait(states, running, arn)
        return _result(states, execution, parse_json=resource.endswith(".sync:2"))

    seam.replace(states, "_invoke_nested_start_execution_sync", start_and_wait)


def _start(states: Any, argument: dict[str, Any]) -> str:
    status, _headers, body = states._start_execution(states._nested_start_execution_request(argument))
    answer = json.loads(body)
    if status >= 400:
        name = answer.get("__type", "SfnException").rsplit("#", 1)[-1]
        raise states._ExecutionError(f"StepFunctions.{name}Exception", answer.get("message", ""))
    return str(answer["executionArn"])


def _wait(states: Any, running: RunningExecution, arn: str) -> None:
    parent_stop = current_stop.get()
    while not running.done.wait(0.05):
        if parent_stop is not None and parent_stop.is_set():
            states._stop_execution({"executionArn": arn})
            raise states._ExecutionError(STOPPED, "the execution was stopped")


def _result(states: Any, execution: dict[str, Any], *, parse_json: bool) -> dict[str, Any]:
    description = {
        "ExecutionArn": execution["executionArn"],
        "Input": _payload(execution["input"], parse_json=parse_json),
        "InputDetails": {"Included": True},
        "Name": execution["name"],
        "StartDate": states._iso_to_epoch_ms(execution["startDate"]),
        "StateMachineArn": execution["stateMachineArn"],
        "Status": execution["status"],
        "StopDate": states._iso_to_epoch_ms(execution["stopDate"]),
    }
    if execution["status"] == "SUCCEEDED":
        output = _payload(execution["output"], parse_json=parse_json)
        return {**description, "Output": output, "OutputDetails": {"Included": True}}
    failure = {"Error": execution.get("error"), "Cause": execution.get("cause"), "Input": execution["input"]}
    cause = {key: value for key, value in {**description, **failure}.items() if value is not None}
    raise states._ExecutionError("States.TaskFailed", json.dumps(cause))


def _payload(text: str | None, *, parse_json: bool) -> Any:
    return json.loads(text) if parse_json and text is not None else text
