"""The log of an invocation is exactly what the function wrote in it, and nothing is waited for.

Why: the emulator can't see where a log ends, so it waits up to 50 ms for lines after each invocation: a third
of the time that a restore takes here, and on a busy machine lines still come too late. Here the worker writes
a last line of its own before it answers.
"""

from __future__ import annotations

import queue
from typing import Any

from local.aws.emulator import seam

_END = "<end of the invocation's log>"
_ANSWER = "        _real_stdout.flush()\n\nrun()\n"
_END_AND_ANSWER = f"        print({_END!r}, flush=True)\n{_ANSWER}"
_LOST_SECONDS = 1.0
"""A process that died has written no last line."""


def apply() -> None:
    """Mend the emulator's Lambda."""
    runtime = seam.module("core.lambda_runtime")
    script = seam.known(runtime, "_PYTHON_WORKER_SCRIPT", "sys.stdout = sys.stderr", _ANSWER)
    seam.known(runtime.Worker, "_drain_stderr_bounded", "self._stderr_queue.get_nowait()")
    seam.replace(runtime, "_PYTHON_WORKER_SCRIPT", script.replace(_ANSWER, _END_AND_ANSWER))
    seam.replace(runtime.Worker, "_drain_stderr_bounded", _lines)


def _lines(worker: Any) -> str:
    found: list[str] = []
    try:
        while (line := worker._stderr_queue.get(timeout=_LOST_SECONDS)) != _END:
            found.append(line)
    except queue.Empty:
        pass
    return "\n".join(found)
