"""The port of the rate at which restores begin."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol


class Pace(Protocol):
    """The describe calls that EC2 allows in a second, given away in the order of asking."""

    def due(self, calls: int, *, now: datetime) -> datetime:
        """Returns when so many calls may begin. Nobody else is given that time."""
