"""What a sweep says of one leftover."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rewarm.domain.errors import RestoreError, ServiceUnavailableError, ThrottledError
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


def failed(sweep: str, resource: str, error: RestoreError) -> Swept:
    """What only came too often, or was not answered, is unknown still and no reason to call anybody."""
    later = isinstance(error, (ThrottledError, ServiceUnavailableError))
    return Swept(sweep, resource, "ending" if later else "left", str(error))
