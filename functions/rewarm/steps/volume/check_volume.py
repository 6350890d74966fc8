"""State `Check Volume`: is the volume available, and was it created by fast snapshot restore?"""

from __future__ import annotations

from datetime import timedelta

from rewarm.contracts.base import Contract, StepEvent, WaitSeconds
from rewarm.contracts.values import Plan, VolumeAssignment
from rewarm.domain.errors import VolumeFailedError, VolumeNotFoundError
from rewarm.domain.units import elapsed_text
from rewarm.domain.value import Value
from rewarm.ports.restores import RestoreTable
from rewarm.ports.volumes import VolumeStore
from rewarm.steps.record.restore import stop_if_cancelled
from rewarm.steps.record.volume import MadeVolume, VolumeNotes
from rewarm.steps.registration import state

FIRST_WAIT_SECONDS, LATER_WAIT_SECONDS = 2, 5
EARLY = timedelta(seconds=15)
"""A volume is usually available within seconds; after that, checks are less frequent."""
APPEARANCE_PATIENCE = timedelta(minutes=2)
"""DescribeVolumes may not show at once what CreateVolume has made (EC2 is eventually consistent)."""
CREATION_PATIENCE = timedelta(minutes=30)
"""Three times as long as botocore's waiter `volume_available` has patience."""


class CheckVolumeEvent(StepEvent):
    """Asks whether the volume is available."""

    volume: VolumeAssignment
    volume_id: str
    plan: Plan


class CheckVolumeResult(Contract):
    """Whether the volume is available."""

    available: bool
    wait_seconds: WaitSeconds
    state: str
    fast_restored: bool | None = None


class CheckVolumePorts(Value, kw_only=True):
    """The ports that check_volume needs."""

    volumes: VolumeStore
    table: RestoreTable


@state("Check Volume")
def check_volume(event: CheckVolumeEvent, ports: CheckVolumePorts) -> CheckVolumeResult:
    """Returns whether the volume is available.

    Raises VolumeFailedError, VolumeNotFoundError, RestoreCancelledError.
    """
    stop_if_cancelled(ports.table, event.restore_id)
    age = _age(VolumeNotes(ports.table, event.restore_id, event.volume.index).read().made, event)
    wait_seconds = FIRST_WAIT_SECONDS if age is not None and age < EARLY else LATER_WAIT_SECONDS
    try:
        volume = ports.volumes.get(event.volume_id)
    except VolumeNotFoundError:
        if age is None or age > APPEARANCE_PATIENCE:
            raise
        return CheckVolumeResult(available=False, wait_seconds=wait_seconds, state="creating")
    if volume.state not in {"creating", "available", "in-use"}:
        raise VolumeFailedError(f"{event.volume_id} is {volume.state} instead of available")
    if volume.state == "creating" and age is not None and age > CREATION_PATIENCE:
        so_long = elapsed_text(age.total_seconds())
        raise VolumeFailedError(f"{event.volume_id} is still being created after {so_long}")
    return CheckVolumeResult(
        available=volume.state != "creating",
        wait_seconds=wait_seconds,
        state=volume.state,
        fast_restored=volume.fast_restored,
    )


def _age(made: MadeVolume, event: CheckVolumeEvent) -> timedelta | None:
    """How long ago we made it; None if the record does not say."""
    is_known = made.created_at is not None and made.volume_id == event.volume_id
    return event.now - made.created_at if is_known and made.created_at else None
