"""What the sweeper's gauges look at, beside the ports of aws/ports.py.

Every method may raise ThrottledError, ServiceUnavailableError, AccessDeniedError and RequestRefusedError.
"""

from __future__ import annotations

from typing import Protocol

from rewarm.domain.model import RunningFastRestore, Volume


class Inventory(Protocol):
    """What this stack has running at the moment."""

    def restores_in_flight(self) -> int:
        """Executions of the state machine `restore` that run."""

    def fast_restores(self) -> list[RunningFastRestore]:
        """Those that we enabled and that are active, whoever relies on them."""


class StackVolumes(Protocol):
    """EBS volumes of a stack."""

    def of_stack(self, stack_name: str) -> list[Volume]:
        """All that carry its tag, but those that are being deleted."""
