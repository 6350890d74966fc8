"""Commands that start things end them whatever signal comes."""

from __future__ import annotations

import signal
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
STOPPED = 130
"""The exit status of a command that was stopped."""


def stop_by_signals() -> None:
    """From now on a signal raises KeyboardInterrupt."""
    for number in SIGNALS:
        signal.signal(number, _stop)


def _stop(_number: int, _frame: FrameType | None) -> None:
    """Unwind to the clean-up; a second Ctrl-C must not interrupt that."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt
