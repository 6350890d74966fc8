"""A Succeed state's Output in a JSONata state machine.

Why: the emulator passes a Succeed state's input through, whatever its Output says; AWS evaluates Output (AWS
documentation, "Succeed workflow state").
"""

from __future__ import annotations

from typing import Any

from local.aws.emulator import seam


def apply() -> None:
    """Mend the emulator's Step Functions."""
    states = seam.module("services.stepfunctions")
    seam.known(states, "_run_execution", "current_input = _apply_output_path(state_def, current_input, ctx)")
    apply_path = seam.known(states, "_apply_output_path", "OutputPath")

    def output(state: dict[str, Any], data: Any, context: Any = None) -> Any:
        if state.get("Type") == "Succeed" and states._state_query_language(state, context) == "JSONata":
            return states._apply_jsonata_output(state, data, context, default=data)
        return apply_path(state, data, context)

    seam.replace(states, "_apply_output_path", output)
