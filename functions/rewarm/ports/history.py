"""The port of what finished restores measured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from rewarm.domain.time.measured import Measured


class History(Protocol):
    """Measurements of this account's finished restores, from which estimates are made."""

    def records(self) -> list[Measured]:
        """Returns the latest records of every strategy, the oldest first."""

    def add(self, records: Sequence[Measured]) -> None:
        """Adds the records. The oldest ones of a strategy are dropped when it has too many."""
