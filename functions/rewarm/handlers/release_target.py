"""Serves the state Release Target."""

from __future__ import annotations

from rewarm.contracts import ReleaseTargetEvent, ReleaseTargetResult
from rewarm.handlers import wiring
from rewarm.observability import step_handler
from rewarm.steps.select.release_target import release_target

_HOLDS = wiring.holds()


@step_handler(ReleaseTargetEvent)
def lambda_handler(event: ReleaseTargetEvent) -> ReleaseTargetResult:
    """The devices are free."""
    return release_target(event, holds=_HOLDS)
