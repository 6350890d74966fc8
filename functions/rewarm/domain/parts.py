"""Parts of the stack that can be left out, each by the parameter of template.yaml with its name."""

from __future__ import annotations

from enum import StrEnum
from types import MappingProxyType

from rewarm.domain.errors import PartLeftOutError
from rewarm.domain.value import Value


class Part(StrEnum):
    """A part, as its parameter is called."""

    PUBLIC_PAGES = "PublicPages"
    APPLICATIONS = "Applications"
    INSTANCE_STARTS = "InstanceStarts"
    FLEETS = "Fleets"
    DRILLS = "Drills"
    REWINDS = "Rewinds"
    PERFORMANCE_CHANGES = "PerformanceChanges"
    CALIBRATION = "Calibration"


WORDS = MappingProxyType(
    {
        Part.PUBLIC_PAGES: "pages that links open",
        Part.APPLICATIONS: "bringing applications back",
        Part.INSTANCE_STARTS: "starts of instances",
        Part.FLEETS: "fleets",
        Part.DRILLS: "drills",
        Part.REWINDS: "rewinds and direct writes",
        Part.PERFORMANCE_CHANGES: "changes of performance",
        Part.CALIBRATION: "calibration",
    }
)


class Parts(Value):
    """The parts that a stack has."""

    names: frozenset[str] = frozenset(Part)

    def lacks(self, part: Part) -> str | None:
        """Why what needs the part cannot be had; None if it can."""
        if part in self.names:
            return None
        return f"this stack was deployed without {WORDS[part]}; deploy it with {part.value}=yes"

    def need(self, part: Part, *, found: str | None = None, field: str | None = None) -> None:
        """Raises PartLeftOutError if the stack lacks what was found in the field."""
        reason = self.lacks(part)
        if reason is not None:
            raise PartLeftOutError(f"found {found}; {reason}" if found else reason, field=field)


EVERY_PART = Parts()
