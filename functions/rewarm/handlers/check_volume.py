"""Serves the state Check Volume."""

from __future__ import annotations

from rewarm.contracts import CheckVolumeEvent, CheckVolumeResult
from rewarm.handlers import wiring
from rewarm.observability import step_handler
from rewarm.steps.volume.check_volume import CheckVolumePorts, check_volume

_PORTS = CheckVolumePorts(
    volumes=wiring.volumes(),
    table=wiring.table(),
)


@step_handler(CheckVolumeEvent)
def lambda_handler(event: CheckVolumeEvent) -> CheckVolumeResult:
    """Returns whether the volume is available. Raises the errors of the step."""
    return check_volume(event, _PORTS)
