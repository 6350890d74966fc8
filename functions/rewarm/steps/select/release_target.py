"""State `Release Target`: the restore is over, and others may restore to its devices."""

from __future__ import annotations

from rewarm.contracts import ReleaseTargetEvent, ReleaseTargetResult
from rewarm.ports.holds import Holds
from rewarm.steps.registration import state
from rewarm.steps.select.admission import give_back


@state("Release Target", "Release Target After Failure")
def release_target(event: ReleaseTargetEvent, *, holds: Holds) -> ReleaseTargetResult:
    """Releases the devices of the restore. Idempotent; a restore that held nothing releases nothing.

    While a message is owed it releases nothing, so that the restore stays noted as running. There the sweeper
    finds it, sends the message and releases the devices. A restore that needs one of them may take it before.
    """
    if event.untold:
        return ReleaseTargetResult(released=[])
    return ReleaseTargetResult(released=give_back(event.restore_id, holds=holds))
