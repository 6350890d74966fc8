"""Fast snapshot restore of a snapshot in an Availability Zone."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from rewarm.domain.model import FastSnapshotRestore


class FastSnapshotRestores(Protocol):
    """Fast snapshot restore of a snapshot in an Availability Zone."""

    def describe(
        self, snapshot_id: str, availability_zone: str, *, now: datetime
    ) -> FastSnapshotRestore | None:
        """None where it was never enabled, or is disabled."""

    def enabling_time(self, snapshot_id: str, availability_zone: str) -> datetime | None:
        """When the one that is active now was enabled; None where none is."""

    def enable(self, snapshot_id: str, availability_zone: str) -> datetime | None:
        """Its enabling time, also an earlier one. Raises FastSnapshotRestoreUnavailableError."""

    def disable(self, snapshot_id: str, availability_zone: str) -> None:
        """Does nothing where it is not enabled."""

    def enabled_places(self) -> list[tuple[str, str]]:
        """Snapshot and Availability Zone of all that are not disabled or about to be."""
