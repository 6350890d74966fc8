"""State `Change Performance`: ModifyVolume, once.

ModifyVolume has no client token. So EC2's answer about the volume's latest change shows whether ours is under
way: repeated calls start only one modification.
"""

from __future__ import annotations

from datetime import timedelta

from rewarm.contracts.base import Contract, Instant, StepEvent, WaitSeconds
from rewarm.domain.errors import ModificationPostponedError
from rewarm.domain.units import iso
from rewarm.domain.value import Value
from rewarm.domain.volume.performance import PerformanceSettings, VolumeModification
from rewarm.ports.restores import RestoreTable
from rewarm.ports.volumes import PerformanceLog, VolumeModifications
from rewarm.steps.performance.changes import ChangeStatus
from rewarm.steps.registration import state

WAIT_SECONDS = 10
CLOCKS = timedelta(seconds=30)
"""How much the clocks of EC2 and of the function may differ."""


class ChangePerformanceEvent(StepEvent):
    """Asks for ModifyVolume; `restoreId` is the change's own id."""

    volume_id: str
    original: PerformanceSettings
    target: PerformanceSettings
    accepted_at: Instant


class ChangePerformanceResult(Contract):
    """The modification that EC2 has accepted."""

    started_at: Instant
    wait_seconds: WaitSeconds


class ChangePerformancePorts(Value, kw_only=True):
    """The ports that change_performance needs."""

    modifications: VolumeModifications
    log: PerformanceLog
    table: RestoreTable


@state("Change Performance")
def change_performance(
    event: ChangePerformanceEvent,
    ports: ChangePerformancePorts,
) -> ChangePerformanceResult:
    """Calls ModifyVolume once, and returns the change and when to look next.

    Raises ModificationPostponedError, VolumeNotFoundError.
    """
    change = _ours(event, ports.modifications)
    if change is None:
        change = _started(event, ports.modifications)
    # EC2 may not show at once what it has just accepted.
    started_at = change.started_at if change is not None and change.started_at is not None else event.now
    ports.log.note_start(event.volume_id, started_at)
    ports.table.update(
        event.restore_id, {"status": ChangeStatus.CHANGING.value, "startedAt": iso(started_at)}
    )
    return ChangePerformanceResult(started_at=started_at, wait_seconds=WAIT_SECONDS)


def _started(event: ChangePerformanceEvent, modifications: VolumeModifications) -> VolumeModification | None:
    try:
        modifications.start(event.volume_id, event.target)
    except ModificationPostponedError:
        # If an answer got lost, EC2 refuses botocore's own second call because of the first one's change.
        change = _ours(event, modifications)
        if change is None:
            raise
        return change
    return _ours(event, modifications)


def _ours(event: ChangePerformanceEvent, modifications: VolumeModifications) -> VolumeModification | None:
    """The latest change, if it has our target and is not an earlier one."""
    latest = modifications.latest(event.volume_id)
    if latest is None or not event.target.fits(latest.target):
        return None
    started_at = latest.started_at
    return latest if started_at is None or started_at >= event.accepted_at - CLOCKS else None
