"""What a state may carry: 256 KiB of JSON.

Why: the emulator passes on payloads of any size. AWS ends the execution with States.DataLimitExceeded where
the input or the result of a Task, an output or a variable is larger, and no Retry or Catch sees that, unless
it names the error (Step Functions developer guide, "Service quotas" and "Handling errors in workflows").
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from local.aws.emulator import seam

PAYLOAD_BYTES = 262_144
ERROR = "States.DataLimitExceeded"


def apply() -> None:
    """Mend the emulator's Step Functions."""
    states = seam.module("services.stepfunctions")
    check = _check(states)
    invoke = seam.known(states, "_invoke_resource", "def _invoke_resource(resource, input_data)")
    output = seam.known(states, "_apply_jsonata_output")
    assign = seam.known(states, "_apply_state_assign", '"variables"')
    items = seam.known(states, "_run_map_items")
    matches = seam.known(states, "_error_matches")

    def invoke_within(resource: str, data: Any) -> Any:
        check("The input of the task", data)
        result = invoke(resource, data)
        check("The result of the task", result)
        return result

    def output_within(*args: Any, **options: Any) -> Any:
        found = output(*args, **options)
        check("The output of the state", found)
        return found

    def assign_within(state: dict[str, Any], data: Any, context: Any, **options: Any) -> None:
        assign(state, data, context, **options)
        for name in state.get("Assign") or {}:
            check(f"The variable {name}", ((context or {}).get("variables") or {}).get(name))

    def items_within(*args: Any, **options: Any) -> Any:
        found = items(*args, **options)
        check("The result of the Map", found)
        return found

    def matches_by_name(named: list[str], error: str) -> bool:
        return error in named if error == ERROR else bool(matches(named, error))

    seam.replace(states, "_invoke_resource", invoke_within)
    seam.replace(states, "_apply_jsonata_output", output_within)
    seam.replace(states, "_apply_state_assign", assign_within)
    seam.replace(states, "_run_map_items", items_within)
    seam.replace(states, "_error_matches", matches_by_name)


def _check(states: Any) -> Callable[[str, Any], None]:
    def check(what: str, value: Any) -> None:
        size = len(json.dumps(value, default=str, separators=(",", ":"), ensure_ascii=False).encode())
        if size > PAYLOAD_BYTES:
            told = f"{what} has {size:,} bytes; the service limit is {PAYLOAD_BYTES:,}"
            raise states._ExecutionError(ERROR, told)

    return check
