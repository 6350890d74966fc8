"""Serves the state Attach Volume."""

from __future__ import annotations

from rewarm.contracts import AttachVolumeEvent, AttachVolumeResult
from rewarm.handlers import wiring
from rewarm.observability import step_handler
from rewarm.steps.volume.attach_volume import AttachVolumePorts, attach_volume

_PORTS = AttachVolumePorts(
    volumes=wiring.volumes(),
    instances=wiring.instances(),
    table=wiring.table(),
    look=wiring.device_look(),
)


@step_handler(AttachVolumeEvent)
def lambda_handler(event: AttachVolumeEvent) -> AttachVolumeResult:
    """Attaches the volume and returns whether it is attached. Raises the errors of the step."""
    return attach_volume(event, _PORTS)
