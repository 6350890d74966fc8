"""Commands that start things end them whatever signal comes, and however the `make` over them ends."""

from __future__ import annotations

import ctypes
import os
import signal
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
STOPPED = 130
"""The exit status of a command that was stopped."""
MADE_BY_MAKE = "MAKELEVEL"
"""GNU make sets it for what it runs; nobody else's end should end a command."""
_PR_SET_PDEATHSIG = 1


def stop_by_signals() -> None:
    """From now on a signal raises KeyboardInterrupt, and so does the end of the `make` that runs this."""
    for number in SIGNALS:
        signal.signal(number, _stop)
    if MADE_BY_MAKE in os.environ:
        # A make that is killed cannot pass it on: the command would go on with nobody to end it (prctl(2)).
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGTERM))


def _stop(_number: int, _frame: FrameType | None) -> None:
    """Unwind to the clean-up; a second Ctrl-C must not interrupt that."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt
