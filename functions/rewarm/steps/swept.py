"""What a sweep says of one leftover."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rewarm.ports import JsonObject

State = Literal["ended", "ending", "left"]


@dataclass(frozen=True, slots=True)
class Swept:
    """One leftover: `ended`, `ending` (the next sweep looks again) or `left` (somebody must see to it)."""

    sweep: str
    resource: str
    state: State
    reason: str = ""

    def to_json(self) -> JsonObject:
        """For the log and the function's answer."""
        return {"sweep": self.sweep, "resource": self.resource, "state": self.state, "reason": self.reason}
