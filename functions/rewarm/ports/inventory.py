"""What the stack has running."""

from __future__ import annotations

from typing import Protocol

from rewarm.domain.volume.running import RunningFastRestore


class Inventory(Protocol):
    """What this stack has running at the moment."""

    def restores_in_flight(self) -> int:
        """Executions of the state machine `restore` that run."""

    def fast_restores(self) -> list[RunningFastRestore]:
        """Those that we enabled and that are active, whoever relies on them."""

    def goes_away(self, stack_id: str) -> bool:
        """It is being deleted, or its creation taken back; false while it is updated."""
