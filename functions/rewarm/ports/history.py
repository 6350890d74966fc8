"""What finished restores measured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from rewarm.domain.time.measured import Measured


class History(Protocol):
    """What this account's finished restores measured."""

    def records(self) -> list[Measured]:
        """The latest ones of every strategy, oldest first."""

    def add(self, records: Sequence[Measured]) -> None:
        """Keeps them; the oldest ones of a strategy go when there are too many."""
