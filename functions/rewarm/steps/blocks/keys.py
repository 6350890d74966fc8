"""The keys of lists, packs and manifests, and the addresses that the agent downloads them from.

All of them lie below `deltas/`, and S3 deletes them a day later. A pack belongs to its snapshot: all volumes
that become equal to it share it. A manifest belongs to a volume of a restore. Each part names the next one by
its key alone, before it is there.
"""

from __future__ import annotations

from datetime import timedelta

from rewarm.contracts.copying import Delta
from rewarm.ports.artifacts import Artifacts

ADDRESS_SECONDS = 43_200
"""At most: an address ends with the credentials of the function that signed it."""
PACK_FRESH = timedelta(hours=12)
"""A pack that is older is made again: S3 deletes it before a slow volume has it."""


def pack_key(snapshot_id: str, name: str) -> str:
    """The pack of this name, of a snapshot."""
    return f"deltas/packs/{snapshot_id}/{name}"


def part_key(restore_id: str, index: int, part: int) -> str:
    """A part of the manifest."""
    return f"{_volume(restore_id, index)}/part-{part:06d}"


def list_key(restore_id: str, delta: Delta) -> str:
    """The block list, a shard a line."""
    return f"{_volume(restore_id, delta.index)}/blocks-{delta.first_part:06d}.jsonl"


def results_prefix(restore_id: str, delta: Delta) -> str:
    """Where the Distributed Map says what became of its shards."""
    return f"{_volume(restore_id, delta.index)}/results-{delta.first_part:06d}"


def address(key: str, artifacts: Artifacts) -> str:
    """Where the agent downloads an object."""
    return artifacts.download_url(key, expires_seconds=ADDRESS_SECONDS)


def _volume(restore_id: str, index: int) -> str:
    return f"deltas/restores/{restore_id}/volumes/{index}"
