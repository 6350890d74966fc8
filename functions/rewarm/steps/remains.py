"""What a clean-up is given, and what it writes down."""

from __future__ import annotations

from dataclasses import dataclass, field

from rewarm.domain.model import OnFailure


@dataclass(slots=True)
class Account:
    """What became of each thing; `busy` and `left` say why something could not be removed (yet)."""

    removed: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    busy: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    kept_volumes: set[str] = field(default_factory=set)
    """Also by an earlier try: whoever owns such a volume may take its tag off."""


@dataclass(frozen=True, slots=True)
class Remains:
    """One volume of a restore, and what there may be of it; None where nobody knows."""

    restore_id: str
    index: int
    volume_id: str | None = None
    instance_id: str | None = None
    place: tuple[str, str] | None = None
    """Snapshot and Availability Zone, for fast snapshot restore."""
    announced: bool = False
    """Its volume is never deleted."""
    on_failure: OnFailure = OnFailure.CLEAN_UP
    fallback: bool = False
    """The restore goes on: a volume that stays is not marked as failed."""
    commands: frozenset[tuple[str, str]] = frozenset()
    """Command and instance, beside those of the record."""
    in_place: bool = False
    """The restore goes on with this volume: one whose place it took does not go back."""
