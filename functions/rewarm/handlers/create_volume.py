"""Serves the state Create Volume."""

from __future__ import annotations

from rewarm.contracts import CreateVolumeEvent, CreateVolumeResult
from rewarm.handlers import wiring
from rewarm.observability import count, step_handler
from rewarm.steps.volume.create_volume import CreateVolumePorts, create_volume

_PORTS = CreateVolumePorts(
    volumes=wiring.volumes(),
    table=wiring.table(),
    stack_name=wiring.settings.stack_name,
)


@step_handler(CreateVolumeEvent)
def lambda_handler(event: CreateVolumeEvent) -> CreateVolumeResult:
    """The volume's id."""
    created = create_volume(event, _PORTS)
    count("VolumesCreated", strategy=event.plan.strategy)
    return created
