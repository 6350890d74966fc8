"""Serves the state Prepare Snapshot."""

from __future__ import annotations

from rewarm.contracts import PrepareSnapshotEvent, PrepareSnapshotResult
from rewarm.handlers import wiring
from rewarm.observability import step_handler
from rewarm.steps.volume.prepare_snapshot import PrepareSnapshotPorts, prepare_snapshot

_PORTS = PrepareSnapshotPorts(
    fast_restores=wiring.fast_restores(),
    copies=wiring.snapshot_copies(),
    stack_name=wiring.settings.stack_name,
    table=wiring.table(),
)


@step_handler(PrepareSnapshotEvent)
def lambda_handler(event: PrepareSnapshotEvent) -> PrepareSnapshotResult:
    """Returns whether the snapshot is ready for a fast volume. Raises the errors of the step."""
    return prepare_snapshot(event, _PORTS)
