"""The ports of executions that wait for an event of AWS, and of those who wake them."""

from __future__ import annotations

from typing import Protocol


class Waiters(Protocol):
    """Who waits for which signal (domain.ready.waits), by the token of its task."""

    def add(self, signal: str, token: str, *, seconds: int) -> None:
        """Lets the token wait for so long. Adding it again changes nothing."""

    def replace(self, signal: str, token: str, *, seconds: int) -> None:
        """Lets the token wait for so long, in place of all others."""

    def take(self, signal: str) -> list[str]:
        """Returns the tokens of all who wait for the signal, and forgets them."""


class Tasks(Protocol):
    """Tasks of Step Functions that wait for a token."""

    def wake(self, token: str) -> bool:
        """Wakes the task; returns False where none waits with this token any more."""
