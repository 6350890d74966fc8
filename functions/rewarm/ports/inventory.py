"""The port of what the stack has running."""

from __future__ import annotations

from typing import Protocol

from rewarm.domain.model import RunningFastRestore


class Inventory(Protocol):
    """The stack, its restores that run, and its fast snapshot restores that cost money."""

    def restores_in_flight(self) -> int:
        """Returns how many executions of the state machine `restore` run."""

    def fast_restores(self) -> list[RunningFastRestore]:
        """Returns those that this stack enabled and that are active, whoever relies on them."""

    def goes_away(self, stack_id: str) -> bool:
        """Returns whether the stack is being deleted or its creation rolled back; False for updates."""
