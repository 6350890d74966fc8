"""A Lambda holds lab time at the speed of real time, and its clock shows lab time.

Why: work must never be accelerated, only AWS's own waits; and a handler that compares "now" with an instant
from AWS (a metric's, a volume's) must live in the same time as the rest of the Region. Since lab time runs at
the speed of real time during an invocation, one offset per invocation is enough. Only `time.time` is moved:
request signatures and logs keep real time.
"""

from __future__ import annotations

import time
from typing import Any

from local.aws.emulator import seam
from local.aws.emulator.lab_time import Activity

_OFFSET = "LAB_TIME_OFFSET_SECONDS"
_SCRIPT_START = "def run():\n"
_SCRIPT_MOVED_CLOCK = """_lab_offset = [0.0]
_real_time = time.time
time.time = lambda: _real_time() + _lab_offset[0]

def run():
"""
_INVOCATION = '        _ms_durable = _ms_ctx.get("durable") or {}\n'
_INVOCATION_MOVED = _INVOCATION + f'        _lab_offset[0] = float(_ms_durable.get("{_OFFSET}", 0.0))\n'


def apply(activity: Activity) -> None:
    """Mend the emulator's Lambda."""
    runtime = seam.module("core.lambda_runtime")
    service = seam.module("services.lambda_svc")
    script = seam.known(runtime, "_PYTHON_WORKER_SCRIPT", "\n" + _SCRIPT_START, _INVOCATION)
    execute = seam.known(service, "_execute_function", "_execute_function_dispatch(")
    overlay = seam.known(service, "_durable_env_overlay")
    seam.known(service, "_execute_function_warm", "durable=_durable_env_overlay()")

    def execute_in_real_time(function: dict[str, Any], event: Any) -> Any:
        with activity.working():
            return execute(function, event)

    def overlay_with_offset() -> dict[str, Any]:
        return {**overlay(), _OFFSET: activity.clock.now() - time.time()}

    moved = script.replace(_SCRIPT_START, _SCRIPT_MOVED_CLOCK, 1).replace(_INVOCATION, _INVOCATION_MOVED)
    execute_in_real_time.__wrapped__ = execute  # type: ignore[attr-defined]
    overlay_with_offset.__wrapped__ = overlay  # type: ignore[attr-defined]
    seam.replace(runtime, "_PYTHON_WORKER_SCRIPT", moved)
    seam.replace(service, "_execute_function", execute_in_real_time)
    seam.replace(service, "_durable_env_overlay", overlay_with_offset)
