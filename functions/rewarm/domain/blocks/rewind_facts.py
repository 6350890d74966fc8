"""What is known of a volume that is to go back to a snapshot, and how many of its blocks differ by that.

The blocks between the good snapshot and the newest completed one are listed. What was written since then lies
between the bounds that VolumeWriteBytes and VolumeWriteOps give.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from rewarm.domain.blocks.changed import ChangedCount
from rewarm.domain.model import BLOCK_BYTES, InstanceEbsLimits
from rewarm.domain.time.timings import PRIORS, Timings
from rewarm.domain.volume.volume_types import VolumeSpeed


@dataclass(frozen=True, slots=True)
class RewindManner:
    """What keeps the volume as it was, and how the blocks that differ are found."""

    evidence: Literal["snapshot", "undo-log"]
    compare: Literal["snapshots", "device"]
    words: str

    @property
    def reads_device(self) -> bool:
        """Whether the agent reads all of the volume, and every written block of the snapshot is fetched."""
        return self.compare == "device"

    @property
    def waits(self) -> bool:
        """Whether a snapshot is completed before the last blocks are written."""
        return self.evidence == "snapshot"


LISTED = RewindManner("snapshot", "snapshots", "a snapshot first, and EBS's lists of changed blocks")
LOGGED = RewindManner("undo-log", "device", "an undo log, and a comparison of the whole device")
COMPARED = RewindManner("snapshot", "device", "a snapshot first, and a comparison of the whole device")
WAYS = (LISTED, LOGGED, COMPARED)
"""In this order where price and time are the same."""


@dataclass(frozen=True, slots=True)
class WrittenSince:
    """VolumeWriteOps and VolumeWriteBytes since the newest completed snapshot was started."""

    ops: float
    size_bytes: float


@dataclass(frozen=True, slots=True)
class RewindFacts:
    """A living volume, and what has changed on it since the good snapshot."""

    volume_bytes: int
    speed: VolumeSpeed
    instance_limits: InstanceEbsLimits
    changed: ChangedCount
    since: WrittenSince | None
    """None where CloudWatch does not say: then all of the volume may have changed."""
    written_blocks: int = 0
    """Of the good snapshot: what is fetched where the device is compared."""
    least: int = 0
    """Blocks that differ at least, by what is known of an earlier rewind of the volume."""
    logged: int = 0
    """Blocks that an undo log has in place of the snapshot."""
    alone: bool = False
    """Nothing is read but what differs: the list of it, or an undo log, is at hand."""
    is_equal: bool = False
    """A snapshot has what is on the volume: it is the way back, and none is made."""
    max_mib_s: float = math.inf
    """What the request allows the agent."""
    timings: Timings = PRIORS

    @property
    def volume_blocks(self) -> int:
        """All blocks of the volume."""
        return math.ceil(self.volume_bytes / BLOCK_BYTES)


@dataclass(frozen=True, slots=True)
class RewindLoad:
    """What is expected, or at most, to be written. The first part differs already in the newest snapshot."""

    first_blocks: int
    blocks: int
    zeros: int

    @property
    def fetched(self) -> int:
        """Blocks that have to be read from the snapshot."""
        return self.blocks - self.zeros


def loads(facts: RewindFacts) -> tuple[RewindLoad, RewindLoad]:
    """What is expected to be written, and what at most.

    What was written since fills so many blocks at least. At most, each operation met another one; few cross
    from one block to the next. Expected is the middle of the two magnitudes: a choice. Where CloudWatch does
    not say, it is what is known to differ, else the middle between one block and all.

    Blocks that changed before and since are counted twice: rather too many.
    """
    volume, found, since = facts.volume_blocks, facts.changed, facts.since
    unlisted = math.ceil(volume * (1 - found.listed_share))
    likely = round(min(volume, found.blocks / found.listed_share)) if found.listed_share else volume
    if since is None:
        between, touched = facts.least or round(math.sqrt(volume)), volume
    else:
        full = math.ceil(since.size_bytes / BLOCK_BYTES)
        touched = max(facts.least, full + math.ceil(since.ops))
        between = max(facts.least, round(math.sqrt(full * (full + math.ceil(since.ops)))))

    def load(first: int, later: int) -> RewindLoad:
        return RewindLoad(first, min(volume, first + later), found.zeros)

    return load(likely, between), load(min(volume, found.blocks + unlisted), touched)
