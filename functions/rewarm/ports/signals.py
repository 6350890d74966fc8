"""Executions that wait for an event of AWS."""

from __future__ import annotations

from typing import Protocol


class Waiters(Protocol):
    """Who waits for which signal (domain.signals), by the token of its task."""

    def add(self, signal: str, token: str, *, seconds: int) -> None:
        """Waits for so long; adding the same token again changes nothing."""

    def replace(self, signal: str, token: str, *, seconds: int) -> None:
        """The only one who waits for it from now on."""

    def take(self, signal: str) -> list[str]:
        """The tokens of all who wait for it, who then wait no more."""


class Tasks(Protocol):
    """Tasks of Step Functions that wait for a token."""

    def wake(self, token: str) -> bool:
        """False where nobody waits with this token any more."""
