"""No Lambda begins while the emulator ends.

Why: executions that are stopped at the end put events on the bus, whose rules call functions. The emulator
has no end of its own, so such a function's process would begin after all others were ended and outlive them.
"""

from __future__ import annotations

import functools
import threading
from typing import Any

from local.aws.emulator import seam


def apply(ended: threading.Event) -> None:
    """Mend the emulator's Lambda: once `ended` is set, no process is started for it."""
    runtime = seam.module("core.lambda_runtime")
    known = seam.known(runtime.Worker, "_spawn", "subprocess.Popen(")

    @functools.wraps(known)
    def spawn(self: Any) -> Any:
        if ended.is_set():
            raise RuntimeError("the embedded AWS is ending")
        return known(self)

    seam.replace(runtime.Worker, "_spawn", spawn)
