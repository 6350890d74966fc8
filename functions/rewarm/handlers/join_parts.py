"""Serves the state Join Parts."""

from __future__ import annotations

from rewarm.contracts.copying import JoinPartsEvent, JoinPartsResult
from rewarm.handlers import wiring
from rewarm.observability import step_handler
from rewarm.steps.blocks.join_parts import JoinPartsPorts, join_parts

_PORTS = JoinPartsPorts(
    packs=wiring.packs(),
)


@step_handler(JoinPartsEvent)
def lambda_handler(event: JoinPartsEvent) -> JoinPartsResult:
    """Says what the manifest has."""
    return join_parts(event, _PORTS)
