"""Serves the state Rewind."""

from __future__ import annotations

from rewarm.contracts.rewinding import RewindEvent, RewindResult
from rewarm.handlers import wiring
from rewarm.observability import step_handler
from rewarm.steps.rewind.needs import RewindPorts
from rewarm.steps.rewind.rewind import rewind

_PORTS = RewindPorts(
    commands=wiring.sending_commands(),
    instances=wiring.instances(),
    artifacts=wiring.artifacts(),
    table=wiring.table(),
    volumes=wiring.volumes(),
    snapshots=wiring.snapshots(),
    evidence=wiring.evidence_snapshots(),
    packs=wiring.packs(),
    look=wiring.device_look(),
    logs=wiring.undo_logs(),
    undo_log_days=wiring.settings.undo_log_days,
    stack_name=wiring.settings.stack_name,
)


@step_handler(RewindEvent)
def lambda_handler(event: RewindEvent) -> RewindResult:
    """Returns how far the rewind is. Raises the errors of the step."""
    return rewind(event, _PORTS)
