"""The clock of handlers that get no time from a state machine."""

from __future__ import annotations

import time
from datetime import UTC, datetime


def now() -> datetime:
    """Returns the time in UTC. It uses time.time, which the labs can accelerate; datetime.now they cannot."""
    return datetime.fromtimestamp(time.time(), UTC)
