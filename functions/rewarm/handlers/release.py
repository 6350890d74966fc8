"""Serves the state Release."""

from __future__ import annotations

from rewarm.contracts import ReleaseEvent, ReleaseResult
from rewarm.handlers import wiring
from rewarm.observability import step_handler
from rewarm.steps.volume.release import release

_FAST_RESTORES = wiring.fast_restores()
_VOLUMES = wiring.volumes()
_MODIFICATIONS = wiring.modifications()
_TABLE = wiring.table()


@step_handler(ReleaseEvent)
def lambda_handler(event: ReleaseEvent) -> ReleaseResult:
    """What was given back."""
    return release(
        event,
        fast_restores=_FAST_RESTORES,
        volumes=_VOLUMES,
        modifications=_MODIFICATIONS,
        table=_TABLE,
    )
