"""Serves the state Confirm Readiness."""

from __future__ import annotations

from rewarm.contracts import ConfirmReadinessEvent, ConfirmReadinessResult
from rewarm.handlers import wiring
from rewarm.observability import step_handler
from rewarm.steps.verify.confirm_readiness import ConfirmReadinessPorts, confirm_readiness

_PORTS = ConfirmReadinessPorts(metrics=wiring.metrics(), artifacts=wiring.artifacts())


@step_handler(ConfirmReadinessEvent)
def lambda_handler(event: ConfirmReadinessEvent) -> ConfirmReadinessResult:
    """What VolumeReadOps says of the volumes that were called ready."""
    return confirm_readiness(event, _PORTS)
