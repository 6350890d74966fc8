"""State `Release Target`: the restore is over, and others may restore to its devices."""

from __future__ import annotations

from rewarm.contracts import ReleaseTargetEvent, ReleaseTargetResult
from rewarm.ports.holds import Holds
from rewarm.steps.select.admission import give_back


def release_target(event: ReleaseTargetEvent, *, holds: Holds) -> ReleaseTargetResult:
    """Releases the devices of the restore. Idempotent; a restore that held nothing releases nothing."""
    return ReleaseTargetResult(released=give_back(event.restore_id, holds=holds))
