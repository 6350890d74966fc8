"""StartExecution is idempotent, as AWS's is for standard workflows.

Why: the emulator answers ExecutionAlreadyExists to every name that it has seen. AWS answers the running
execution's ARN when name and input are the same (AWS documentation, API reference of StartExecution), and
POST /restores with an Idempotency-Key stands on that.
"""

from __future__ import annotations

from typing import Any

from local.aws.emulator import seam


def apply() -> None:
    """Mend the emulator's Step Functions."""
    states = seam.module("services.stepfunctions")
    start = seam.known(states, "_start_execution", '"ExecutionAlreadyExists"', "if exec_arn in _executions:")

    def start_once(data: dict[str, Any]) -> Any:
        running = _same_execution(states, data)
        if running is not None:
            return states.json_response(
                {"executionArn": running["executionArn"], "startDate": running["startDate"]}
            )
        return start(data)

    start_once.__wrapped__ = start  # type: ignore[attr-defined]
    seam.replace(states, "_start_execution", start_once)


def _same_execution(states: Any, data: dict[str, Any]) -> dict[str, Any] | None:
    machine = states._state_machines.get(states._resolve_state_machine_arn(data.get("stateMachineArn", "")))
    if machine is None or not data.get("name"):
        return None
    arn = f"{machine['stateMachineArn']}:{data['name']}".replace(":stateMachine:", ":execution:", 1)
    execution: dict[str, Any] | None = states._executions.get(arn)
    if execution is None or execution["status"] != "RUNNING":
        return None
    return execution if execution["input"] == data.get("input", "{}") else None
