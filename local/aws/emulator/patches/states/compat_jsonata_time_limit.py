"""JSONata's time limit counts the expression's own work.

Why: the emulator gives each expression one second by the clock on the wall; on a busy machine with few
processors a small expression can wait that long for its turn and fail with States.QueryEvaluationError.
"""

from __future__ import annotations

import time

from local.aws.emulator import seam


def apply() -> None:
    """Mend the emulator's JSONata engine."""
    from jsonata import timebox

    seam.known(timebox.Timebox, "current_milli_time", "time.time() * 1000")
    seam.replace(timebox.Timebox, "current_milli_time", staticmethod(_own_milliseconds))


def _own_milliseconds() -> int:
    return round(time.thread_time() * 1000)
