"""Serves the state Copy Shard."""

from __future__ import annotations

from rewarm.contracts.copying import CopyShardEvent, CopyShardResult
from rewarm.handlers import wiring
from rewarm.observability import step_handler
from rewarm.steps.blocks.copy_shard import CopyShardPorts, copy_shard

_PORTS = CopyShardPorts(
    lists=wiring.block_lists(),
    reader=wiring.block_reader(),
    packs=wiring.packs(),
    artifacts=wiring.artifacts(),
    region=wiring.settings.region,
)


@step_handler(CopyShardEvent)
def lambda_handler(event: CopyShardEvent) -> CopyShardResult:
    """Fetches the blocks of a shard and writes their pack."""
    return copy_shard(event, _PORTS)
