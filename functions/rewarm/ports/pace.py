"""The rate of EC2's describe calls."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol


class Pace(Protocol):
    """EC2's calls, given away in the order of asking."""

    def due(self, calls: int, *, now: datetime) -> datetime:
        """When so many describe calls may begin; nobody else is given that time."""
