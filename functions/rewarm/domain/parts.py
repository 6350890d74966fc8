"""Parts of the stack that can be left out, each by the parameter of template.yaml with its name."""

from __future__ import annotations

from enum import StrEnum
from types import MappingProxyType

from rewarm.domain.errors import PartLeftOutError
from rewarm.domain.model import LeftOut
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
    RESTORE_TESTING = "RestoreTesting"


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
        Part.RESTORE_TESTING: "verdicts on restore tests",
    }
)


_EFFECTS = MappingProxyType(
    {
        "after": "The application is not brought back",
        "target.mode": "Nothing is rewound, and a new volume of the snapshot is attached beside the old one",
        "objective.strategy": "Nothing is written directly, and the strategy is chosen as for auto",
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

    def left_out(self, part: Part, field: str) -> LeftOut | None:
        """What a restore does without in this field of its runbook; None if the stack has the part."""
        because = self.lacks(part)
        return None if because is None else LeftOut(part.value, _EFFECTS[field], because, field)


EVERY_PART = Parts()
