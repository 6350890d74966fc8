"""Serves the state Create Volume."""

from __future__ import annotations

from rewarm.contracts import CreateVolumeEvent, CreateVolumeResult
from rewarm.handlers import wiring
from rewarm.observability import count, step_handler
from rewarm.steps.volume.create_volume import create_volume

_VOLUMES = wiring.volumes()
_TABLE = wiring.table()
_STACK_NAME = wiring.settings.stack_name


@step_handler(CreateVolumeEvent)
def lambda_handler(event: CreateVolumeEvent) -> CreateVolumeResult:
    """The volume's id."""
    created = create_volume(event, volumes=_VOLUMES, table=_TABLE, stack_name=_STACK_NAME)
    count("VolumesCreated", strategy=event.plan.strategy)
    return created
