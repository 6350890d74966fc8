"""Serves the state Select Snapshot."""

from __future__ import annotations

from rewarm.contracts import SelectSnapshotEvent, SelectSnapshotResult
from rewarm.handlers import wiring
from rewarm.observability import step_handler
from rewarm.steps.select.select_snapshot import select_snapshot

_SNAPSHOTS = wiring.snapshots()
_INSTANCES = wiring.instances()
_VOLUMES = wiring.volumes()
_ARTIFACTS = wiring.artifacts()
_KEEPER = wiring.keeper()


@step_handler(SelectSnapshotEvent)
def lambda_handler(event: SelectSnapshotEvent) -> SelectSnapshotResult:
    """Which snapshots become which volumes."""
    return select_snapshot(
        event,
        snapshots=_SNAPSHOTS,
        instances=_INSTANCES,
        volumes=_VOLUMES,
        artifacts=_ARTIFACTS,
        keeper=_KEEPER,
    )
