"""What time it is, for handlers that no state machine tells it."""

from __future__ import annotations

import time
from datetime import UTC, datetime


def now() -> datetime:
    """By time.time: datetime.now cannot be moved where time runs faster than real time."""
    return datetime.fromtimestamp(time.time(), UTC)
