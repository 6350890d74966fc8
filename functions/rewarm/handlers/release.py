"""Serves the state Release."""

from __future__ import annotations

from rewarm.contracts import ReleaseEvent, ReleaseResult
from rewarm.handlers import wiring
from rewarm.observability import step_handler
from rewarm.steps.volume.release import ReleasePorts, release

_PORTS = ReleasePorts(
    fast_restores=wiring.fast_restores(),
    copies=wiring.snapshot_copies(),
    volumes=wiring.volumes(),
    modifications=wiring.modifications(),
    table=wiring.table(),
)


@step_handler(ReleaseEvent)
def lambda_handler(event: ReleaseEvent) -> ReleaseResult:
    """What was given back."""
    return release(event, _PORTS)
