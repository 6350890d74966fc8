"""Serves the state Select Snapshot."""

from __future__ import annotations

from rewarm.contracts import SelectSnapshotEvent, SelectSnapshotResult
from rewarm.handlers import wiring
from rewarm.observability import step_handler
from rewarm.steps.select.select_snapshot import SelectSnapshotPorts, select_snapshot

_PORTS = SelectSnapshotPorts(
    snapshots=wiring.snapshots(),
    instances=wiring.instances(),
    volumes=wiring.volumes(),
    artifacts=wiring.artifacts(),
    keeper=wiring.keeper(),
)


@step_handler(SelectSnapshotEvent)
def lambda_handler(event: SelectSnapshotEvent) -> SelectSnapshotResult:
    """Which snapshots become which volumes."""
    return select_snapshot(event, _PORTS)
