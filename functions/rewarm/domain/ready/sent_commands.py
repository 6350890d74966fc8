"""A command as Run Command lists it."""

from __future__ import annotations

from dataclasses import dataclass

_GOES_ON = frozenset({"Pending", "InProgress", "Cancelling"})
_CANCELLED = frozenset({"Cancelling", "Cancelled"})


@dataclass(frozen=True, slots=True)
class SentCommand:
    """`status` is that of botocore's CommandStatus."""

    command_id: str
    status: str

    @property
    def is_over(self) -> bool:
        """It does nothing any more."""
        return self.status not in _GOES_ON

    @property
    def is_cancelled(self) -> bool:
        """It came to nothing, or will not come to more."""
        return self.status in _CANCELLED
