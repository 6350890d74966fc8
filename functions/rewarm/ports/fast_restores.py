"""The port of fast snapshot restore."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from rewarm.domain.model import FastSnapshotRestore


class FastSnapshotRestores(Protocol):
    """Fast snapshot restore of a snapshot in an Availability Zone."""

    def describe(
        self, snapshot_id: str, availability_zone: str, *, now: datetime
    ) -> FastSnapshotRestore | None:
        """Returns its state and its credits; None where it was never enabled, or is disabled."""

    def enabling_time(self, snapshot_id: str, availability_zone: str) -> datetime | None:
        """Returns when the one that is active was enabled; None where none is active."""

    def enable(self, snapshot_id: str, availability_zone: str) -> datetime | None:
        """Enables it, and returns the time at which it was enabled: an earlier one where it was enabled
        before.

        Returns None where EC2 names no time. Raises FastSnapshotRestoreUnavailableError.
        """

    def disable(self, snapshot_id: str, availability_zone: str) -> None:
        """Disables it. Does nothing where it is not enabled, or where the snapshot is gone."""

    def enabled_places(self) -> list[tuple[str, str]]:
        """Returns snapshot and Availability Zone of all that are not disabled or about to be."""
