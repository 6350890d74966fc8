"""What goes on costing money by the hour until it is given back."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class RunningFastRestore:
    """Fast snapshot restore that EC2 has active and that we enabled."""

    snapshot_id: str
    availability_zone: str
    since: datetime
    """When it was enabled; each minute since then counts."""
    users: frozenset[str]
    """The volumes that rely on it, as `restore-id/index`; empty where it was released and is active still."""
