"""Serves the state List Blocks."""

from __future__ import annotations

from rewarm.contracts.copying import ListBlocksEvent, ListBlocksResult
from rewarm.handlers import wiring
from rewarm.observability import step_handler
from rewarm.steps.blocks.list_blocks import ListBlocksPorts, list_blocks

_PORTS = ListBlocksPorts(
    lists=wiring.block_lists(),
    packs=wiring.packs(),
    artifacts=wiring.artifacts(),
    table=wiring.table(),
    bucket=wiring.settings.artifacts_bucket,
    region=wiring.settings.region,
)


@step_handler(ListBlocksEvent)
def lambda_handler(event: ListBlocksEvent) -> ListBlocksResult:
    """Writes the list of blocks to copy, a shard a line."""
    return list_blocks(event, _PORTS)
